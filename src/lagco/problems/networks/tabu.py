"""The search that teaches `ospf` and `traffic`: tabu search on the 8-norm, compiled.

The norm falls with the second and third fullest link too, where the largest utilisation says
nothing. Where no change lowers it, only those count that take load off the fullest arc; what was
changed recently is left alone unless it leads to a lower norm than any before.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: what a change loses that neither lowers the norm nor relieves the fullest arc
IDLE = 10.0
#: what a change loses whose element was changed recently
PAUSE = 1e3
#: recent changes over elements, and further ones
TENURE_SHARE, TENURE_BASE = 0.2, 2


def tenure_of(elements: int) -> int:
    """Steps for which a changed element is left alone."""
    return TENURE_BASE + int(TENURE_SHARE * elements)


@njit(cache=True)
def relative_gain(after, now):  # type: ignore[no-untyped-def]
    """How much lower a value becomes, relative to what it is, on a scale that is fine around 0."""
    return math.asinh(10.0 * (1.0 - after / now)) if now > 0.0 else 0.0


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
