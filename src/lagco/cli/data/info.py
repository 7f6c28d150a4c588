"""The command `info`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.output import AsJson, print_result

#: entries of a description that only JSON shows, by kind
_LONG = {
    "agent": ("config", "facts", "space", "measured", "sees"),
    "data set": ("extents",),
    "encoder": ("held-out loss",),
    "instance": ("arrays", "params"),
}
#: entries of a recipe that the description of its data set has already, or that are long
_KNOWN = ("problem", "n", "resets")
#: lists with more entries are counted
_LISTED = 8


def info(
    path: Annotated[
        Path,
        typer.Argument(
            help="Instance file, record of a study, or the folder of a data set, an agent, an "
            "encoder, a training run or a study; or a problem, for the agent that comes with "
            "lagco."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Describe and verify a file or folder written by lagco, or an instance file."""
    print_description(path, as_json)


def print_description(path: Path, as_json: bool) -> None:
    """Print the description that `lagco.info` gives of a path, in short for people."""
    import lagco

    described = lagco.info(path)
    print_result(described if as_json else _brief(described), as_json)


def _brief(described: Mapping[str, Any]) -> dict[str, Any]:
    """A description that fits on a screen: short checksums, counted lists, no details."""
    found: dict[str, Any] = {}
    if described["kind"] == "agent":
        config = described["config"]
        names = ("features", "strategy", "decoder", "preset")
        found = {name: config[name] for name in names if name in config}
        found |= {"seconds": described["measured"].get("seconds")}
        found = {name: value for name, value in found.items() if value is not None}
        found |= {
            f"sees {name}": _joined(name, part) for name, part in described.get("sees", {}).items()
        }
    if described["kind"] == "data set":
        recipe = described["generation"]
        found["generation"] = {name: recipe[name] for name in recipe if name not in _KNOWN}
        found["solver"] = {k: v for k, v in described["solver"].items() if k != "none"}
        found["sizes"] = _spelled_sizes(**described["sizes"])
    left_out = _LONG.get(described["kind"], ())
    kept = {name: value for name, value in described.items() if name not in left_out}
    return {name: _short(value) for name, value in (kept | found).items() if value not in ({}, [])}


def _spelled_sizes(smallest: int, median: int, largest: int) -> str:
    one = smallest == largest
    return str(smallest) if one else f"{smallest} to {largest}, median {median}"


def _joined(name: str, part: Any) -> Any:
    """Names on one line, of every view or part of the observation on a line of its own."""
    if isinstance(part, Mapping) and "candidates" not in name:
        return {key: _joined(key, names) for key, names in part.items()}
    return part if isinstance(part, str) else ", ".join(part)


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _short(item) for name, item in value.items() if item not in ({}, [], None)}
    if isinstance(value, str) and len(value) == 64:
        return f"{value[:12]}…"
    if not isinstance(value, list):
        return value
    if any(isinstance(item, str) and len(item) == 64 for item in value):
        return len(value)
    if len(value) <= _LISTED:
        return value
    if all(isinstance(item, int | float) for item in value):
        return f"{min(value)} to {max(value)}" if min(value) < max(value) else value[0]
    return len(value)
