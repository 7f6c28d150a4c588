"""What a check found."""

from __future__ import annotations

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
