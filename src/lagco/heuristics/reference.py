"""Reference values of solvers: the problem's own, or where it has none, search by its rules."""

from __future__ import annotations

from lagco.core.problem import Problem
from lagco.errors import InstanceError
from lagco.heuristics.search import Search
from lagco.instances import Instance, SolverReference

#: name of the solver in references, and in answers
NAME = "search"
#: moves per decision variable of a reference's search
_MOVES = 400


def rules_search(cls: type[Problem], instance: Instance, seed: int) -> Search:
    """Search by the rules of a problem alone, from what the instance says is the case."""
    return Search(cls(instance, features="paper", start="current", rewards=False), seed=seed)


def solver_reference(cls: type[Problem], instance: Instance, seed: int) -> SolverReference | None:
    """Value of the problem's solver; without one, of search by the rules."""
    if cls.defines("solve"):
        return cls.solve(instance, seed).solver
    search = rules_search(cls, instance, seed)
    best = search.run(_MOVES * max(1, instance.size))
    if best is None:
        raise InstanceError(f"{instance.name!r}: search by the rules found no solution")
    return SolverReference(best.objective, "best-known", NAME, best.solution)
