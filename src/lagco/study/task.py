"""Tasks, each determined by plain values, and plans of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lagco.agents.config import train_config
from lagco.errors import LagcoError
from lagco.store import canonical_json, sha256

#: parts of a specification that change when code or data change, though the same thing is wanted
_CIRCUMSTANCES = (
    "code",
    "data",
    "data_checksum",
    "encoder",
    "pace",
    "test",
    "train",
    "trials",
    "validation",
)


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Attributes:
        kind: what is done; see :mod:`lagco.study.tasks`.
        name: for people, and for file names.
        spec: everything that determines the outcome, as JSON values.
        needs: keys of the tasks whose outcome this one uses.
    """

    kind: str
    name: str
    spec: Mapping[str, Any]
    needs: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """SHA-256 of kind and specification."""
        return sha256(canonical_json([self.kind, dict(self.spec)]).encode())

    @property
    def complete(self) -> bool:
        """Whether the specification is final: the data that it names is made."""
        return self.spec.get("data_checksum", "") is not None

    @property
    def file_name(self) -> str:
        """Name and the first digits of the key, fit for a file system."""
        return file_name(self.name, self.key)

    @property
    def claim(self) -> str:
        """Name of the claim on it."""
        return f"{self.kind}-{self.file_name}"


@dataclass(frozen=True)
class Plan:
    """Tasks of a study.

    Attributes:
        tasks: all that can be specified from what the ledger holds, in the order of their worth.
        later: number of tasks, by kind, that can be specified only after others; at most so many.
    """

    tasks: Sequence[Task]
    later: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tasks) + sum(self.later.values())


def file_name(name: str, key: str) -> str:
    """Name of the files and folders of a task."""
    return f"{re.sub(r'[^A-Za-z0-9.+-]', '_', name)[:80]}-{key[:16]}"


def slot(kind: str, spec: Mapping[str, Any]) -> str:
    """Identity of what a specification asks for, independent of code and data."""
    wanted = {name: value for name, value in spec.items() if name not in _CIRCUMSTANCES}
    if isinstance(wanted.get("config"), dict):
        wanted["config"] = deviations(wanted["config"])
    return canonical_json([kind, wanted])


def deviations(config: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a training configuration that are unusual for its method, preset and features.

    With these alone, a field that a later version adds does not make an earlier run another one.
    """
    given = {name: config.get(name) for name in ("method", "preset", "features")}
    try:
        usual = train_config(**given).as_dict()
    except LagcoError:
        return dict(config)
    return given | {n: v for n, v in config.items() if n not in usual or usual[n] != v}
