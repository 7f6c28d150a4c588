"""Requests to solve an instance, and the members of a portfolio that serve them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lagco.errors import UsageError, suggest
from lagco.policies import POLICIES
from lagco.solving.episodes import SEARCHES, Episodes
from lagco.solving.members import Bounding, FollowingSearch, GrowingSolver, LocalSearch
from lagco.solving.players import Player, load_player
from lagco.solving.portfolio import Member, Task

BY = ("portfolio", "agent", "solver", *POLICIES)
#: an agent that nobody asked for joins a portfolio if so many seconds are left for searching, where
#: what it needs is in memory and where it is not
_WORTH, _WORTH_LOADING = 1.0, 4.0


@dataclass(frozen=True)
class Request:
    """Request to solve an instance: the searchers, and their options; see :func:`lagco.solve`."""

    by: str = "portfolio"
    agent: Any = None
    decoder: str | None = None
    k: int = 10
    search: str = "auto"
    start: Any = "current"
    improve: bool | None = None

    def __post_init__(self) -> None:
        for kind, value, known in (("by", self.by, BY), ("search", self.search, SEARCHES)):
            if value not in known:
                raise UsageError(suggest(f"value of {kind}", value, known))
        if self.by == "solver" and self.decoder is not None:
            raise UsageError(f"decoder={self.decoder!r}: the solver does not decode points")

    def members(self, task: Task, worker: int = 0, workers: int = 1) -> list[Member]:
        """Members that search in one of several processes.

        With several, the first one of a portfolio is for the problem's own search and the bound,
        the others have the whole portfolio with seeds of their own.
        """
        task = task.seeded(_STRIDE * worker)
        members = self._solvers(task)
        if worker or workers == 1 or self.by != "portfolio" or not members:
            members += self._players(task, members)
        if worker == 0:
            members += self._bounding(task)
        return members

    def _bounding(self, task: Task) -> list[Member]:
        """The bound; in a portfolio also local search from what it is rounded to."""
        hooks = ("relaxed", "improve")
        if self.by != "portfolio" or not all(task.cls.defines(hook) for hook in hooks):
            return [Bounding(task)]
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
        searches = [member for member in after if isinstance(member, LocalSearch)]
        waits = task.limit.timed
        load = partial(self._load, task)
        if self.agent is not None and not alone:  # what is wrong with it is said at once
            player = load()
            load = partial(lambda: player)
        return Episodes(
            task,
            load,
            start=self.start,
            search=self.search,
            alone=alone,
            optional=not alone and self.agent is None,
            begins=lambda: not waits or all(search.stagnates() for search in searches),
            name=self.by if self.by in POLICIES else "agent",
        )

    def _load(self, task: Task) -> Player:
        return load_player(task.cls, self.by, self.agent, self.decoder, self.k, task.instance)

    def _solvers(self, task: Task) -> list[Member]:
        """The problem's own search; none where it has none and somebody else looks."""
        if self.by not in ("portfolio", "solver"):
            return []
        if task.cls.defines("improve"):
            return [LocalSearch(task)]
        if task.cls.defines("solve"):
            return [GrowingSolver(task)]
        if self.by == "solver":
            raise UsageError(
                f"{task.cls.__name__} has neither improve() nor solve(); use by='agent'"
            )
        return []

    def _players(self, task: Task, solvers: Sequence[Member]) -> list[Member]:
        """Episodes, and local search from them; none where there is not the time for it."""
        if self.by == "solver":
            return []
        improves = task.cls.defines("improve")
        # without a search of the problem's own nobody else brings a solution
        alone = self.by != "portfolio" or not (improves or task.cls.defines("solve"))
        worth = _WORTH if "lagco.agents.agent" in sys.modules else _WORTH_LOADING
        if not alone and self.agent is None and task.limit.left() < worth:
            return []
        episodes = self.episodes(task, alone=alone, after=solvers)
        if self.improve and not improves:
            task.cls.improve(task.instance, None, task.seed)  # says that there is none
        if not improves or not (self.by == "portfolio" if self.improve is None else self.improve):
            return [episodes]
        name = f"{episodes.name} + local search"
        return [episodes, FollowingSearch(task.seeded(1), name, episodes)]


#: between the seeds of workers
_STRIDE = 7919
