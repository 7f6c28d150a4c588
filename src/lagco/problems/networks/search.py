"""Stochastic search over configurations of a network, for the lowest and the highest utilisation.

A configuration is a value per decision variable: a weight per link (`ospf`), a path per demand
(`traffic`). The problem evaluates what the search proposes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.random_stream import next_below, next_float

#: configurations kept in each of the two pools
ELITE = 8
#: chance that a sweep starts from a random configuration rather than a disturbed elite one
FRESH = 0.25
#: how strongly a neighbour is preferred, per relative change of the utilisation
BIAS = 20.0
_OFFSET = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


class Search(NamedTuple):
    """State of a search; the first index of pools, records and aims is 0 for low, 1 for high.

    Attributes:
        low: (V,) smallest value of each variable.
        choices: (V,) how many values it has.
        seen: table of the configurations met.
        pools: (2, 8, V) elite configurations.
        pool_merits: (2, 8) minus their utilisation, or that itself.
        pool_sizes: (2,)
        present: (V,) configuration that neighbours are proposed of.
        level: (1,) its merit.
        options: (K, V) configurations proposed in this turn.
        merits: (K,) of these.
        records: (2, V) the best ones of all.
        record_merits: (2,)
    """

    low: Array
    choices: Array
    seen: Array
    pools: Array
    pool_merits: Array
    pool_sizes: Array
    present: Array
    level: Array
    options: Array
    merits: Array
    records: Array
    record_merits: Array


def new_search(low: Array, choices: Array, sweeps: int, rounds: int, neighbours: int) -> Search:
    """A search of `sweeps` sweeps, each of `rounds` moves to one of `neighbours` neighbours."""
    variables = len(low)
    return Search(
        low=low,
        choices=choices,
        seen=_seen_table(sweeps * 2 * (1 + rounds * neighbours) + 1),
        pools=np.empty((2, ELITE, variables), dtype=np.int64),
        pool_merits=np.empty((2, ELITE)),
        pool_sizes=np.zeros(2, dtype=np.int64),
        present=low.copy(),
        level=np.zeros(1),
        options=np.empty((neighbours, variables), dtype=np.int64),
        merits=np.empty(neighbours),
        records=np.empty((2, variables), dtype=np.int64),
        record_merits=np.full(2, -np.inf),
    )


@njit(cache=True)
def begin_sweep(search, aim, stream):  # type: ignore[no-untyped-def]
    """Start from random values or from a disturbed elite configuration."""
    values, variables = search.present, search.low.shape[0]
    chosen = _pick_elite(stream, search.pool_sizes[aim])
    if chosen < 0:
        for i in range(variables):
            values[i] = search.low[i] + next_below(stream, search.choices[i])
    else:
        copy_values(values, search.pools[aim, chosen])
        count = 1 + next_below(stream, 1 + variables // 8)
        _disturb(values, count, search.low, search.choices, stream)
    search.level[0] = 0.0


@njit(cache=True, inline="always")
def propose(search, found, turn, stream):  # type: ignore[no-untyped-def]
    """Write option number `found`: the present configuration (in turn 0) or a neighbour of it.

    Returns whether it was not met before.
    """
    option = search.options[found]
    copy_values(option, search.present)
    if turn > 0:
        _disturb(option, 1 + next_below(stream, 3), search.low, search.choices, stream)
    return _is_new(search.seen, option)


@njit(cache=True, inline="always")
def note(search, aim, found, utilisation):  # type: ignore[no-untyped-def]
    """Note the utilisation that option number `found` leads to."""
    option = search.options[found]
    search.merits[found] = -utilisation if aim == 0 else utilisation
    for other in range(2):
        merit = -utilisation if other == 0 else utilisation
        search.pool_sizes[other] = _admit(
            search.pools[other], search.pool_merits[other], search.pool_sizes[other], option, merit
        )
        if merit > search.record_merits[other]:
            search.record_merits[other] = merit
            copy_values(search.records[other], option)


@njit(cache=True, inline="always")
def move(search, turn, found, stream):  # type: ignore[no-untyped-def]
    """Go to one of the options proposed in this turn, if there is any."""
    if found > 0:
        chosen = 0
        if turn > 0:
            chosen = _choose_neighbour(stream, search.merits, found, search.level[0])
        copy_values(search.present, search.options[chosen])
        search.level[0] = search.merits[chosen]


@njit(cache=True)
def _disturb(values, count, low, choices, stream):  # type: ignore[no-untyped-def]
    """Give `count` random variables another random value."""
    for _ in range(count):
        i = next_below(stream, values.shape[0])
        if choices[i] > 1:
            value = low[i] + next_below(stream, choices[i] - 1)
            values[i] = value + 1 if value >= values[i] else value


@njit(cache=True)
def _is_new(seen, values):  # type: ignore[no-untyped-def]
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
def _seen_table(evaluations):  # type: ignore[no-untyped-def]
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
def _admit(pool, merits, count, values, merit):  # type: ignore[no-untyped-def]
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
def _choose_neighbour(stream, merits, count, present):  # type: ignore[no-untyped-def]
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
def _pick_elite(stream, count):  # type: ignore[no-untyped-def]
    """Index of the elite configuration to start from, -1 for a random start."""
    if count == 0 or next_float(stream) < FRESH:
        return -1
    return next_below(stream, count)
