"""Findings of the checker, and exceptions as findings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a problem.

    Attributes:
        check: which check found it.
        declaration: the declaration or method that is wrong.
        value: what was seen.
        remedy: what to do.
        step: at which step of an episode, None where that does not apply.
    """

    check: str
    declaration: str
    value: str
    remedy: str
    step: int | None = None

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step}"
        remedy = f"; {self.remedy}" if self.remedy else ""
        value = f": {self.value}" if self.value else ""
        return f"[{self.check}] {self.declaration}{value}{at}{remedy}"


def shown(value: Any) -> str:
    """A value as people write it: 2, not np.int64(2)."""
    return repr(value.tolist() if isinstance(value, np.generic | np.ndarray) else value)


class Stop(Exception):
    """Nothing more can be checked."""


def crash(what: str, error: Exception, step: int) -> Finding:
    """An exception as a finding."""
    return Finding("exception", what, f"raised {type(error).__name__}: {error}", "fix it", step)


@contextlib.contextmanager
def reporting(what: str, step: int) -> Iterator[Iterator[Finding]]:
    """Turn an exception into a finding that the caller yields; the check ends there."""
    caught: list[Exception] = []

    def report() -> Iterator[Finding]:
        for error in caught:
            yield crash(what, error, step)
            raise Stop

    try:
        yield report()
    except Stop:
        raise
    except Exception as error:
        caught.append(error)
