"""Members that look for a good solution in turns, the best that any of them found, and the time.

A turn is short: some steps of an agent's episodes, a stretch of local search. Between turns the
time is looked at, so a run may be stopped at any moment with the best solution so far. Whoever
holds the best solution gets most of the turns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, MissingExtra, UsageError
from lagco.instances import Instance
from lagco.results.measures import gap, improvement
from lagco.rollout import Trace

#: part of the time for whoever holds the best solution, and for each of the others
LEADING, FOLLOWING = 0.7, 0.15
#: part of the usual work that a first turn of local search makes
FIRST_EFFORT = 1 / 1024
#: and a turn that begins afresh, where turns are counted
FRESH_EFFORT = 1 / 32
#: seconds that a turn of local search may take in any case, and at most
SHORTEST, LONGEST = 0.02, 2.0
#: parts of the time that is left: what a turn of local search takes, and the most that it may
USUAL_PART, LARGEST_PART = 0.06, 0.3
#: turns without progress after which a search that is not the best begins elsewhere
_PATIENCE = 4


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
        since: when the time began; now without.
        clock: tells the time.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        turns: int | None = None,
        since: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._clock = clock
        self._began = clock() if since is None else since
        self._seconds = math.inf if turns is not None else seconds
        self._turns = turns
        self.taken = 0

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    def left(self) -> float:
        """Seconds that are left; infinite where turns are counted."""
        return self._seconds - self.elapsed()

    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left() <= 0.0 if self._turns is None else self.taken >= self._turns

    def cost(self, began: float) -> float:
        """What a turn that began then has cost: seconds, or 1 where turns are counted."""
        return self.elapsed() - began if self._turns is None else 1.0

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

    Attributes:
        best: None before any.
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
    ) -> None:
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

    def offer(self, found: Found) -> bool:
        """Take a solution if it is better than the best; whether it is."""
        best = self.best
        if best is not None and self.better(best.objective, found.objective):
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
        if self.bound is not None:
            slack = 1e-9 * abs(self.bound)
            worse = -improvement(self.best.objective, self.bound, maximise=self._cls.maximise)
            if worse <= slack:
                return True
        reached = self.gap()
        return self._until is not None and reached is not None and reached <= self._until


class Member(Protocol):
    """Takes turns in looking for solutions."""

    name: str
    #: what its turns have cost so far
    used: float

    def turn(self) -> bool:
        """Go on for a short time; False if there is nothing more to do."""
        ...


def run(members: Sequence[Member], limit: Limit, record: Record) -> None:
    """Let members take turns until the limit, or until nothing better can come.

    The first turn goes to the first of them, and whoever is behind with its part of the time comes
    next. Without a solution at the end of the time, the first one goes on until there is one.
    """
    able = list(members)
    while able and not record.done():
        if not limit.over():
            leader = record.best.by if record.best is not None else able[0].name
            member = min(able, key=lambda m: m.used / (LEADING if m.name == leader else FOLLOWING))
        elif record.best is None:
            member = able[0]
        else:
            return
        began = limit.elapsed()
        goes_on = member.turn()
        limit.taken += 1
        cost = limit.cost(began)
        member.used += cost
        record.shares[member.name] = record.shares.get(member.name, 0.0) + cost
        if not goes_on:
            able.remove(member)


class LocalSearch:
    """The problem's local search, from a start of its own or from what others found.

    Args:
        cls: class of the problem; it defines ``improve``.
        instance: what is solved.
        record: where solutions are offered.
        limit: how long a turn may be depends on what is left.
        seed: of the search.
        name: of the member.
        take: gives a solution to begin from, None while there is none; without it, the search makes
            its own start.
    """

    def __init__(
        self,
        cls: type[Problem],
        instance: Instance,
        record: Record,
        limit: Limit,
        seed: int,
        name: str = "solver",
        take: Callable[[], Found | None] | None = None,
    ) -> None:
        self._cls = cls
        self._instance = instance
        self._record = record
        self._limit = limit
        self._seed = seed
        self._take = take
        self._present: Found | None = None
        self._effort = FIRST_EFFORT
        self._fresh = 0
        self._rate: float | None = None  # seconds per effort
        self._idle = 0
        self.name = name
        self.used = 0.0

    def turn(self) -> bool:
        """A stretch of local search."""
        start = self._start()
        if self._take is not None and start is None:
            return True  # nothing to begin from yet
        afresh = self._take is None and self._begins_afresh()
        effort = self._fitting(afresh)
        if afresh:
            start = None
        began = self._limit.elapsed()
        self._seed += 1
        try:
            solution = self._cls.improve(
                self._instance, None if start is None else start.solution, self._seed, effort
            )
        except InstanceError as error:  # too large for this search
            self._record.failure = error
            return False
        took = self._limit.cost(began)
        value = self._cls.evaluate_solution(self._instance, solution)
        found = Found(value, solution, self.name)
        if afresh:
            self._idle = 0
            self._fresh += 1
        if self._present is None or not self._record.better(self._present.objective, value):
            self._present, self._idle = found, 0
            self._record.offer(found)
        else:
            self._idle += 1
        if start is not None:  # the first turn loads code, and starts cost time of their own
            self._rate = took / effort
        if self._idle:
            self._effort = min(1.0 if self._limit.timed else FRESH_EFFORT, self._effort * 2.0)
        return True

    def _start(self) -> Found | None:
        present, best = self._present, self._record.best
        if self._take is not None:
            beaten = present is not None and best is not None and best.by != self.name
            if present is None or (beaten and self._idle >= _PATIENCE):
                taken = self._take()
                if taken is not None:
                    self._present, self._idle, self._effort = taken, 0, FIRST_EFFORT
        return self._present

    def _begins_afresh(self) -> bool:
        """As soon as the speed is known, and whenever nothing better is found for a while."""
        return self._rate is not None and (not self._fresh or self._idle >= _PATIENCE)

    def _fitting(self, afresh: bool) -> float:
        """Effort of the next turn: a part of the time that is left."""
        if self._rate is None:
            return FIRST_EFFORT
        if not self._limit.timed:
            return FRESH_EFFORT if afresh else self._effort
        left, speed = self._limit.left(), 1.0 / max(self._rate, 1e-12)
        longest = min(LONGEST, max(LARGEST_PART * left, SHORTEST)) * speed
        if afresh:
            return longest
        return min(max(self._effort, USUAL_PART * left * speed), longest)


class GrowingSolver:
    """The problem's solver with more and more effort, where it has no local search of its own."""

    def __init__(
        self, cls: type[Problem], instance: Instance, record: Record, limit: Limit, seed: int
    ) -> None:
        self._cls = cls
        self._instance = instance
        self._record = record
        self._limit = limit
        self._seed = seed
        self._effort = 1 / 4096
        self.name = "solver"
        self.used = 0.0

    def turn(self) -> bool:
        """One call of the solver."""
        began = self._limit.elapsed()
        try:
            known = self._cls.solve(self._instance, self._seed, self._effort).solver
        except (MissingExtra, UsageError, InstanceError) as error:
            self._record.failure = error
            return False
        if known is None:
            return False
        if known.status != "best-known":
            self._record.bound = known.value
        if known.solution is not None:
            self._record.offer(Found(known.value, known.solution, self.name))
        took = self._limit.elapsed() - began
        fitting = 0.7 * self._limit.left() / max(took, 1e-9) if self._limit.timed else 16.0
        if self._effort >= 1.0 or fitting < 2.0 or known.status == "optimal":
            return False
        self._effort = min(1.0, self._effort * min(fitting, 16.0))
        return True


class Bounding:
    """What no solution can beat, found once, within a part of the time."""

    #: of the time that is left when it begins
    PART = 0.2
    #: part of the time that counts as used when it begins
    AFTER = 0.04

    def __init__(
        self, cls: type[Problem], instance: Instance, record: Record, limit: Limit
    ) -> None:
        self._cls = cls
        self._instance = instance
        self._record = record
        self._limit = limit
        self.name = "bound"
        # others come first
        self.used = self.AFTER * limit.left() if limit.timed else 0.0

    def turn(self) -> bool:
        """Find the bound; there is no second turn."""
        self.used = 0.0
        seconds = self.PART * self._limit.left() if self._limit.timed else None
        bound = self._cls.bound(self._instance, seconds)
        if bound is not None:
            self._record.bound = bound
        return False
