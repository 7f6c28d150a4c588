"""Members of a portfolio that need no agent: local search, the solver, the bound."""

from __future__ import annotations

import math
from typing import Protocol

from lagco.errors import InstanceError, MissingExtra, UsageError
from lagco.heuristics import NAME, Search, rules_search
from lagco.rollout import Trace
from lagco.solving.portfolio import FOLLOWING, LEADING, Found, Task

#: part of the usual work that a first turn of local search makes
FIRST_EFFORT = 1 / 1024
#: and a turn at most, where turns are counted
LARGEST_EFFORT = 1 / 32
#: seconds that a turn of local search may take in any case, and at most
SHORTEST, LONGEST = 0.02, 2.0
#: part of the time that is left which a turn may take
LARGEST_PART = 0.9
#: likewise, where the lead is shared
_SHARED_PART = 0.1
#: how fast turns grow that begin from what others found, until they take their part of the time
_GROWTH = 4.0
#: turns without progress after which a search stagnates, or begins elsewhere
_PATIENCE = 4
#: part of the whole time that these have to take, where others would have the time instead, and
#: seconds at least
_IDLE_PART, _IDLE_SECONDS = 0.2, 1.0


#: a turn of search by the rules: moves where turns are counted, else seconds; and turns without
#: progress after which it stagnates
_RULES_MOVES, _RULES_SECONDS, _RULES_PATIENCE = 500, 0.1, 10
_ANY_MOVES = 1 << 60


class Source(Protocol):
    """Brings solutions for others to continue from."""

    def brings(self) -> bool:
        """Whether there is one that was not taken yet."""
        ...

    def take(self) -> Found | None:
        """One that was not taken yet; None where there is none."""
        ...


class LocalSearch:
    """The problem's local search from starts of its own.

    A turn that begins afresh is followed by turns of half the effort from the best so far: one, and
    twice as many as before where beginning afresh has led to nothing as good, as long as they find
    something better. Every time that the search begins afresh the effort is doubled. So the turns
    depend on what they lead to and not on the clock, and runs of the same seed differ only in how
    far they get. When what comes next would take too long, efforts no longer grow.

    Args:
        task: of a problem that defines ``improve``.
        name: of the member.
    """

    def __init__(self, task: Task, name: str = "solver") -> None:
        self._turns = _Turns(task, name)
        self._task = task
        self._effort = FIRST_EFFORT
        self._pause = 1  # turns from the best after one afresh
        self._until_afresh = 0
        self._grows = True
        self._idle = 0
        self._better_at = 0.0
        self.name = name
        self.used = 0.0

    def ready(self) -> bool:
        """Always."""
        return True

    def stagnates(self) -> bool:
        """Whether it gave up, or nothing better was found for a while."""
        limit = self._task.limit
        now = limit.elapsed()
        idle = max(_IDLE_SECONDS, _IDLE_PART * (now + limit.left()))
        waited = not limit.timed or now - self._better_at >= idle
        return (self._idle >= _PATIENCE and waited) or self._task.record.failure is not None

    def leads(self) -> bool:
        """As long as it finds better solutions it has most of the time, whoever holds the best."""
        return not self.stagnates()

    def turn(self) -> bool:
        """A stretch of local search."""
        present = self._turns.present
        afresh = present is None or self._begins_afresh()
        effort = self._effort if afresh else self._fitting(self._effort / 2.0)
        found = self._turns.take(None if afresh else present, effort)
        if found is None:
            return False
        better = self._turns.keep(found)
        if better:
            self._task.record.offer(found)
            self._better_at = self._task.limit.elapsed()
        self._idle = 0 if better else self._idle + 1
        if afresh:
            level = present is None or self._task.record.better(found.objective, present.objective)
            self._pause = 1 if level else 2 * self._pause
            self._until_afresh = self._pause
        else:
            self._until_afresh = 0 if self._idle >= 2 else self._until_afresh - 1
        return True

    def _begins_afresh(self) -> bool:
        """Whether it is time to, and there is time for it; sets the effort."""
        if self._until_afresh > 0:
            return False
        larger = 2.0 * self._effort
        if self._grows and self._fits(larger):
            self._effort = larger
            return True
        self._grows = False
        return self._fits(self._effort)

    def _fits(self, effort: float) -> bool:
        limit, rate = self._task.limit, self._turns.slowest
        if not limit.timed:
            return effort <= LARGEST_EFFORT
        return effort * rate <= min(LONGEST, LARGEST_PART * limit.left())

    def _fitting(self, effort: float) -> float:
        """An effort halved until it fits into the time, or takes no time to speak of."""
        shortest = SHORTEST / max(self._turns.slowest, 1e-12)
        while effort > shortest and not self._fits(effort):
            effort /= 2.0
        return effort


