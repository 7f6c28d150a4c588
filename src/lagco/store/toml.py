"""TOML files of users: plain values, read as strictly as JSON."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from lagco.errors import UsageError
from lagco.store.files import read_plain
from lagco.store.text import compact_json, finite_number, parse_json

_MOST_BYTES = 1 << 20


def read_toml(path: str | Path) -> dict[str, Any]:
    """The values of a TOML file: texts, finite numbers, flags, lists and tables of them.

    Raises:
        UsageError: names the file and says what is wrong with it.
    """
    try:
        text = read_plain(Path(path).resolve(), _MOST_BYTES).decode()
        content: dict[str, Any] = tomllib.loads(text, parse_float=finite_number)
        # what JSON can hold is neither nested too deep nor too large
        return dict(parse_json(compact_json(content)))
    except (OSError, RuntimeError) as error:  # resolving links, and recursion, are RuntimeErrors
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path}: not TOML of plain values ({error})") from error
