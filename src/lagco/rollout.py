"""Episodes: of a policy in one environment, one after another, and several side by side.

An episode has two independent random streams, which both follow from its seed: the environment's
own, and that of the policy. It is taken step by step, so whoever runs it may look at every state,
stop when the time is over, or ask somebody else for the right action on the way::

    for episode in Episode(env, seed=42).states(policy):
        demonstrations.append((observe(env), teacher.act(env, episode.rng)))
        if time.perf_counter() > deadline:
            break
    episode.trace().replay(env)  # leads to the same state
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.policies import Policy

#: sets the policy's stream apart from the environment's, which is seeded by the seed alone
_POLICY_STREAM = 4


def policy_stream(seed: int) -> np.random.Generator:
    """Random stream of the policy in the episode of that seed."""
    return np.random.default_rng([seed, _POLICY_STREAM])


@dataclass(frozen=True)
class Trace:
    """Seed, start and actions by which a state can be reached again.

    Attributes:
        seed: of the environment.
        start: of the episode, None for the environment's own.
        actions: raw actions up to the state.
    """

    seed: int
    start: Any
    actions: tuple[Any, ...]

    def replay(self, env: ContinuousEnv) -> Episode:
        """Take the same actions in an environment of the same instance."""
        episode = Episode(env, self.seed, start=self.start)
        for action in self.actions:
            episode.step(action)
        return episode


class Episode:
    """An episode under way; making one resets the environment.

    Args:
        env: the environment.
        seed: of the environment, and of the policy's stream.
        instance: to decide on; by default the one that the environment has.
        start: of the episode; by default the environment's own.
        explore: whether the policy samples, or takes its mode.
        rng: stream of the policy where it is not to follow from the seed.

    Attributes:
        actions: raw actions taken so far.
        info: what the environment said last.
        ended: whether it is over.
        total_reward: sum of the rewards so far.
        best_length: number of actions that led to the best state so far.
    """

    def __init__(
        self,
        env: ContinuousEnv,
        seed: int,
        *,
        instance: Instance | None = None,
        start: Any = None,
        explore: bool = True,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.env = env
        self.seed = seed
        self.start = start
        self.explore = explore
        self.rng = policy_stream(seed) if rng is None else rng
        options: dict[str, Any] = {}
        if instance is not None and instance is not getattr(env, "instance", None):
            options["instance"] = instance
        if start is not None:
            options["start"] = start
        self.info: dict[str, Any] = env.reset(seed=seed, options=options or None)[1]
        self.actions: list[Any] = []
        self.ended = False
        self.total_reward = 0.0
        self.best_length = 0
        self._best = getattr(env, "best_objective", None)

    def step(self, action: Any) -> None:
        """Take a raw action; None, where nothing is valid, ends the episode."""
        if action is None and not isinstance(self.env, Problem):
            self.ended = True
            return
        _, reward, terminated, truncated, self.info = self.env.step(action)
        self.total_reward += float(reward)
        self.actions.append(action)
        self.ended = terminated or truncated
        best = getattr(self.env, "best_objective", None)
        if best != self._best:
            self._best, self.best_length = best, len(self.actions)

    def states(self, policy: Policy) -> Iterator[Episode]:
        """The episode itself in every state in which there is something to decide.

        After each, the policy takes its step; when there are no more, the episode is in its final
        state.
        """
        while not self.ended:
            yield self
            self.step(policy.act(self.env, self.rng, self.explore))

    def run(self, policy: Policy, steps: int | None = None) -> Episode:
        """Go on to the end, or until so many actions were taken in all; the episode itself."""
        for _ in self.states(policy):
            if len(self.actions) == steps:
                break
        return self

    def trace(self, *, best: bool = False) -> Trace:
        """Trace of the present state, or of the best one so far."""
        actions = self.actions[: self.best_length] if best else self.actions
        return Trace(self.seed, self.start, tuple(actions))


def walk(env: ContinuousEnv, policy: Policy, rng: np.random.Generator) -> Iterator[Episode]:
    """States along episodes without end; each episode begins where the last one is over.

    Args:
        env: the environment.
        policy: takes the steps.
        rng: stream of the policy; the seeds of the episodes are drawn from it, too.
    """
    while True:
        yield from Episode(env, int(rng.integers(2**31)), rng=rng).states(policy)


def snapshots(
    env: ContinuousEnv, policy: Policy, count: int, *, seed: int = 42, best: bool = False
) -> Iterator[Episode]:
    """An episode in about `count` of its states, evenly spread from the first to the last.

    The policy takes its mode, and is asked before the first state is given. With `best` the last
    state is the best one, not that in which the episode ends.
    """
    played = Episode(env, seed, explore=False).run(policy)
    actions = played.trace(best=best and played.best_length > 0).actions
    shown = set(np.linspace(0, len(actions), count).round().astype(int).tolist())
    episode = Episode(env, seed)
    for number, action in enumerate(actions):
        if number in shown:
            yield episode
        episode.step(action)
    yield episode


# -- side by side


class Team(Protocol):
    """Decides in several environments at a time, its members."""

    def act(
        self, members: Sequence[int], rngs: Sequence[np.random.Generator], explore: Sequence[bool]
    ) -> list[Any]:
        """Raw actions for the present states of some members' environments."""
        ...


class PolicyTeam:
    """A policy that decides in one environment after the other."""

    def __init__(self, policy: Policy, envs: Sequence[ContinuousEnv]) -> None:
        self._policy = policy
        self._envs = envs

    def act(
        self, members: Sequence[int], rngs: Sequence[np.random.Generator], explore: Sequence[bool]
    ) -> list[Any]:
        """See :class:`Team`."""
        return [
            self._policy.act(self._envs[member], rng, trying)
            for member, rng, trying in zip(members, rngs, explore, strict=True)
        ]


@dataclass(frozen=True)
class Planned:
    """An episode that is still to begin; see :class:`Episode`."""

    seed: int
    start: Any = None
    explore: bool = True


class SideBySide:
    """Episodes in several environments, one step of all at a time.

    Iterating gives the episodes in the order in which they end, until all that were planned have.

    Args:
        envs: one per member of the team.
        team: decides.
        plan: the episodes, which idle environments take one after another; may be without end.

    Attributes:
        running: episodes under way, by member.
    """

    def __init__(self, envs: Sequence[ContinuousEnv], team: Team, plan: Iterable[Planned]) -> None:
        self._envs = envs
        self._team = team
        self._plan = iter(plan)
        self._idle = list(range(len(envs)))
        self.running: dict[int, Episode] = {}

    def begin(self) -> bool:
        """Let idle environments take planned episodes; whether any episode is under way."""
        for member, planned in zip(self._idle, self._plan, strict=False):
            self.running[member] = Episode(
                self._envs[member], planned.seed, start=planned.start, explore=planned.explore
            )
        self._idle = [member for member in self._idle if member not in self.running]
        return bool(self.running)

    def step(self) -> list[Episode]:
        """One step of every episode under way; those that ended with it."""
        members = list(self.running)
        episodes = list(self.running.values())
        rngs = [episode.rng for episode in episodes]
        actions = self._team.act(members, rngs, [episode.explore for episode in episodes])
        for episode, action in zip(episodes, actions, strict=True):
            episode.step(action)
        ended = [member for member in members if self.running[member].ended]
        self._idle = sorted([*self._idle, *ended])
        return [self.running.pop(member) for member in ended]

    def __iter__(self) -> Iterator[Episode]:
        while self.begin():
            yield from self.step()
