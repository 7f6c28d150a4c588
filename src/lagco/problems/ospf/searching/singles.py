"""Evaluation of every single change of a weight, over all weights that matter, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes.few import FewChanges, Singles
from lagco.problems.ospf.searching.annealing import Prepared, joint_energy, keeps
from lagco.problems.ospf.searching.state import CUT, change, follow, heap_of, joint, route_all
from lagco.runtime.stopping import stop_flag

#: scenarios, the fullest ones, whose routes determine which weights matter
_ASKED = 3


class WeightChanges:
    """Single changes of weights; see :class:`~lagco.core.changes.few.Neighbourhood`.

    Args:
        prepared: the instance, prepared for searches.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._weights: Array | None = None
        scenarios, choice = prepared.scenarios, prepared.choice
        usual = int((choice.highest - choice.lowest).max()) + 1
        telling = 6 * min(_ASKED, len(scenarios.volumes)) * scenarios.network.num_nodes
        self._most = (telling if choice.wide else usual) + 1

    def singles(self, solution: Array) -> Singles:
        """Energy and joint utilisation after every single change."""
        scenarios, routing, choice = self._prepared
        if self._weights is None:
            self._weights = solution.copy()
            route_all(scenarios, routing, self._weights, heap_of(scenarios.network))
        follow(scenarios, routing, self._weights, solution)
        most = self._most * len(choice.free)
        links, values = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
        merits = np.empty((2, most))
        scratch = np.empty(self._most, dtype=np.int64)
        count = _look(
            scenarios, routing, choice, self._weights, scratch, (links, values, merits), stop_flag()
        )
        return Singles(links[:count], values[:count], merits[0, :count], merits[1, :count])


def few_changes(prepared: Prepared, weights: Array | None, seed: int, evaluations: int) -> Array:
    """The best weights of beams and exchanges within a budget of few changes."""
    choice = prepared.choice
    most = choice.most - int((choice.start != choice.before).sum())
    if not len(choice.free) or most < 1:
        return choice.start.copy()
    start = weights if weights is not None and keeps(choice, weights) else None
    changes, stop = WeightChanges(prepared), stop_flag()
    search = FewChanges(changes, choice.start, most, seed, lambda: bool(stop[0]))
    return search.run(evaluations, start)


@njit(cache=True)
def _add_telling(scenarios, routing, s, link, found, count):  # type: ignore[no-untyped-def]
    """Weights with which a link becomes, is or ceases to be on a shortest way in a scenario."""
    network, steps = scenarios.network, routing.steps[s]
    for t in scenarios.targets:
        far = routing.distance[s, t]
        for side in range(1 if network.directed else 2):
            u, v = network.edges[side, link], network.edges[1 - side, link]
            other = CUT
            for k in range(network.first[u], network.first[u + 1]):
                if network.arcs[k] >> 1 != link:
                    other = min(other, far[network.heads[k]] + steps[k])
            if far[v] < other < CUT:
                for near in range(-1, 2):
                    found[count] = other - far[v] + near
                    count += 1
    return count


@njit(cache=True)
def _candidates(scenarios, routing, choice, weights, link, ranks, found):  # type: ignore[no-untyped-def]
    """Weights worth a look for a link, to `found`, sorted; return how many."""
    low, high = choice.lowest[link], choice.highest[link]
    count = 1
    found[0] = choice.before[link]
    if choice.wide:
        for i in range(min(_ASKED, ranks.shape[0])):
            count = _add_telling(scenarios, routing, ranks[i], link, found, count)
    else:
        for weight in range(low, high + 1):
            found[count] = weight
            count += 1
    for i in range(1, count):
        found[i] = min(max(found[i], low), high)
    part = np.sort(found[:count])
    kept = 0
    for i in range(count):
        fresh = i == 0 or part[i] != part[i - 1]
        if fresh and part[i] != weights[link]:
            found[kept] = part[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _look(scenarios, routing, choice, weights, scratch, out, stop):  # type: ignore[no-untyped-def]
    """Write links, weights and (energy, joint utilisation) of single changes; return how many."""
    links, news, merits = out
    scenario_count = routing.powers.shape[0]
    powers, largest = np.empty(scenario_count), np.empty(scenario_count)
    ranks = np.argsort(-routing.powers)
    count = 0
    for link in choice.free:
        for i in range(_candidates(scenarios, routing, choice, weights, link, ranks, scratch)):
            if stop[0]:
                return count
            links[count], news[count] = link, scratch[i]
            for s in range(scenario_count):
                powers[s], largest[s] = change(
                    scenarios, routing, s, weights, links[count : count + 1],
                    news[count : count + 1], False,
                )  # fmt: skip
            merits[0, count] = joint_energy(scenarios, powers)
            merits[1, count] = joint(scenarios, largest)
            count += 1
    return count
