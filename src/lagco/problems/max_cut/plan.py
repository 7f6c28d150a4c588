"""A plan for an episode of `max-cut`: sides that a short annealing finds from its start.

A search by single nodes and short chains ends where none of them helps, and an episode has few
steps for leaving such places. The plan is found once per episode, in a 75th of the solver's sweeps;
it is what an agent with a ranker may follow, leave, or go on from.
"""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.problems.known_plans import KnownPlans
from lagco.problems.max_cut.solver import HOTTEST, anneal_cut
from lagco.problems.random_stream import random_stream

#: sweeps over all nodes, unless they take more than so many looks at nodes and edges in all; with
#: fewer sweeps than the last number there is no plan
SWEEPS, WORK, FEWEST = 400, 2_000_000_000, 50
#: plans that a start has, of which every episode draws one: training comes back to the same starts
PLANS = 64
#: moves towards the plan that a ranker sees in any case
SUGGESTED = 8
_known = KnownPlans()


def episode_plan(
    checksum: str, graph: tuple[Array, Array, Array], unit: float, sides: Array, number: int
) -> tuple[Array, float]:
    """Plan `number` for episodes that begin with `sides` (n,), made once; and its cut.

    Of the two ways to name the sides, the one nearer to the start. Graphs that are too large have
    none: their own sides, and minus infinity.

    Args:
        checksum: of the instance.
        graph: first slot of each node, neighbours and weights by slot.
        unit: typical gain of a node.
        sides: at the start.
        number: of the plan.
    """
    first, neighbours, weights = graph
    sweeps = min(SWEEPS, WORK // (len(sides) + len(neighbours) + 1))
    if sweeps < FEWEST:
        return sides, -np.inf

    def make() -> tuple[Array, float]:
        found = anneal_cut(*graph, sides.copy(), HOTTEST * unit, sweeps, random_stream(number))
        if 2 * np.count_nonzero(found != sides) > len(sides):
            found = (1 - found).astype(np.int8)
        cut = np.repeat(found, np.diff(first)) != found[neighbours]
        return found, float(weights[cut].sum()) / 2.0  # every edge has two slots

    return _known.get((checksum, sides.tobytes(), number), make)
