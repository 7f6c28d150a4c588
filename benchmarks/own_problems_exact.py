"""Models of the examples for exact solvers: what other ways to answer are compared with.

Three for CP-SAT, and flows for HiGHS (`scipy.optimize.milp`), with which CP-SAT is slow. Every
solution that a model gives is checked by the problem's own ``evaluate_solution``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ortools.sat.python import cp_model
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix, csr_matrix, eye, hstack, kron

from lagco.core.problem import Problem
from lagco.instances import Instance

#: costs that are no whole numbers are rounded to a part of their mean
_PARTS = 10_000
Model = tuple[cp_model.CpModel, Callable[[Any], Any]]


def colouring(problem: type[Problem], instance: Instance) -> Model:
    """Colour by node; a colour is used only if the one before it is."""
    n, edges = instance.size, instance.array("edges")
    most = int(np.bincount(edges.ravel(), minlength=n).max()) + 1
    model = cp_model.CpModel()
    has = [[model.new_bool_var("") for _ in range(most)] for _ in range(n)]
    used = [model.new_bool_var("") for _ in range(most)]
    for v in range(n):
        model.add_exactly_one(has[v])
    for c in range(most):
        for u, v in edges.T.tolist():
            model.add_bool_or(has[u][c].Not(), has[v][c].Not())
        for v in range(n):
            model.add_implication(has[v][c], used[c])
        if c:
            model.add_implication(used[c], used[c - 1])
    model.minimize(sum(used))
    return model, lambda value: np.array([[value(x) for x in row] for row in has]).argmax(axis=1)


def independent_set(problem: type[Problem], instance: Instance) -> Model:
    """One variable per node."""
    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in range(instance.size)]
    for u, v in instance.array("edges").T.tolist():
        model.add_bool_or(chosen[u].Not(), chosen[v].Not())
    weights = instance.array("weights").astype(int).tolist()
    model.maximize(sum(w * x for w, x in zip(weights, chosen, strict=True)))
    return model, lambda value: np.array([value(x) for x in chosen])


def facility(problem: type[Problem], instance: Instance) -> Model:
    """A site per client; the first client of a site opens it."""
    env: Any = problem(instance)
    env.reset(seed=0)
    core = env._core
    model, unit = cp_model.CpModel(), float(core.way.mean()) / _PARTS
    n, m = core.way.shape
    served = [[model.new_bool_var("") for _ in range(m)] for _ in range(n)]
    opened = [model.new_bool_var("") for _ in range(m)]
    for i in range(n):
        model.add_exactly_one(served[i])
        for j in range(m):
            model.add_implication(served[i][j], opened[j])
    costs = [int(core.price[j] / unit) * opened[j] for j in range(m)]
    costs += [int(core.way[i, j] / unit) * served[i][j] for i in range(n) for j in range(m)]
    model.minimize(sum(costs))

    def solution(value: Any) -> Any:
        sites = np.array([[value(x) for x in row] for row in served]).argmax(axis=1)
        return np.stack([np.arange(n), sites], axis=1)

    return model, solution


MODELS = {
    "colouring": colouring,
    "independent-set": independent_set,
    "facility": facility,
}


def answer(problem: type[Problem], instance: Instance, effort: float) -> tuple[float, bool]:
    """Objective of the best solution that a solver finds, and whether it is proven optimal.

    Args:
        problem: one of the examples.
        instance: of it.
        effort: deterministic time of CP-SAT; HiGHS always takes the time that it needs.
    """
    solve = steiner if problem.name == "steiner" else by_constraints
    solution, optimal = solve(problem, instance, effort)
    return float(problem.evaluate_solution(instance, solution)), optimal


def by_constraints(problem: type[Problem], instance: Instance, effort: float) -> tuple[Any, bool]:
    """The best solution that CP-SAT finds."""
    model, solution = MODELS[problem.name](problem, instance)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.linearization_level = 2
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"{instance.name}: {solver.status_name(status)}")
    return solution(solver.value), bool(status == cp_model.OPTIMAL)


def steiner(problem: type[Problem], instance: Instance, effort: float) -> tuple[Any, bool]:
    """A unit of flow from the first terminal to each other one, over arcs that all of them share.

    The variables are the arcs of the flow to each terminal, then the arcs that are paid for.
    """
    edges, lengths = instance.array("edges"), instance.array("lengths")
    root, *others = instance.array("terminals").tolist()
    n, flows = instance.size, len(others)
    ends = np.concatenate([edges, edges[::-1]], axis=1)  # both directions
    arcs = ends.shape[1]
    places = np.concatenate([ends[1], ends[0]]), np.tile(np.arange(arcs), 2)
    signs = np.repeat([1.0, -1.0], arcs)
    balance = coo_matrix((signs, places), shape=(n, arcs))
    arriving = np.zeros((flows, n))
    arriving[np.arange(flows), others] = 1.0
    arriving[:, root] = -1.0
    conserved = hstack([kron(eye(flows), balance), csr_matrix((flows * n, arcs))]).tocsr()
    paid = hstack([eye(flows * arcs), kron(-np.ones((flows, 1)), eye(arcs))]).tocsr()
    found = milp(
        np.concatenate([np.zeros(flows * arcs), np.tile(lengths, 2)]),
        integrality=np.repeat([0, 1], [flows * arcs, arcs]),
        bounds=Bounds(0.0, 1.0),
        constraints=[
            LinearConstraint(conserved, arriving.ravel(), arriving.ravel()),
            LinearConstraint(paid, -np.inf, 0.0),
        ],
    )
    if found.x is None:
        raise RuntimeError(f"{instance.name}: {found.message}")
    bought = found.x[-arcs:].reshape(2, -1) > 0.5
    return bought.any(axis=0).astype(np.int8), found.status == 0
