"""Test-time search of a policy: episodes side by side, from starts or parts of the best; beams."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError
from lagco.policies import POLICIES, plain_policy
from lagco.results.measures import improvement
from lagco.rollout import Episode, Planned, SideBySide
from lagco.solving.beam import Beam
from lagco.solving.players import Player
from lagco.solving.portfolio import FOLLOWING, Found, Task

#: episodes that run side by side at most
TEAM = 16
#: so many rounds of them should fit into the time, since the last one is cut off
_ROUNDS = 5
#: from and to which share of the decisions is made again; None for an episode from a start
_WAYS: dict[str, tuple[float, float] | None] = {
    "sample": None,
    "small": (0.02, 0.15),
    "large": (0.15, 0.5),
}
#: successes that every way of beginning an episode is thought to have had before the first
_PRIOR = 1.0
#: part of the episodes that every way has, whatever came of it so far
_LEAST = 0.05
#: solutions that are kept for others to continue from
_KEPT = 8
#: an episode that is not over when the time is goes on by previews, where actions are no more
_PREVIEWED = 20_000
#: part of the time in which an agent that improves a state alone decides, if its episode is longer
_PACE = 0.5
#: steps of greedy without a better state after which it gives up
_STUCK = 10
#: steps after which it is known whether an episode fits into the time
_TRIAL = 3


class Episodes:
    """Episodes of an agent or a policy, as a member of a portfolio.

    First one episode in which the policy takes its mode. Then ``sample``: the mode from every
    start, and samples without end. ``beam``: a beam of the likeliest episodes from every start,
    then beams that are samples. ``reconstruct``: the mode from a few starts, then a part of the
    best solution is decided again and again. ``auto``: the mode from a few starts, then whatever of
    samples and of small and large parts of the best has led to better solutions per decision.

    Args:
        task: what is solved.
        load: gives the player, when the first turn comes.
        start: of the episodes.
        search: ``sample``, ``beam``, ``reconstruct`` or ``auto``.
        alone: whether nobody else looks for solutions: then the first one is finished after the
            time, in the cheapest way that the problem knows.
        optional: whether others go on where the player cannot be loaded.
        begins: whether it is time to begin; always without.
        name: of the member, until the player is loaded.

    Attributes:
        alone: whether nobody else looks for solutions.
        finished: episodes that ended.
    """

    def __init__(
        self,
        task: Task,
        load: Callable[[], Player],
        *,
        start: Any = "current",
        search: str = "auto",
        alone: bool = False,
        optional: bool = False,
        begins: Callable[[], bool] = lambda: True,
        name: str = "agent",
    ) -> None:
        self._task = task
        self._load = load
        self._begin_at = start
        self._search = search
        self.alone = alone
        self._optional = optional
        self._begins = begins
        self._turns: Iterator[None] | None = None
        self._best: Found | None = None
        self._fresh: deque[Found] = deque(maxlen=_KEPT)
        self._rng = np.random.default_rng([task.seed, 5])
        self._ways = _Ways(task.cls.maximise)
        self.name = name
        self._pace = 0.0  # seconds of the last step
        self.finished = 0
        self.used = 0.0

    def ready(self) -> bool:
        """Whether it has begun, or it is time to; not where the next step would come too late."""
        if self._turns is None:
            return self._begins()
        limit = self._task.limit
        held = limit.timed and self._task.record.best is not None
        return not held or self._pace <= max(0.0, limit.left())

    def leads(self) -> bool:
        """Only where it holds the best."""
        return False

    def turn(self) -> bool:
        """One step of every episode under way; the first turn loads the player."""
        if self._turns is None:
            self._turns = self._steps()
        return next(self._turns, self) is not self

    def brings(self) -> bool:
        """Whether there are solutions that were not taken yet."""
        return bool(self._fresh)

    def take(self) -> Found | None:
        """The best of the solutions that were not taken yet."""
        if not self._fresh:
            return None
        sign = 1.0 if self._task.cls.maximise else -1.0
        found = max(self._fresh, key=lambda f: sign * f.objective)
        self._fresh.remove(found)
        return found

    def _steps(self) -> Iterator[None]:
        try:
            player = self._load()
        except LagcoError as error:
            if not self._optional:
                raise
            self._task.record.failure = error
            return
        self.name = player.name
        yield
        began = self._task.limit.elapsed()
        first = self._env(player)
        improves = first.is_feasible()  # else it is built up: only complete states count
        first.rewards = improves
        starts = self._starts(first)
        envs = [first]
        team = player.make_team(envs)
        rates = getattr(team, "rates", False)
        if self._search == "beam" and not rates:
            raise UsageError(
                f"search='beam': {player.name} does not say how likely actions are; use another "
                "search, or an agent of the method soft-projection or taught-projection"
            )
        limit = self._task.limit
        self._pace = limit.elapsed() - began  # a first step looks at as much
        yield
        began = limit.elapsed()
        mode = SideBySide(envs, team, [Planned(self._task.seed, starts[0], explore=False)])
        steps, loaded = 0, began
        while mode.begin():
            if limit.expired() and not improves:
                self._finish(mode.running[0])
                return
            self._step(mode)
            steps += 1
            if steps == _TRIAL and not (improves or self.alone or self._fits(first, began)):
                return
            if steps == 1:
                loaded = limit.elapsed()  # what the first step needs is in memory
            if improves and self._lags(mode, began, loaded, steps):
                yield from self._go_on_greedily(mode.running[0])
                break
            yield
        side_by_side = self._side_by_side(limit.elapsed() - began)
        if side_by_side > 1:
            envs += [self._env(player, improves) for _ in range(side_by_side - 1)]
            team = player.make_team(envs)
        for searched in self._searches(envs, team, starts):
            while searched.begin():
                self._step(searched)
                yield

    def _searches(
        self, envs: list[Problem], team: Any, starts: list[Any]
    ) -> Iterator[SideBySide | Beam]:
        """Searches after the first mode, in order; the last one is without end."""
        seed, count = self._task.seed, len(starts)
        if self._search == "beam":
            for number in itertools.count():
                planned = Planned(seed + number, starts[number % count], explore=number >= count)
                yield Beam(envs, team, planned, self._rng)
        modes = count if self._search == "sample" else min(count, TEAM)
        yield SideBySide(
            envs, team, [Planned(seed + i, starts[i], explore=False) for i in range(1, modes)]
        )
        yield SideBySide(envs, team, self._samples(envs[0], starts))

    def _samples(self, env: Problem, starts: list[Any]) -> Iterator[Planned]:
        """Samples and parts of the best without end."""
        ways = {
            "sample": ["sample"],
            "reconstruct": [way for way, shares in _WAYS.items() if shares is not None],
        }.get(self._search, list(_WAYS))
        for number in itertools.count(len(starts)):
            seed, start = self._task.seed + number, starts[number % len(starts)]
            way = self._ways.choose(ways)
            shares = _WAYS[way]
            if shares is not None and self._best is not None:
                part = env.reopened(self._best.solution, self._rng.uniform(*shares), self._rng)
                start = start if part is None else part
            self._ways.begin(seed, way, self._best)
            yield Planned(seed, start)

    def _starts(self, env: Problem) -> list[Any]:
        """Starts in a random order."""
        starts = env.starts()
        order = np.random.default_rng([self._task.seed, 3]).permutation(len(starts))
        return [starts[i] for i in order] or [self._begin_at]

    def _env(self, player: Player, rewards: bool = True) -> Problem:
        env = self._task.cls(
            self._task.instance, features=player.features, start=self._begin_at, rewards=rewards
        )
        env.reset(seed=self._task.seed)
        return env

    def _step(self, episodes: SideBySide | Beam) -> None:
        limit = self._task.limit
        began = limit.elapsed()
        ended = episodes.step()
        self._pace = limit.elapsed() - began
        self.finished += len(ended)
        for episode in [*ended, *episodes.running.values()]:
            self._note(episode, episode in ended)

    def _note(self, episode: Episode, ended: bool) -> None:
        env = cast("Problem", episode.env)
        value, solution = env.best_objective, env.best_solution
        if value is None or solution is None:
            return
        gain = 1.0
        if self._best is not None:
            gain = improvement(value, self._best.objective, maximise=env.maximise)
        if not (gain > 0 or ended):
            return
        found = Found(value, solution, self.name, episode.trace(best=True))
        if ended:
            self._fresh.append(found)
            self._ways.end(episode, value)
        if gain >= 0:  # parts of one that is level are parts of another solution
            self._best = found
        if gain > 0:
            self._task.record.offer(found)

    def _finish(self, episode: Episode) -> None:
        """Complete what was decided so far in the cheapest way, since the time is over.

        That is the problem's own, else by steps of `greedy`, where actions are many of `random`.
        """
        task, env = self._task, cast("Problem", episode.env)
        previews = isinstance(env, Previews) and env.num_actions <= _PREVIEWED
        policy = "greedy" if previews or env.defines("completed") else "random"
        if self.name != policy:
            self.name += f", finished by {policy}"
        solution = env.completed()
        if solution is not None:
            value = task.cls.evaluate_solution(task.instance, solution)
            task.record.offer(Found(value, solution, self.name))
            return
        plain = task.cls(task.instance, features="paper", start=self._begin_at, rewards=env.rewards)
        whole = episode.trace().replay(plain).run(plain_policy(policy))
        self.finished += 1
        self._note(whole, ended=True)

    def _lags(self, mode: SideBySide, began: float, loaded: float, steps: int) -> bool:
        """Whether the first episode has had its part of the time and cannot end in what is left.

        That is only asked of somebody who improves a state alone, and where actions are previewed.
        """
        limit = self._task.limit
        if steps < 2 or not (limit.timed and self.alone and mode.running):
            return False
        env, now = cast("Problem", mode.running[0].env), limit.elapsed()
        if now - began < _PACE * (now - began + limit.left()):
            return False
        pace = (now - loaded) / (steps - 1)
        slow = pace * (env.episode_length - steps) > limit.left()
        return slow and isinstance(env, Previews) and self.name not in POLICIES

    def _go_on_greedily(self, episode: Episode) -> Iterator[None]:
        """Steps of `greedy` from the best state of an episode, as long as they lead to better."""
        task = self._task
        self.name += ", with steps of greedy"
        plain = task.cls(task.instance, features="paper", start=self._begin_at)
        whole = episode.trace(best=True).replay(plain)
        began = task.limit.elapsed()
        for _ in whole.states(plain_policy("greedy")):
            self._pace = task.limit.elapsed() - began
            self._note(whole, ended=False)
            if len(whole.actions) - whole.best_length >= _STUCK:
                return
            yield
            began = task.limit.elapsed()
        self.finished += 1
        self._note(whole, ended=True)

    def _fits(self, env: Problem, began: float) -> bool:
        """Whether an episode can end within this member's part of the time."""
        limit = self._task.limit
        if not limit.timed:
            return True
        took = (limit.elapsed() - began) / _TRIAL * env.episode_length
        return took < FOLLOWING * limit.left()

    def _side_by_side(self, took: float) -> int:
        limit = self._task.limit
        if not limit.timed:
            return TEAM // 4
        return int(min(TEAM, limit.left() / max(took, 1e-9) / _ROUNDS))


