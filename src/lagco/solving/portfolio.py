"""Portfolio: members that search in turns, their best solution, and the time.

A turn is short: some steps of an agent's episodes, a stretch of local search. Between turns the
time is looked at, so a run may be stopped at any moment with the best solution so far. The
problem's own search gets most of the time as long as it finds better solutions; then whoever holds
the best gets half of it, and the others the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from lagco.arrays import Array
from lagco.core.changes import Verdict
from lagco.core.problem import Problem
from lagco.errors import LagcoError
from lagco.instances import Instance
from lagco.results.measures import gap, improvement
from lagco.rollout import Trace
from lagco.runtime.compiling import working_time

#: part of the time for whoever leads, and for each of the others
LEADING, FOLLOWING = 0.9, 0.05
#: name of whoever found the configuration in force
INCUMBENT = "incumbent"
#: part for whoever holds the best where nobody leads
HOLDING = 0.5


@dataclass(frozen=True)
class Improvement:
    """A solution better than all before it.

    Attributes:
        seconds: since the start.
        objective: of the solution.
        by: who found it.
        gap: to the bound or the reference, in percent of it; None without either.
    """

    seconds: float
    objective: float
    by: str
    gap: float | None


class Limit:
    """When to stop: after some seconds, or after so many turns on any machine.

    Args:
        seconds: since `since`.
        turns: instead of the seconds.
        since: when the time began, by the clock; now without.
        clock: tells the time; by default that without what compiling takes.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        turns: int | None = None,
        since: float | None = None,
        clock: Callable[[], float] = working_time,
    ) -> None:
        self._clock = clock
        self._stopped: Callable[[], bool] | None = None
        self._began = clock() if since is None else since
        self._seconds = math.inf if turns is not None else seconds
        self._turns = turns
        self.taken = 0

    def stopped_by(self, stopped: Callable[[], bool]) -> Limit:
        """The same limit for somebody who has to stop as soon as `stopped` says so, too."""
        limit = Limit(self._seconds, self._turns, self._began, self._clock)
        limit._stopped = stopped
        return limit

    def part(self, share: float) -> Limit:
        """A limit after a share of the seconds; the turns are the same."""
        limit = Limit(share * self._seconds, self._turns, self._began, self._clock)
        limit._stopped = self._stopped
        return limit

    def share_of_turns(self, share: float) -> int:
        """So many turns are a share of all; at least one."""
        return max(1, round(share * (self._turns or 1)))

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    def left(self) -> float:
        """Seconds that are left; infinite where turns are counted."""
        return self._seconds - self.elapsed()

    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.expired() or (self._turns is not None and self.taken >= self._turns)

    def expired(self) -> bool:
        """Whether what is under way has to be cut short: seconds are over, or somebody stops it."""
        stopped = self._stopped is not None and self._stopped()
        return stopped or self.left() <= 0.0

    def cost(self, began: float) -> float:
        """Cost of a turn that began then: seconds, or 1 where turns are counted."""
        return self.elapsed() - began if self._turns is None else 1.0

    @property
    def clock(self) -> Callable[[], float]:
        """Tells the time that counts."""
        return self._clock

    @property
    def timed(self) -> bool:
        """Whether seconds are counted."""
        return self._turns is None


@dataclass(frozen=True)
class Found:
    """A solution, who found it, and the steps that led to it where there were any."""

    objective: float
    solution: Array
    by: str
    trace: Trace | None = None


