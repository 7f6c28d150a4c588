"""JSON texts, written in one spelling and read strictly; TOML files of users, read as strictly."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

from lagco.errors import LagcoError, UsageError
from lagco.store.files import read_plain

#: characters of a value that a message shows
_SHOWN = 40
#: digits of a whole number: enough for the states of random generators, which have 128 bits
_DIGITS = 40
#: containers inside each other
_DEPTH = 64
#: bytes of a TOML file, and of any other text
_MOST_TOML, _MOST_TEXT = 1 << 20, 256 << 20


def canonical_json(value: Any) -> str:
    """One spelling per value: sorted keys, no spaces, no NaN. Used under identities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def compact_json(value: Any) -> str:
    """The shortest text that keeps the order of keys. Used under checksums."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def readable_json(value: Any) -> bytes:
    """JSON for people: indented, keys in the given order, a newline at the end."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Refused are constants but true, false and null, numbers that no computer number can hold, a key
    that stands there twice, texts that are not Unicode, and containers nested too deep.

    Raises:
        ValueError: says what is wrong; of a syntax error, a :class:`json.JSONDecodeError`.
    """
    try:
        text = text if isinstance(text, str) else text.decode()
        value = json.loads(
            text,
            parse_constant=_refuse,
            parse_int=_whole,
            parse_float=finite_number,
            object_pairs_hook=_unique,
        )
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise ValueError(f"it is not Unicode ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    _refuse_depth(value)
    return value


def read_toml(path: str | Path) -> dict[str, Any]:
    """The values of a TOML file: texts, finite numbers, flags, lists and tables of them.

    Raises:
        UsageError: names the file and says what is wrong with it.
    """
    try:
        text = read_plain(Path(path), _MOST_TOML, follow=True).decode()
        content: dict[str, Any] = tomllib.loads(text, parse_float=finite_number)
        # what JSON can hold is neither nested too deep nor too large
        return dict(parse_json(compact_json(content)))
    except (OSError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path}: not TOML of plain values ({error})") from error


def read_text(path: str | Path) -> str:
    """The text of a plain file of limited size, or of one that a link leads to.

    Raises:
        LagcoError: names the file and says why it cannot be read.
    """
    try:
        return read_plain(Path(path), _MOST_TEXT, follow=True).decode()
    except (OSError, ValueError) as error:
        raise LagcoError(f"{path}: cannot be read ({error})") from error


def shown(value: object) -> str:
    """A value as messages show it: quoted, shortened, all of it printable."""
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    quoted = repr(text) if isinstance(value, str) else text
    return quoted.encode("utf-8", "backslashreplace").decode()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"{shown(digits)} has {len(digits)} digits")
    return int(digits)


def finite_number(digits: str) -> float:
    """The number that a text spells.

    Raises:
        ValueError: it is not finite.
    """
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{shown(digits)} is too large for a number")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {shown(name)} stands there twice")
            seen.add(name)
    return found


def _refuse_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ValueError("it is nested too deep")
