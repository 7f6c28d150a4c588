"""Search for paths within limits, over one scenario or several: annealing and few changes.

The plain problem has the search of `lagco.problems.traffic.solver`, on which references rest.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes.few import FEW, FewChanges, Singles
from lagco.problems.networks.kernels import fullest_arc, largest_utilisation
from lagco.problems.networks.search import copy_values
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.problems.traffic.searching.choices import Prepared, options_of
from lagco.problems.traffic.searching.state import (
    joint,
    joint_energy,
    load_all,
    look,
    power_of,
    put,
)
from lagco.runtime.stopping import stop_flag

#: temperature at which a run begins and ends
HOTTEST, COLDEST = 0.05, 0.0005
#: chance of a demand over the fullest arc, and of taking a change back
FULL, BACK = 0.5, 0.1
#: demands that are looked at for one over that arc
_TRIED = 60
_LEVEL = 1e-12


def search(prepared: Prepared, paths: Array | None, seed: int, moves: int) -> Array:
    """The best paths met, from `paths` where they keep to the limits, else from the present."""
    scenarios, choice = prepared
    chosen = options_of(choice, paths)
    most = choice.most - int((choice.start != choice.before).sum())
    if seed // 2 % 2 and 0 < most <= FEW and choice.most >= 0:  # by turns with annealing
        stop = stop_flag()
        few = FewChanges(
            PathChanges(prepared), choice.rows[choice.start, 1:], most, seed, lambda: bool(stop[0])
        )
        return few.run(moves, None if paths is None else choice.rows[chosen, 1:])
    if choice.most != 0:
        _anneal(scenarios, choice, chosen, moves, random_stream(seed), stop_flag())
    found: Array = choice.rows[chosen, 1:]
    return found


class PathChanges:
    """Single changes of paths; see :class:`~lagco.core.changes.few.Neighbourhood`.

    Args:
        prepared: the instance as searches take it.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._scenarios, self._choice = prepared
        self._loads = np.empty(self._scenarios.failed.shape)

    def singles(self, solution: Array) -> Singles:
        """Energy and joint utilisation after every single change."""
        choice = self._choice
        chosen = options_of(choice._replace(most=-1), solution)
        used = choice.arcs[chosen]
        load_all(self._scenarios, used, self._loads)
        others = np.ones(len(choice.rows), dtype=bool)
        others[chosen] = False
        rows = choice.rows[others]
        merits, demands = np.empty((2, len(rows))), np.ascontiguousarray(rows[:, 0])
        look(self._scenarios, used, self._loads, demands, choice.arcs[others], merits)
        return Singles(demands, rows[:, 1:], merits[0], merits[1])


@njit(cache=True)
def _demand_over(arc, begin, chosen, arcs):  # type: ignore[no-untyped-def]
    """The first demand from `begin` on whose path uses an arc; `begin` if none is near."""
    for i in range(_TRIED):
        d = (begin + i) % chosen.shape[0]
        for k in range(arcs.shape[1]):
            used = arcs[chosen[d], k]
            if used < 0:
                break
            if used == arc:
                return d
    return begin


@njit(cache=True)
def _changed_demand(chosen, before, count, stream):  # type: ignore[no-untyped-def]
    """One of the `count` changed demands."""
    left = next_below(stream, count)
    for d in range(chosen.shape[0]):
        if chosen[d] != before[d]:
            if left == 0:
                return d
            left -= 1
    return -1


@njit(cache=True)
def _move(scenarios, arcs, chosen, d, new, loads):  # type: ignore[no-untyped-def]
    """Let a demand take another option."""
    for s in range(loads.shape[0]):
        put(scenarios, s, d, arcs[chosen[d]], -1.0, loads[s])
        put(scenarios, s, d, arcs[new], 1.0, loads[s])
    chosen[d] = new


@njit(cache=True)
def _measured(scenarios, loads, powers, values):  # type: ignore[no-untyped-def]
    """Energy and joint utilisation."""
    for s in range(loads.shape[0]):
        powers[s] = power_of(loads[s], scenarios.capacities)
        values[s] = largest_utilisation(loads[s], scenarios.capacities)
    return joint_energy(scenarios, powers), joint(scenarios, values)


@njit(cache=True, nogil=True)
def _anneal(scenarios, choice, best, moves, stream, stop):  # type: ignore[no-untyped-def]
    """Leave in `best` the options with the lowest joint utilisation met, from there on.

    Where the number of changes is at its limit, a change goes with one that is taken back.
    """
    first, arcs, before, most = choice.first, choice.arcs, choice.before, choice.most
    chosen, inverse = best.copy(), 1.0 / scenarios.capacities
    loads = np.empty(scenarios.failed.shape)
    powers, values = np.empty(loads.shape[0]), np.empty(loads.shape[0])
    load_all(scenarios, arcs[chosen], loads)
    energy, least = _measured(scenarios, loads, powers, values)
    fewest = changes = (chosen != before).sum()
    worst = np.argmax(powers)
    for move in range(moves):
        if stop[0]:
            break
        if move % 4096 == 0:  # rounding errors do not build up
            load_all(scenarios, arcs[chosen], loads)
            energy, _ = _measured(scenarios, loads, powers, values)
            worst = np.argmax(powers)
        d = next_below(stream, chosen.shape[0])
        if next_float(stream) < FULL:
            s = next_below(stream, loads.shape[0]) if scenarios.mean else worst
            d = _demand_over(fullest_arc(loads[s], inverse), d, chosen, arcs)
        if first[d + 1] - first[d] == 1:
            continue
        old, new = chosen[d], first[d] + next_below(stream, first[d + 1] - first[d])
        if old != before[d] and choice.start[d] == before[d] and next_float(stream) < BACK:
            new = before[d]
        # what has to leave a forbidden link does not come back
        if new == old or (new == before[d] and choice.start[d] != before[d]):
            continue
        other, other_old = -1, -1
        if old == before[d] and changes == most:
            other = _changed_demand(chosen, before, changes, stream)
            if other < 0 or choice.start[other] != before[other]:
                continue
            other_old = chosen[other]
            _move(scenarios, arcs, chosen, other, before[other], loads)
        _move(scenarios, arcs, chosen, d, new, loads)
        reached, value = _measured(scenarios, loads, powers, values)
        heat = HOTTEST * (COLDEST / HOTTEST) ** (move / moves)
        if reached > energy * (1.0 - heat * np.log(max(next_float(stream), 1e-300))):
            _move(scenarios, arcs, chosen, d, old, loads)
            if other >= 0:
                _move(scenarios, arcs, chosen, other, other_old, loads)
            continue
        energy, worst = reached, np.argmax(powers)
        changes += (new != before[d]) - (old != before[d]) - (other >= 0)
        lower = value < least * (1.0 - _LEVEL)
        if lower or (changes < fewest and value <= least * (1.0 + _LEVEL)):
            least, fewest = min(value, least), changes
            copy_values(best, chosen)
