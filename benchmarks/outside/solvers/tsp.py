"""Tours by LKH (elkai), fast-tsp and OR-Tools.

Distances are whole numbers there: those of coordinates on a grid of a millionth of the square.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from answering import Arrays, Solver, answer

_GRID = 1_000_000


def _on_grid(instance: Arrays) -> np.ndarray:
    """Coordinates (n, 2) from 0 to the grid's side."""
    coordinates = instance["coordinates"]
    shifted = coordinates - coordinates.min(axis=0)
    return shifted * (_GRID / shifted.max())


def _distances(instance: Arrays, largest: int) -> np.ndarray:
    """Whole distances (n, n), with `largest` at most along an axis."""
    x, y = (_on_grid(instance) * (largest / _GRID)).T
    return np.rint(np.hypot(x[:, None] - x, y[:, None] - y)).astype(np.int64)


def lkh(instance: Arrays) -> Solver:
    """LKH's own stop: one run, as many trials as cities.

    elkai's interface has no limit of time; the text that it passes on to LKH has.
    """
    from elkai import _elkai

    n = len(instance["coordinates"])
    rows = [f"{k} {x:.3f} {y:.3f}" for k, (x, y) in enumerate(_on_grid(instance).tolist(), 1)]
    problem = f"TYPE : TSP\nDIMENSION : {n}\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n"
    problem += "\n".join(rows) + "\n"

    def solve(seconds: float) -> dict[str, Any]:
        limit = f"TIME_LIMIT = {seconds}\n" if seconds > 0 else ""
        parameters = f"RUNS = 1\nSEED = 1\n{limit}PROBLEM_FILE = :stdin:\n"
        return {"solution": np.array(_elkai.solve_problem(parameters, problem)) - 1}

    return solve


def fast_tsp(instance: Arrays) -> Solver:
    """Or-opt and Lin-Kernighan steps with local restarts."""
    import fast_tsp as package

    table = _distances(instance, 40_000).tolist()  # whole distances up to 65535 are its fast case

    return lambda seconds: {"solution": package.find_tour(table, duration_seconds=seconds)}


def or_tools(instance: Arrays) -> Solver:
    """Routing with guided local search."""
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2

    table = _distances(instance, _GRID)
    manager = pywrapcp.RoutingIndexManager(len(table), 1, 0)
    routing = pywrapcp.RoutingModel(manager)
    routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitMatrix(table.tolist()))

    def solve(seconds: float) -> dict[str, Any]:
        search = pywrapcp.DefaultRoutingSearchParameters()
        search.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.PATH_CHEAPEST_ARC
        search.local_search_metaheuristic = (
            routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
        )
        search.time_limit.FromMilliseconds(int(1000 * seconds))
        found = routing.SolveWithParameters(search)
        if found is None:
            return {}
        tour, at = [], routing.Start(0)
        while not routing.IsEnd(at):
            tour.append(manager.IndexToNode(at))
            at = found.Value(routing.NextVar(at))
        return {"solution": tour}

    return solve


if __name__ == "__main__":
    answer({"LKH": lkh, "fast-tsp": fast_tsp, "OR-Tools": or_tools})
