"""Value against changes: the best answers with at most 0, 1, 2, … changes of the incumbent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lagco.core.changes import MAX_CHANGES, incumbent_of, judge
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.solving.answer import MOST_CHANGES, Trade
from lagco.solving.changes.limiting import missing_incumbent
from lagco.solving.changes.reverting import with_fewer_changes
from lagco.solving.portfolio import INCUMBENT, Found, Limit, Record, Task, run
from lagco.solving.request import Request

#: part of the time for the answer without a budget
UNLIMITED = 0.4


def check_trade_off(cls: type[Problem], instance: Instance) -> None:
    """Refuse a trade-off where changes cannot be counted."""
    if incumbent_of(cls, instance) is None:
        raise UsageError(f"trade_off: {missing_incumbent(cls, instance)}")


def trade_off(
    task: Task, request: Request, limit: Limit, stopped: Callable[[], bool]
) -> tuple[Trade, ...]:
    """The best with at most 0, 1, 2, … changes, up to as many as the best of the task makes.

    Every budget has the same part of the time that is left, and begins with the best of the one
    before. What is better than the best of the task is offered to it.

    Args:
        task: whose record holds the answer without a budget.
        request: who searches.
        limit: of all that is left to do.
        stopped: whether somebody ends it early.
    """
    cls, instance, record = task.cls, task.instance, task.record
    incumbent = incumbent_of(cls, instance)
    assert incumbent is not None
    assert record.best is not None
    assert record.verdict is not None
    best = Found(judge(cls, instance, incumbent).objective, incumbent, INCUMBENT)
    trades = [Trade(0, best.objective, incumbent)]
    most = min(
        MOST_CHANGES, record.verdict.changes or MOST_CHANGES
    )  # nothing may mean that there was no time
    for budget in range(1, most + 1):
        budgeted = replace(instance, params={**instance.params, MAX_CHANGES: budget})
        part = Limit(
            max(limit.left(), 0.0) / (most + 1 - budget),
            request.options.turns and max(1, request.options.turns // (most + 1)),
        ).stopped_by(stopped)
        judging = partial(judge, cls, budgeted)
        limited = Task(cls, budgeted, Record(cls, part, judge=judging), part, task.seed)
        limited.record.bound = record.bound
        limited.record.offer(best)
        if record.verdict.changes <= budget:
            limited.record.offer(record.best)
        if not part.over():
            run(request.members(limited), limited)
        assert limited.record.best is not None
        best = with_fewer_changes(cls, budgeted, limited.record.best, part.expired)
        verdict = judge(cls, budgeted, best.solution)
        if not verdict.faults and verdict.changes > trades[-1].changes:
            trades.append(Trade(verdict.changes, verdict.objective, best.solution))
        record.offer(best)
    last, verdict = record.best, judge(cls, instance, record.best.solution)
    if verdict.changes > trades[-1].changes:
        trades.append(Trade(verdict.changes, last.objective, last.solution))
    return tuple(trades)
