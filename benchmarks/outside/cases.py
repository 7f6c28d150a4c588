"""What is compared: a comparison per problem, with its instances and the solvers by others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.instances import Instance

#: of all instances that are drawn; nothing was tuned on them
SEED = 20278
#: of those that code is compiled with, before anything is timed
WARM = SEED - 1


@dataclass(frozen=True)
class Case:
    """An instance of a group, which is a row of the table.

    Attributes:
        group: what stands in the table.
        name: of the instance, in its group.
        instance: what is solved.
        given: arrays that solvers by others are given.
        skipped: solvers for which it is too large.
    """

    group: str
    name: str
    instance: Instance
    given: Mapping[str, Array]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A problem and who solves it.

    Attributes:
        problem: name of the problem.
        script: of the solvers by others, in the folder `solvers`.
        limited: solvers by others that keep a limit of time.
        whole: those that stop by themselves: proofs, bounds, and references of high quality.
        cases: of a folder with instance files, or of none.
        warm: an instance of the same kind and size as the largest, to compile with.
        solution: what is made of the answer of a solver.
    """

    problem: str
    script: str
    limited: tuple[str, ...]
    whole: tuple[str, ...]
    cases: Callable[[Path | None], Iterator[Case]]
    warm: Callable[[], Instance]
    solution: Callable[[Instance, Any], Array] = lambda _, answer: np.asarray(answer)
