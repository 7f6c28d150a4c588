"""Vertex covers as what is left of independent sets by KaMIS, and by CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from answering import Arrays, Solver, answer


def _by_independent_set(method: str) -> Callable[[Arrays], Solver]:
    """A solver of KaMIS, as CHSZLabLib offers them."""

    def prepare(instance: Arrays) -> Solver:
        from chszlablib import Graph, IndependenceProblems

        n = int(instance["nodes"])
        graph = Graph.from_edge_list(instance["edges"].T.tolist(), num_nodes=n)
        graph.finalize()

        def solve(seconds: float) -> dict[str, Any]:
            found = getattr(IndependenceProblems, method)(graph, time_limit=seconds, seed=0)
            return {"solution": np.setdiff1d(np.arange(n), found.vertices)}

        return solve

    return prepare


def cp_sat(instance: Arrays) -> Solver:
    """A variable per node, a clause per edge."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in range(int(instance["nodes"]))]
    for u, v in instance["edges"].T.tolist():
        model.add_bool_or(chosen[u], chosen[v])
    model.minimize(sum(chosen))

    def solve(seconds: float) -> dict[str, Any]:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = seconds
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return {}
        cover = np.flatnonzero([solver.value(x) for x in chosen])
        found = {"solution": cover, "bound": solver.best_objective_bound}
        return found | {"proven": status == cp_model.OPTIMAL}

    return solve


if __name__ == "__main__":
    answer(
        {
            "KaMIS redumis": _by_independent_set("redumis"),
            "KaMIS online_mis": _by_independent_set("online_mis"),
            "CP-SAT": cp_sat,
        }
    )
