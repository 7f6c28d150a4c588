"""What the sweeps of `ospf` and `traffic` have in common: what was seen, and the elite pools."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.random_stream import next_below, next_float

#: configurations kept in each of the two pools
ELITE = 8
#: chance that a sweep starts from a random configuration rather than a disturbed elite one
FRESH = 0.25
#: how strongly a neighbour is preferred, per relative change of the utilisation
BIAS = 20.0
_OFFSET = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


@njit(cache=True)
def is_new(seen, values):  # type: ignore[no-untyped-def]
    """Whether `values` were not met before; notes them in `seen`, a table of 2^k hashes."""
    code = _OFFSET
    for value in values:
        code = (code ^ np.uint64(value)) * _PRIME
        code ^= code >> np.uint64(29)
    code |= np.uint64(1)  # 0 marks a free place
    mask = np.uint64(seen.shape[0] - 1)
    place = (code >> np.uint64(7)) & mask
    while seen[place] != np.uint64(0):
        if seen[place] == code:
            return False
        place = (place + np.uint64(1)) & mask
    seen[place] = code
    return True


@njit(cache=True)
def seen_table(evaluations):  # type: ignore[no-untyped-def]
    """An empty table with room for that many configurations."""
    size = 64
    while size < 2 * evaluations + 2:
        size *= 2
    return np.zeros(size, dtype=np.uint64)


@njit(cache=True)
def copy_values(target, source):  # type: ignore[no-untyped-def]
    """Make `target` equal to `source` (a loop compiles in a fraction of the time of a slice)."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@njit(cache=True)
def admit(pool, merits, count, values, merit):  # type: ignore[no-untyped-def]
    """Put a configuration into a pool of the highest merits; return how many it holds."""
    if count < ELITE:
        place = count
        count += 1
    else:
        place = 0
        for k in range(1, ELITE):
            if merits[k] < merits[place]:
                place = k
        if merit <= merits[place]:
            return count
    copy_values(pool[place], values)
    merits[place] = merit
    return count


@njit(cache=True)
def choose_neighbour(stream, merits, count, present):  # type: ignore[no-untyped-def]
    """One of the first `count`, more likely the higher its merit over the `present` one."""
    highest = merits[0]
    for k in range(1, count):
        highest = max(highest, merits[k])
    unit = BIAS / max(abs(present), 1e-300)
    total = 0.0
    for k in range(count):
        total += np.exp((merits[k] - highest) * unit)
    left = next_float(stream) * total
    for k in range(count):
        left -= np.exp((merits[k] - highest) * unit)
        if left < 0.0:
            return k
    return count - 1


@njit(cache=True)
def pick_elite(stream, count):  # type: ignore[no-untyped-def]
    """Index of the elite configuration to start from, -1 for a random start."""
    if count == 0 or next_float(stream) < FRESH:
        return -1
    return next_below(stream, count)
