"""Members of a portfolio that need no agent: local search, the solver, the bound."""

from __future__ import annotations

import math
from typing import Protocol

from lagco.errors import InstanceError, MissingExtra, UsageError
from lagco.solving.portfolio import FOLLOWING, LEADING, Found, Task

#: part of the usual work that a first turn of local search makes
FIRST_EFFORT = 1 / 1024
#: and a turn that begins afresh, where turns are counted
FRESH_EFFORT = 1 / 32
#: seconds that a turn of local search may take in any case, and at most
SHORTEST, LONGEST = 0.02, 2.0
#: parts of the time that is left: what a turn takes where its length is set, and the most it may
USUAL_PART, LARGEST_PART = 0.35, 0.8
#: part of the time that is left which a turn must have taken for its speed to be believed, and how
#: fast turns grow until then
_TRIAL_PART, _GROWTH = 0.03, 4.0
#: turns without progress after which a search that is not the best begins elsewhere
_PATIENCE = 4


class Source(Protocol):
    """Brings solutions for others to go on from."""

    def brings(self) -> bool:
        """Whether there is one that was not taken yet."""
        ...

    def take(self) -> Found | None:
        """One that was not taken yet; None where there is none."""
        ...


class LocalSearch:
    """The problem's local search, from a start of its own or from what others found.

    Args:
        task: of a problem that defines ``improve``.
        name: of the member.
        source: brings solutions to begin from; without it, the search makes its own start.
    """

    def __init__(
        self,
        task: Task,
        name: str = "solver",
        source: Source | None = None,
    ) -> None:
        self._task = task
        self._seed = task.seed
        self._source = source
        self._present: Found | None = None
        self._effort = FIRST_EFFORT
        self._fresh = 0
        self._rate: float | None = None  # seconds per effort
        self._usual: float | None = None  # effort of a turn, once the speed is known
        self._settled = not task.limit.timed  # whether the speed is known
        self._idle = 0
        self.name = name
        self.used = 0.0

    def ready(self) -> bool:
        """There is a solution to begin from, or none is needed."""
        return self._source is None or self._present is not None or self._source.brings()

    def stagnates(self) -> bool:
        """Whether it gave up, or had to begin afresh because nothing better was found."""
        return self._fresh > 1 or self._task.record.failure is not None

    def turn(self) -> bool:
        """A stretch of local search."""
        start = self._start()
        afresh = self._source is None and self._begins_afresh()
        effort = self._fitting(afresh)
        if afresh:
            start = None
        began = self._task.limit.elapsed()
        self._seed += 1
        try:
            solution = self._task.cls.improve(
                self._task.instance, None if start is None else start.solution, self._seed, effort
            )
        except InstanceError as error:  # too large for this search
            self._task.record.failure = error
            return False
        took = self._task.limit.cost(began)
        value = self._task.cls.evaluate_solution(self._task.instance, solution)
        found = Found(value, solution, self.name)
        if afresh:
            self._idle = 0
            self._fresh += 1
        if self._present is None or not self._task.record.better(self._present.objective, value):
            self._present, self._idle = found, 0
            self._task.record.offer(found)
        else:
            self._idle += 1
        if start is not None:  # the first turn loads code, and starts cost time of their own
            self._rate = took / effort
            left = self._task.limit.left()
            enough = (_TRIAL_PART if self._source is None else FOLLOWING / _GROWTH) * left
            self._settled = self._settled or took > enough or effort >= 1.0
            if not self._settled:
                self._effort = min(1.0, self._effort * _GROWTH)
        if self._idle and not self._task.limit.timed:
            self._effort = min(FRESH_EFFORT, self._effort * 2.0)
        return True

    def _start(self) -> Found | None:
        present, best = self._present, self._task.record.best
        if self._source is not None:
            beaten = present is not None and best is not None and best.by != self.name
            if present is None or (beaten and self._idle >= _PATIENCE):
                taken = self._source.take()
                if taken is not None:
                    self._present, self._idle, self._effort = taken, 0, FIRST_EFFORT
        return self._present

    def _begins_afresh(self) -> bool:
        """As soon as the speed is known, and whenever nothing better is found for a while."""
        known = self._rate is not None and self._settled
        return known and (not self._fresh or self._idle >= _PATIENCE)

    def _fitting(self, afresh: bool) -> float:
        """Effort of the next turn.

        A search of its own sets it as soon as the speed is known, for all turns to come; later ones
        are shorter only where the time left is. It is a power of two, so that a little more or less
        speed leads to the same turns, and runs of the same seed differ only in how far they get.
        A search from what others found has turns within its part of the time.
        """
        if self._rate is None:
            return FIRST_EFFORT
        if not self._task.limit.timed:
            return FRESH_EFFORT if afresh else self._effort
        if not self._settled:
            return self._effort
        left, speed = self._task.limit.left(), 1.0 / max(self._rate, 1e-12)
        if self._usual is None or self._source is not None:
            best = self._task.record.best
            follows = self._source is not None and (best is None or best.by != self.name)
            part = FOLLOWING if follows else USUAL_PART
            self._usual = _power_of_two(min(LONGEST, max(part * left, SHORTEST)) * speed)
        return min(self._usual, _power_of_two(max(LARGEST_PART * left, SHORTEST) * speed))


def _power_of_two(value: float) -> float:
    """The largest one that is not above a value."""
    return 2.0 ** math.floor(math.log2(value))


class GrowingSolver:
    """The problem's solver with more and more effort, where it has no local search of its own."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._effort = 1 / 4096
        self.name = "solver"
        self.used = 0.0

    def ready(self) -> bool:
        """Always."""
        return True

    def turn(self) -> bool:
        """One call of the solver."""
        limit, record = self._task.limit, self._task.record
        began = limit.elapsed()
        try:
            known = self._task.cls.solve(self._task.instance, self._task.seed, self._effort).solver
        except (MissingExtra, UsageError, InstanceError) as error:
            record.failure = error
            return False
        if known is None:
            return False
        if known.status != "best-known":
            record.bound = known.value
        if known.solution is not None:
            record.offer(Found(known.value, known.solution, self.name))
        took = limit.elapsed() - began
        fitting = 0.7 * limit.left() / max(took, 1e-9) if limit.timed else 16.0
        if self._effort >= 1.0 or fitting < 2.0 or known.status == "optimal":
            return False
        self._effort = min(1.0, self._effort * min(fitting, 16.0))
        return True


class Bounding:
    """What no solution can beat, found once, within a part of the time."""

    #: of the time that is left when it begins
    PART = 0.2
    #: part of the time that the leading member has before it
    AFTER = 0.5

    def __init__(self, task: Task) -> None:
        self._task = task
        self.name = "bound"
        self.used = 0.0
        if task.limit.timed:  # others come first
            self.used = self.AFTER * FOLLOWING / LEADING * task.limit.left()

    def ready(self) -> bool:
        """Always."""
        return True

    def turn(self) -> bool:
        """Find the bound; there is no second turn."""
        self.used = 0.0
        seconds = self.PART * self._task.limit.left() if self._task.limit.timed else None
        bound = self._task.cls.bound(self._task.instance, seconds)
        if bound is not None:
            self._task.record.bound = bound
        return False
