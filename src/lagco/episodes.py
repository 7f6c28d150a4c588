"""Test-time search of a policy: episodes side by side, from starts or from parts of the best."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from lagco.core.problem import Problem
from lagco.errors import LagcoError
from lagco.instances import Instance
from lagco.portfolio import FOLLOWING, Found, Limit, Record
from lagco.results.measures import improvement
from lagco.rollout import Episode, Planned, SideBySide

SEARCHES = ("auto", "sample", "reconstruct")
#: episodes that run side by side at most
TEAM = 16
#: so many rounds of them should fit into the time, since the last one is cut off
_ROUNDS = 5
#: share of the decisions that are made again
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.5
#: solutions that are kept for others to go on from
_KEPT = 8
#: steps after which it is known whether an episode fits into the time
_TRIAL = 3


class Player(NamedTuple):
    """What plays the episodes.

    Attributes:
        name: who that is.
        make_team: a team in so many environments.
        features: of the environments.
    """

    name: str
    make_team: Callable[[list[Problem]], Any]
    features: str = "full"


class Episodes:
    """Episodes of an agent or a policy, as a member of a portfolio.

    First one episode per start in which the policy takes its mode. Then it samples (``sample``), or
    decides again on a part of its best solution (``reconstruct``), or both by turns (``auto``).

    Args:
        cls: class of the problem.
        instance: what is solved.
        record: where solutions are offered.
        limit: how many episodes run side by side depends on what is left.
        seed: of starts and samples.
        load: gives the player, when the first turn comes.
        start: of the episodes.
        search: ``sample``, ``reconstruct`` or ``auto``.
        alone: whether nobody else looks for solutions: then the first one is finished however long
            that takes.
        optional: whether others go on where the player cannot be loaded.
        name: of the member, until the player is loaded.

    Attributes:
        finished: episodes that ended.
    """

    def __init__(
        self,
        cls: type[Problem],
        instance: Instance,
        record: Record,
        limit: Limit,
        seed: int,
        load: Callable[[], Player],
        *,
        start: Any = "current",
        search: str = "auto",
        alone: bool = False,
        optional: bool = False,
        name: str = "agent",
    ) -> None:
        self._cls = cls
        self._instance = instance
        self._record = record
        self._limit = limit
        self._seed = seed
        self._load = load
        self._begin_at = start
        self._search = search
        self._alone = alone
        self._optional = optional
        self._turns: Iterator[None] | None = None
        self._best: Found | None = None
        self._fresh: deque[Found] = deque(maxlen=_KEPT)
        self._rng = np.random.default_rng([seed, 5])
        self.name = name
        self.finished = 0
        self.used = 0.0

    def turn(self) -> bool:
        """One step of every episode under way; the first turn loads the player."""
        if self._turns is None:
            self._turns = self._steps()
        return next(self._turns, self) is not self

    def take(self) -> Found | None:
        """The best of the solutions that were not taken yet."""
        if not self._fresh:
            return None
        sign = 1.0 if self._cls.maximise else -1.0
        found = max(self._fresh, key=lambda f: sign * f.objective)
        self._fresh.remove(found)
        return found

    def _steps(self) -> Iterator[None]:
        try:
            player = self._load()
        except LagcoError as error:
            if not self._optional:
                raise
            self._record.failure = error
            return
        self.name = player.name
        yield
        first = self._env(player)
        improves = first.is_feasible()  # else it is built up: only complete states count
        first.rewards = improves
        plan = self._plan(first)
        envs = [first]
        episodes = SideBySide(envs, player.make_team(envs), plan)
        yield
        began = self._limit.elapsed()
        steps = 0
        while episodes.begin():
            ended = self._step(episodes)
            steps += 1
            if steps == _TRIAL and not (improves or self._alone or self._fits(first, began)):
                return
            yield
            if ended:
                break
        side_by_side = self._side_by_side(self._limit.elapsed() - began)
        if side_by_side > 1:
            envs += [self._env(player, improves) for _ in range(side_by_side - 1)]
            episodes = SideBySide(envs, player.make_team(envs), plan)
        while episodes.begin():
            self._step(episodes)
            yield

    def _env(self, player: Player, rewards: bool = True) -> Problem:
        env = self._cls(
            self._instance, features=player.features, start=self._begin_at, rewards=rewards
        )
        env.reset(seed=self._seed)
        return env

    def _step(self, episodes: SideBySide) -> list[Episode]:
        ended = episodes.step()
        self.finished += len(ended)
        for episode in [*ended, *episodes.running.values()]:
            self._note(episode, episode in ended)
        return ended

    def _note(self, episode: Episode, ended: bool) -> None:
        env = cast("Problem", episode.env)
        value, solution = env.best_objective, env.best_solution
        if value is None or solution is None:
            return
        better = self._best is None or (
            improvement(value, self._best.objective, maximise=env.maximise) > 0
        )
        if not (better or ended):
            return
        found = Found(value, solution, self.name, episode.trace(best=True))
        if ended:
            self._fresh.append(found)
        if better:
            self._best = found
            self._record.offer(found)

    def _plan(self, env: Problem) -> Iterator[Planned]:
        """One mode per start, then samples and parts of the best without end."""
        starts = env.starts()
        order = np.random.default_rng([self._seed, 3]).permutation(len(starts))
        choices = [starts[i] for i in order] or [self._begin_at]
        modes = len(choices)
        if self._search != "sample":  # a few modes show what there is to reconstruct
            modes = min(modes, TEAM)
        for number in itertools.count():
            start, explore = choices[number % len(choices)], number >= modes
            if explore and (self._search == "reconstruct" or number % 4):
                part = self._part(env)
                start = start if part is None else part
            yield Planned(self._seed + number, start, explore=explore)

    def _part(self, env: Problem) -> Any:
        """A start from which a part of the best solution is decided again."""
        if self._search == "sample" or self._best is None:
            return None
        share = self._rng.uniform(_LEAST_SHARE, _MOST_SHARE)
        return env.reopened(self._best.solution, share, self._rng)

    def _fits(self, env: Problem, began: float) -> bool:
        """Whether an episode can end within this member's part of the time."""
        if not self._limit.timed:
            return True
        took = (self._limit.elapsed() - began) / _TRIAL * env.episode_length
        return took < FOLLOWING * self._limit.left()

    def _side_by_side(self, took: float) -> int:
        if not self._limit.timed:
            return TEAM // 4
        return int(min(TEAM, self._limit.left() / max(took, 1e-9) / _ROUNDS))