class RulesSearch:
    """Search by the rules alone, for a problem that has no search of its own.

    It goes on from better solutions of others.

    Args:
        task: of any problem.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._search: Search | None = None
        self._taken: Found | None = None
        self._idle = 0
        self.name = NAME
        self.used = 0.0

    def ready(self) -> bool:
        """Always."""
        return True

    def stagnates(self) -> bool:
        """Whether nothing better was found for a while."""
        return self._idle >= _RULES_PATIENCE

    def leads(self) -> bool:
        """As long as it finds better solutions."""
        return not self.stagnates()

    def turn(self) -> bool:
        """A stretch of search: so many moves, or a short time."""
        task = self._task
        if self._search is None:
            self._search = rules_search(task.cls, task.instance, task.seed)
        self._take()
        limit, began = task.limit, task.limit.elapsed()

        def stop() -> bool:
            return limit.timed and (limit.over() or limit.elapsed() - began > _RULES_SECONDS)

        best = self._search.run(_ANY_MOVES if limit.timed else _RULES_MOVES, stop)
        known = task.record.best
        if best is None or (
            known is not None and task.record.better(known.objective, best.objective)
        ):
            self._idle += 1
            return True
        trace = None if best.actions is None else Trace(task.seed, "current", best.actions)
        task.record.offer(Found(best.objective, best.solution, self.name, trace))
        self._idle = 0
        return True

    def _take(self) -> None:
        """Let the search go on from the best solution, where somebody else found it."""
        best = self._task.record.best
        if best is None or best.by == self.name or best is self._taken:
            return
        assert self._search is not None
        self._taken = best
        self._search.offer(best.solution, None if best.trace is None else best.trace.actions)


class FollowingSearch:
    """The problem's local search from what others found, within its part of the time.

    Args:
        task: of a problem that defines ``improve``.
        name: of the member.
        source: brings solutions to begin from.
        leading: whether it shares the lead where it holds the best and its last turn led to it.
    """

    def __init__(self, task: Task, name: str, source: Source, *, leading: bool = False) -> None:
        self._leading = leading
        self._turns = _Turns(task, name)
        self._task = task
        self._source = source
        self._effort = FIRST_EFFORT
        self._idle = 0
        self.name = name
        self.used = 0.0

    def ready(self) -> bool:
        """There is a solution to begin from."""
        return self._turns.present is not None or self._source.brings()

    def leads(self) -> bool:
        """Only where it holds the best, and not against the problem's search if it should not."""
        best = self._task.record.best
        holds = best is not None and best.by == self.name
        return self._leading and holds and self._idle == 0

    def turn(self) -> bool:
        """A stretch of local search from a solution, another one where it leads nowhere."""
        best = self._task.record.best
        beaten = best is not None and best.by != self.name
        if self._turns.present is None or (beaten and self._idle >= _PATIENCE):
            taken = self._source.take()
            if taken is not None:
                self._turns.present, self._idle, self._effort = taken, 0, FIRST_EFFORT
        found = self._turns.take(self._turns.present, self._effort)
        if found is None:
            return False
        self._idle = 0 if self._turns.keep(found) else self._idle + 1
        if not self._idle:
            self._task.record.offer(found)
        part = _SHARED_PART if self._leading else LARGEST_PART
        self._effort = self._next_effort(FOLLOWING if beaten else part)
        return True

    def _next_effort(self, part: float) -> float:
        limit = self._task.limit
        if not limit.timed:
            return min(LARGEST_EFFORT, self._effort * 2.0) if self._idle else self._effort
        seconds = min(LONGEST, max(part * limit.left(), SHORTEST))
        fitting = _power_of_two(seconds / max(self._turns.slowest, 1e-12))
        return min(fitting, self._effort * _GROWTH)