class _Ways:
    """Successes and costs of the ways of beginning an episode."""

    def __init__(self, maximise: bool) -> None:
        self._maximise = maximise
        self._begun: dict[int, tuple[str, Found | None, float]] = {}
        self._won = dict.fromkeys(_WAYS, 0)
        self._ended = dict.fromkeys(_WAYS, 0)
        self._cost = dict.fromkeys(_WAYS, 0.0)  # decisions; of episodes under way, the usual number

    def choose(self, ways: list[str]) -> str:
        """One of the ways: each has decisions in proportion to its successes per decision."""
        usual = max(1.0, *self._cost.values())
        rates = {way: (self._won[way] + _PRIOR) / (self._cost[way] + usual) for way in ways}
        total = sum(rates.values())
        least = _LEAST / (1.0 - _LEAST * len(ways))
        return min(ways, key=lambda way: self._cost[way] / (rates[way] / total + least))

    def begin(self, seed: int, way: str, best: Found | None) -> None:
        """Note an episode that begins, and the best solution at that time."""
        usual = max(1.0, self._cost[way] / max(1, self._ended[way]))
        self._begun[seed] = way, best, usual
        self._cost[way] += usual

    def end(self, episode: Episode, value: float) -> None:
        """Note what came of an episode."""
        if episode.seed not in self._begun:
            return
        way, best, usual = self._begun.pop(episode.seed)
        self._ended[way] += 1
        self._cost[way] += len(episode.actions) - usual
        if best is None or improvement(value, best.objective, maximise=self._maximise) > 0:
            self._won[way] += 1
