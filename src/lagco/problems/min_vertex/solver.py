"""The smallest cover, by OR-tools' CP-SAT."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lagco.errors import require_extra
from lagco.instances import Instance, SolverReference
from lagco.instances.instance import Status
from lagco.problems.adjacency import edges_of
from lagco.problems.min_vertex.sweeps import sweep_covers

#: CP-SAT's own measure of work, the same on every machine; the paper's sizes need a thousandth
DETERMINISTIC_LIMIT = 60.0
#: the same for a bound alone: about a second
_BOUND_LIMIT = 1.0
#: part of the seconds of a bound that is for the search; the rest is for the model
_SEARCHING = 0.8
#: greedy covers, the smallest of which CP-SAT begins from
_FIRST_COVERS = 20


def cover_bound(instance: Instance, seconds: float | None = None) -> float:
    """CP-SAT's bound on the size of a cover, in so many seconds or a fixed amount of work."""
    cp_model = require_extra(
        "ortools.sat.python.cp_model", "solvers", "the bound of CP-SAT on 'min-vertex'"
    )
    model, _ = _model(cp_model, instance)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if seconds is None:
        solver.parameters.max_deterministic_time = _BOUND_LIMIT
    else:
        solver.parameters.max_time_in_seconds = _SEARCHING * seconds
    solver.solve(model)
    return float(math.ceil(solver.best_objective_bound - 1e-6))


def _model(cp_model: Any, instance: Instance) -> tuple[Any, list[Any]]:
    """The model of smallest covers and its variable of each node."""
    model = cp_model.CpModel()
    chosen = [model.new_bool_var(f"x{v}") for v in range(instance.size)]
    for u, v in edges_of(instance).T.tolist():
        model.add_bool_or(chosen[u], chosen[v])
    model.minimize(sum(chosen))
    return model, chosen


def solve_cover(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """Smallest cover: proven optimal, or the best found within `effort` times the usual limit."""
    cp_model = require_extra(
        "ortools.sat.python.cp_model", "solvers", "the solver reference of 'min-vertex'"
    )
    model, chosen = _model(cp_model, instance)
    known = np.asarray(sweep_covers(instance, _FIRST_COVERS, seed).best_solution)
    hinted = set(known.tolist())
    for v, variable in enumerate(chosen):
        model.add_hint(variable, v in hinted)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.max_deterministic_time = effort * DETERMINISTIC_LIMIT
    status = solver.solve(model)
    cover = known
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = np.flatnonzero([solver.boolean_value(x) for x in chosen])
        cover = found if len(found) <= len(known) else known
    certainty: Status = "optimal" if status == cp_model.OPTIMAL else "best-known"
    return SolverReference(float(len(cover)), certainty, "CP-SAT", cover)