class _Turns:
    """Calls of a problem's local search, timed.

    Attributes:
        present: the best solution of these calls, or the solution to continue from.
        slowest: seconds that an effort of 1 takes, by the last call of each kind: afresh and not.
    """

    def __init__(self, task: Task, name: str) -> None:
        self._task = task
        self._name = name
        self._seed = task.seed
        self._rates: dict[bool, float] = {}
        self.present: Found | None = None

    @property
    def slowest(self) -> float:
        return max(self._rates.values(), default=0.0)

    def take(self, start: Found | None, effort: float) -> Found | None:
        """Solution that the search finds from a start, or from its own; None where it gives up."""
        task, first = self._task, self._seed == self._task.seed
        began = task.limit.elapsed()
        self._seed += 1
        try:
            solution = task.cls.improve(
                task.instance, None if start is None else start.solution, self._seed, effort
            )
        except InstanceError as error:  # too large for this search
            task.record.failure = error
            return None
        if not first:  # which loads code
            self._rates[start is None] = task.limit.cost(began) / effort
        return Found(task.cls.evaluate_solution(task.instance, solution), solution, self._name)

    def keep(self, found: Found) -> bool:
        """Go on from a solution if it is better; whether it is."""
        present = self.present
        if present is not None and self._task.record.better(present.objective, found.objective):
            return False
        self.present = found
        return True


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

    def leads(self) -> bool:
        """Only where it holds the best."""
        return False

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
    """Bound that no solution can beat, found once, within a part of the time.

    Args:
        task: what is solved.
        rounded_as: name under which the rounded solution of the relaxation is brought to others;
            None to ask for the bound alone.
        first: whether it comes before all others.
    """

    #: of the time that is left when it begins
    PART = 0.2
    #: part of the time that the leading member has before it, and before a rounded solution
    AFTER, BEFORE_ROUNDING = 0.5, 0.1

    def __init__(self, task: Task, rounded_as: str | None = None, *, first: bool = False) -> None:
        self._task = task
        self._rounded_as = rounded_as
        self._rounded: Found | None = None
        self.name = "bound"
        self.used = 0.0
        if task.limit.timed and not first:
            after = self.AFTER if rounded_as is None else self.BEFORE_ROUNDING
            self.used = after * FOLLOWING / LEADING * task.limit.left()

    def ready(self) -> bool:
        """Always."""
        return True

    def leads(self) -> bool:
        """Never."""
        return False

    def turn(self) -> bool:
        """Find the bound; there is no second turn."""
        task = self._task
        self.used = 0.0
        seconds = self.PART * task.limit.left() if task.limit.timed else None
        began, found, bound = task.limit.elapsed(), None, None
        if self._rounded_as is not None:
            found = task.cls.relaxed(task.instance, seconds)
        if found is None:
            took = task.limit.elapsed() - began
            if seconds is None or took < 0.5 * seconds:  # else it would be in vain again
                bound = task.cls.bound(task.instance, seconds)
        else:
            bound, solution = found
            value = task.cls.evaluate_solution(task.instance, solution)
            self._rounded = Found(value, solution, self._rounded_as or "")
            task.record.offer(self._rounded)
        if bound is not None:
            task.record.bound = bound
        return False

    def brings(self) -> bool:
        """Whether there is a rounded solution that was not taken yet."""
        return self._rounded is not None

    def take(self) -> Found | None:
        """The rounded solution, once."""
        found, self._rounded = self._rounded, None
        return found
