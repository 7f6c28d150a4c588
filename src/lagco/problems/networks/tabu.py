"""The search that teaches `ospf` and `traffic`: tabu search on the 8-norm, compiled.

The norm falls with the second and third fullest link too, where the largest utilisation says
nothing. Where no change lowers it, only those count that take load off the fullest arc; what was
changed recently is left alone unless it leads to a lower norm than any before.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array

#: what a change loses that neither lowers the norm nor relieves the fullest arc
IDLE = 10.0
#: what a change loses whose element was changed recently
PAUSE = 1e3
#: recent changes over elements, and further ones
TENURE_SHARE, TENURE_BASE = 0.2, 2
#: a relative change of this size is worth something; a smaller one than the last is rounding
MARGIN, SAME = 1e-6, 1e-9
#: relative gains are stretched so much that a ranker can tell 1 % from none
FINE = 10.0


class Past(NamedTuple):
    """Times of the last changes.

    Attributes:
        ages: (k,) steps since elements were changed, at least NEVER where they never were
        tenure: steps for which a changed element is left alone
        steps: changes so far
    """

    ages: Array
    tenure: int
    steps: int


def tenure_of(elements: int) -> int:
    """Steps for which a changed element is left alone."""
    return TENURE_BASE + int(TENURE_SHARE * elements)


@njit(cache=True)
def relative_gain(after, now):  # type: ignore[no-untyped-def]
    """How much lower a value becomes, relative to what it is, on a scale that is fine around 0."""
    return math.asinh(FINE * (1.0 - after / now)) if now > 0.0 else 0.0


@njit(cache=True)
def since_change(age, tenure):  # type: ignore[no-untyped-def]
    """Steps since the last change, this one included, on a short and on a long scale of tenures."""
    return min(1.0, (age + 1) / (0.5 * tenure + 2.0)), min(1.0, (age + 1) / (5.0 * tenure))


@njit(cache=True)
def tabu_value(gain, moves, helps, allowed, age):  # type: ignore[no-untyped-def]
    """Merit of a change.

    gain: by how much the logarithm of the norm falls after `moves` such changes. helps: it lowers
    the norm or relieves the fullest arc. allowed, age: whether its element may be changed, and
    steps since it was.
    """
    value = gain / np.sqrt(moves) if gain > 0.0 else gain - 1e-3 * moves
    if not helps:
        value -= IDLE
    if not allowed:
        value += 1e-3 * min(age, 100000) - PAUSE
    return value
