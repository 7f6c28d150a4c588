"""Requests to solve an instance, and the members of a portfolio that serve them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from lagco.core.changes import is_limited
from lagco.core.scenarios import has_scenarios
from lagco.policies import POLICIES
from lagco.solving.episodes import Episodes
from lagco.solving.members import Bounding, FollowingSearch, GrowingSolver, LocalSearch, RulesSearch
from lagco.solving.options import SolveOptions
from lagco.solving.players import Player, load_player
from lagco.solving.portfolio import Member, Task

#: an agent that nobody asked for joins a portfolio if so many seconds are left for searching, where
#: what it needs is in memory and where it is not
_WORTH, _WORTH_LOADING = 1.0, 4.0


@dataclass(frozen=True)
class Request:
    """Request to solve an instance: who searches, by the options."""

    options: SolveOptions = field(default_factory=SolveOptions)

    def members(self, task: Task, worker: int = 0, workers: int = 1) -> list[Member]:
        """Members that search in one of several processes.

        With several, the first one of a portfolio is for the problem's own search and the bound,
        the others have the whole portfolio with seeds of their own.
        """
        task = task.seeded(_STRIDE * worker)
        members = self.searches(task)
        if worker or workers == 1 or self.options.by != "portfolio" or not members:
            members += self._players(task, members)
        if worker:
            return members
        if self.options.by in ("portfolio", "solver"):
            return members + self._bounding(task)
        if not task.cls.defines("bound"):
            return members
        # an agent is slow to begin, and may stop where its first episode meets the bound
        return [Bounding(task, first=True), *members]

    def _bounding(self, task: Task) -> list[Member]:
        """The bound; in a portfolio also local search from what it is rounded to."""
        hooks = ("relaxed", "improve")
        rounds = all(task.cls.defines(hook) for hook in hooks)
        if self.options.by != "portfolio" or not rounds or _is_restricted(task):
            return [Bounding(task)] if task.cls.defines("bound") else []
        name = "relaxation + local search"
        bounding = Bounding(task, name)
        return [FollowingSearch(task.seeded(2), name, bounding, leading=True), bounding]

    def episodes(self, task: Task, *, alone: bool, after: Sequence[Member] = ()) -> Episodes:
        """The member that plays episodes.

        Args:
            task: what is solved.
            alone: whether nobody else looks for solutions.
            after: leaves the time to these as long as they find something better.
        """
        searches = [member for member in after if isinstance(member, LocalSearch | RulesSearch)]
        waits = task.limit.timed
        load = partial(self._load, task)
        if self.options.names_agent and not alone:  # what is wrong with it is said at once
            player = load()
            load = partial(lambda: player)
        return Episodes(
            task,
            load,
            start=self.options.start,
            search=self.options.search,
            alone=alone,
            optional=not alone and not self.options.names_agent,
            begins=lambda: not waits or all(search.stagnates() for search in searches),
            name=self.options.by if self.options.by in POLICIES else "agent",
        )

    def _load(self, task: Task) -> Player:
        return load_player(task.cls, self.options, task.instance)

    def searches(self, task: Task) -> list[Member]:
        """The problem's own search, or where it has none, search by its rules."""
        if self.options.by not in ("portfolio", "solver"):
            return []
        if _is_restricted(task) and not task.cls.improves_within_limits:
            return [RulesSearch(task)]
        if task.cls.defines("improve"):
            return [LocalSearch(task)]
        if task.cls.defines("solve"):
            return [GrowingSolver(task)]
        return [RulesSearch(task)]

    def _players(self, task: Task, solvers: Sequence[Member]) -> list[Member]:
        """Episodes, and local search from them; none where there is not the time for it."""
        if self.options.by == "solver":
            return []
        improves = task.cls.defines("improve") and (
            task.cls.improves_within_limits or not _is_restricted(task)
        )
        alone = self.options.by != "portfolio"
        worth = _WORTH if "lagco.agents.agent" in sys.modules else _WORTH_LOADING
        if not alone and not self.options.names_agent and task.limit.left() < worth:
            return []
        episodes = self.episodes(task, alone=alone, after=solvers)
        if self.options.improve and not task.cls.defines("improve"):
            task.cls.improve(task.instance, None, task.seed)  # says that there is none
        by_default = self.options.by == "portfolio"
        wanted = by_default if self.options.improve is None else self.options.improve
        if not improves or not wanted:
            return [episodes]
        name = f"{episodes.name} + local search"
        return [episodes, FollowingSearch(task.seeded(1), name, episodes)]


def _is_restricted(task: Task) -> bool:
    """Whether there is more to obey than the problem's rules on one instance."""
    return is_limited(task.cls, task.instance) or has_scenarios(task.instance)


#: between the seeds of workers
_STRIDE = 7919
