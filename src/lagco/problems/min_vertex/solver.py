"""The smallest cover, by OR-tools' CP-SAT."""

from __future__ import annotations

import numpy as np

from lagco.errors import LagcoError, require_extra
from lagco.instances import Instance, SolverReference
from lagco.instances.instance import Status
from lagco.problems.adjacency import edges_of

#: CP-SAT's own measure of work, the same on every machine; the paper's sizes need a thousandth
DETERMINISTIC_LIMIT = 60.0


def solve_cover(
    instance: Instance, seed: int, limit: float = DETERMINISTIC_LIMIT
) -> SolverReference:
    """Smallest cover: proven optimal, or the best found within the limit of work."""
    cp_model = require_extra(
        "ortools.sat.python.cp_model", "solvers", "the solver reference of 'min-vertex'"
    )
    model = cp_model.CpModel()
    chosen = [model.new_bool_var(f"x{v}") for v in range(instance.size)]
    for u, v in edges_of(instance).T.tolist():
        model.add_bool_or(chosen[u], chosen[v])
    model.minimize(sum(chosen))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.max_deterministic_time = limit
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise LagcoError(f"CP-SAT found no cover of {instance.name!r}: {solver.status_name()}")
    cover = np.flatnonzero([solver.boolean_value(x) for x in chosen])
    certainty: Status = "optimal" if status == cp_model.OPTIMAL else "best-known"
    return SolverReference(float(len(cover)), certainty, "CP-SAT", cover)
