"""The controller that searches from the configuration in force, as `solve` does."""

from __future__ import annotations

from lagco.arrays import Array
from lagco.core.changes import judge
from lagco.live.contract import Situation
from lagco.runtime.stopping import stopping
from lagco.solving.options import SolveOptions
from lagco.solving.portfolio import INCUMBENT, Found, Improvement, Record, Task, run
from lagco.solving.request import Request


class SolverController:
    """The problem's search, warm-started: within limits and budgets, from what is in force."""

    name = "solver"

    def decide(self, situation: Situation) -> Array | None:
        """The best that was found in time."""
        return searched(situation, None)


def searched(situation: Situation, found: Array | None) -> Array | None:
    """The best that the search finds, from what is in force and from what somebody else found."""
    cls, instance, limit = situation.cls, situation.instance, situation.limit

    def told(better: Improvement) -> None:
        if better.by != INCUMBENT:
            situation.tell(better.objective)

    with stopping() as stop:
        if limit.timed:
            stop.after(max(0.0, limit.left()), limit.clock)
        try:
            record = Record(
                cls,
                limit,
                on_improvement=told,
                judge=lambda solution: judge(cls, instance, solution),
            )
            task = Task(cls, instance, record, limit, situation.seed)
            for solution, by in ((situation.incumbent, INCUMBENT), (found, "agent")):
                if solution is not None:
                    value = judge(cls, instance, solution).objective
                    record.offer(Found(value, solution, by))
            run(Request(SolveOptions(by="solver")).searches(task), task)
        finally:
            stop.after(None)
    best = record.best
    return None if best is None or best.by == INCUMBENT else best.solution