class Record:
    """The best solution so far, and how it came about.

    Args:
        cls: class of the problem.
        limit: whose time the curve shows.
        aim: value to compare with: a reference's or a bound.
        until: gap to it in percent at which to stop.
        on_improvement: is told about every better solution.
        judge: judges solutions from scratch where there is an incumbent or a limit: those with
            fewer faults are better, then those with a better objective.

    Attributes:
        best: None before any.
        verdict: of the best, where solutions are judged.
        bound: what no solution can beat; None where it is not known.
        failure: why a member gave up; None where none did.
        curve: every improvement, in order.
        shares: what the turns of each member have cost.
    """

    def __init__(
        self,
        cls: type[Problem],
        limit: Limit,
        aim: float | None = None,
        until: float | None = None,
        on_improvement: Callable[[Improvement], None] | None = None,
        judge: Callable[[Array], Verdict] | None = None,
    ) -> None:
        self._judge = judge
        self.verdict: Verdict | None = None
        self._cls = cls
        self._limit = limit
        self._until = until
        self._tell = on_improvement
        self.aim = aim
        self.best: Found | None = None
        self.bound: float | None = None
        self.failure: LagcoError | None = None
        self.curve: list[Improvement] = []
        self.shares: dict[str, float] = {}

    def apart(self, limit: Limit, tell: Callable[[Improvement], None] | None = None) -> Record:
        """An empty record with the same aim, for somebody else."""
        record = Record(self._cls, limit, self.aim, self._until, tell, self._judge)
        record.bound = self.bound
        return record

    def offer(self, found: Found) -> bool:
        """Take a solution if it is better than the best; whether it is."""
        best = self.best
        if self._judge is not None:
            verdict = self._judge(found.solution)
            if self.verdict is not None and not verdict.beats(
                self.verdict, maximise=self._cls.maximise
            ):
                return False
            self.verdict = verdict
        elif best is not None and self.better(best.objective, found.objective):
            return False
        self.best = found
        noted = Improvement(self._limit.elapsed(), found.objective, found.by, self.gap())
        self.curve.append(noted)
        if self._tell is not None:
            self._tell(noted)
        return True

    def better(self, value: float, other: float) -> bool:
        """Whether an objective is at least as good as another, up to rounding."""
        slack = 1e-12 * max(abs(value), abs(other))
        return improvement(value, other, maximise=self._cls.maximise) >= -slack

    def gap(self) -> float | None:
        """Of the best to the aim, or else to the bound."""
        to = self.bound if self.aim is None else self.aim
        if self.best is None or to is None:
            return None
        return gap(self.best.objective, to, maximise=self._cls.maximise)

    def done(self) -> bool:
        """Whether nothing better exists, or the wanted gap is reached."""
        if self.best is None:
            return False
        if self.verdict is not None and self.verdict.faults:
            return False
        if self.bound is not None:
            slack = 1e-9 * abs(self.bound)
            worse = -improvement(self.best.objective, self.bound, maximise=self._cls.maximise)
            if worse <= slack:
                return True
        reached = self.gap()
        return self._until is not None and reached is not None and reached <= self._until


@dataclass(frozen=True)
class Task:
    """Task that the members of a portfolio share.

    Attributes:
        cls: class of the problem.
        instance: what is solved.
        record: where solutions are offered.
        limit: how long a turn may be depends on what is left.
        seed: of starts, samples and searches.
    """

    cls: type[Problem]
    instance: Instance
    record: Record
    limit: Limit
    seed: int

    def seeded(self, offset: int) -> Task:
        """The same task with another seed."""
        return replace(self, seed=self.seed + offset)


class Member(Protocol):
    """Takes turns in looking for solutions."""

    name: str
    #: what its turns have cost so far
    used: float

    def ready(self) -> bool:
        """Whether there is something to do now."""
        ...

    def leads(self) -> bool:
        """Whether it shares most of the time, even where another one holds the best solution."""
        ...

    def turn(self) -> bool:
        """Go on for a short time; False if there is nothing more to do."""
        ...


def _parts(ready: Sequence[Member], record: Record) -> dict[str, float]:
    """Part of the time that each member should have."""
    leaders = [member.name for member in ready if member.leads()]
    if leaders:
        part = LEADING / len(leaders)
        return {m.name: part if m.name in leaders else FOLLOWING for m in ready}
    holder = ready[0].name if record.best is None else record.best.by
    rest = (1.0 - HOLDING) / max(1, len(ready) - 1)
    return {m.name: HOLDING if m.name == holder else rest for m in ready}


def _owes(ready: Sequence[Member], task: Task) -> bool:
    """Whether nobody has searched yet, and the incumbent would be called the best of one thing."""
    best = task.record.best
    untried = task.limit.taken == 0 and ready[0].leads()
    return untried and best is not None and best.by == INCUMBENT


def run(members: Sequence[Member], task: Task, between: Callable[[], None] | None = None) -> None:
    """Let members take turns until the limit, or until nothing better can come.

    The first turn goes to the first of them, and whoever is ready and behind with its part of the
    time comes next. Without a solution at the end of the time, the first one that is ready goes on
    until there is one; where that is the incumbent alone, the problem's own search takes one turn.
    Where nobody is ready, nothing more can come.

    Args:
        members: who takes turns.
        task: what they work on.
        between: is called after every turn.
    """
    limit, record = task.limit, task.record
    able = list(members)
    while not record.done():
        ready = [member for member in able if member.ready()]
        over = limit.over()
        if not ready or (over and record.best is not None and not _owes(ready, task)):
            return
        member = ready[0]
        if not over:
            parts = _parts(ready, record)
            member = min(ready, key=lambda m: m.used / parts[m.name])
        began = limit.elapsed()
        goes_on = member.turn()
        limit.taken += 1
        cost = limit.cost(began)
        member.used += cost
        record.shares[member.name] = record.shares.get(member.name, 0.0) + cost
        if not goes_on:
            able.remove(member)
        if between is not None:
            between()
