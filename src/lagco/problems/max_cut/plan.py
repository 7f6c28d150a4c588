"""A plan for an episode of `max-cut`: sides that a short annealing finds from its start.

A search by single nodes and short chains ends where none of them helps, and an episode has few
steps for leaving such places. The plan is found once per episode, in a 75th of the solver's sweeps;
it is what an agent with a ranker may follow, leave, or continue from.
"""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.heuristics.known_plans import KnownPlans
from lagco.problems.max_cut.limits import CutLimits
from lagco.problems.max_cut.solver import HOTTEST, anneal_cut
from lagco.problems.max_cut.weights import WeightedGraph
from lagco.problems.random_stream import random_stream
from lagco.runtime.stopping import stop_flag

#: sweeps over all nodes, unless they take more than so many looks at nodes and edges in all; with
#: fewer sweeps than the last number there is no plan
SWEEPS, WORK, FEWEST = 400, 2_000_000_000, 50
_known = KnownPlans()


def episode_plan(
    checksum: str, graph: WeightedGraph, unit: float, sides: Array, limits: CutLimits, number: int
) -> tuple[Array, float]:
    """Plan `number` for episodes that begin with `sides` (n,), made once; and its cut.

    Of the two ways to name the sides, the one nearer to the start. Graphs that are too large have
    none: their own sides, and minus infinity.

    Args:
        checksum: of the instance.
        graph: neighbours and weights.
        unit: typical gain of a node.
        sides: at the start.
        limits: that the plan keeps to; they follow from the instance.
        number: of the plan.
    """
    first, neighbours, weights = graph
    sweeps = min(SWEEPS, WORK // (len(sides) + len(neighbours) + 1))
    if sweeps < FEWEST:
        return sides.copy(), -np.inf

    def make() -> tuple[Array, float]:
        stream = random_stream(number)
        heat = HOTTEST * unit
        found = anneal_cut(graph, sides.copy(), limits, heat, sweeps, stream, stop_flag())
        free = limits.most >= len(sides) and not limits.locked.any()
        if free and 2 * np.count_nonzero(found != sides) > len(sides):
            found = (1 - found).astype(np.int8)
        cut = np.repeat(found, np.diff(first)) != found[neighbours]
        return found, float(weights[cut].sum()) / 2.0  # every edge has two slots

    return _known.get((checksum, sides.tobytes(), number), make)
