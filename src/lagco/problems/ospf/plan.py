"""A plan for an episode of `ospf`: weights that a short annealing finds from its start.

Changes of several weights together gain more than each alone, and a search by single links ends
where none of them helps. The plan is computed once per episode, with at most a tenth of the
solver's moves; an agent with a ranker may follow, leave, or continue from it.
"""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.heuristics.known_plans import KnownPlans
from lagco.instances import Instance
from lagco.problems.networks.network import network_of
from lagco.problems.ospf.routing.weights import is_wide, utilisation_of
from lagco.problems.ospf.solver import MOVES, improve_weights

#: moves of the annealing per link, unless they take more than so many steps along arcs in all; with
#: fewer moves per link than the last number there is no plan
PER_LINK, WORK, FEWEST = 120, 1_000_000_000, 30
#: plans that a start has, of which every episode draws one: training comes back to the same starts
PLANS = 64
#: changes towards the plan that a ranker sees in any case
SUGGESTED = 8
_known = KnownPlans()


def episode_plan(instance: Instance, weights: Array, number: int) -> tuple[Array, float]:
    """Plan `number` for episodes that begin with `weights` (E,), computed once; its utilisation.

    For large networks and wide ranges of weights there is none: returns `weights` and infinity.
    """
    if is_wide(instance) or instance.params.get("weight_step", 1) != 1:
        return weights, np.inf
    network = network_of(instance)
    links = len(weights)
    moves = min(PER_LINK * links, WORK // (2 * links * network.num_nodes))
    if moves < FEWEST * links:
        return weights, np.inf

    def make() -> tuple[Array, float]:
        found = np.asarray(improve_weights(instance, weights, number, moves / MOVES), np.int64)
        return found, utilisation_of(instance, network, found)

    return _known.get((instance.checksum, weights.tobytes(), number), make)
