"""Limits of cuts: nodes whose side is decided, and a budget of nodes that may change theirs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.instances import Instance
from lagco.problems.decided import FORCED, decided

#: array (n,): the sides in force
SIDES = "sides"


class CutLimits(NamedTuple):
    """Limits of the cuts of an instance, as compiled code takes them.

    Attributes:
        locked: bool (n,), nodes that may not move.
        before: int8 (n,), sides from which changes are counted.
        most: nodes that may be on another side than there; n where any number may.
    """

    locked: Array
    before: Array
    most: int


def no_limits(n: int) -> CutLimits:
    """Any sides of n nodes."""
    return CutLimits(np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int8), n)


def cut_limits(instance: Instance) -> CutLimits | None:
    """The limits of an instance; None where it has none."""
    most, n = instance.params.get(MAX_CHANGES), instance.size
    if most is None and FIXED not in instance.arrays and FORCED not in instance.arrays:
        return None
    before = instance.arrays.get(SIDES)
    known = decided(instance, before)
    start = np.zeros(n, dtype=np.int8) if before is None else before.astype(np.int8)
    limited = before is not None and most is not None
    return CutLimits(known >= 0, start, int(most) if limited and most is not None else n)


def start_within(instance: Instance, limits: CutLimits, sides: Array | None, drawn: Array) -> Array:
    """Sides (n,) to begin from: the given ones if they keep to the limits, else the incumbent.

    Without one the drawn sides. Nodes that are decided are on their side as far as the budget goes.
    """
    before = instance.arrays.get(SIDES)
    known = decided(instance, before)
    if sides is not None:
        apart = np.count_nonzero(sides != limits.before)
        if apart <= limits.most and (sides == known)[known >= 0].all():
            return np.array(sides, dtype=np.int8)
    found = np.array(drawn if before is None else before, dtype=np.int8)
    wrong = np.flatnonzero((known >= 0) & (known != found))
    found[wrong[: limits.most]] = known[wrong[: limits.most]]
    return found
