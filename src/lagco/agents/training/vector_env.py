"""Vector environment of Stable-Baselines3: many problems stepped together."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from lagco.agents.training.reward_range import RewardRange
from lagco.agents.training.rotation import InstanceDeck, LoadedProblems
from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, SpecError, UsageError
from lagco.instances import Instance

_RECENT = 100
_TRIES = 1000


def _culprit(views: Mapping[str, GraphView]) -> str:
    """Describe the attribute that makes an observation infinite or NaN."""
    for view, graph in views.items():
        for kind, columns in (("node", graph.nodes), ("edge", graph.edge_attributes)):
            for name, column in columns.items():
                if not isinstance(column, np.ndarray) or column.dtype.kind != "f":
                    continue
                rows = np.flatnonzero(~np.isfinite(column).reshape(len(column), -1).all(axis=1))
                if rows.size:
                    return (
                        f"{kind} attribute {name!r} of the view {view!r} is {column[rows[0]]} in "
                        f"row {rows[0]}; keep every value finite in every state"
                    )
    return (
        "the observation holds NaN or infinity, though the attributes are finite; look at the "
        "functions, poolings and extractors of _observation_type, with lagco check"
    )


def _advance(problem: Problem, raw: Any) -> tuple[float, bool, bool, dict[str, Any]]:
    return problem.advance(raw)


def _step(problem: Problem, raw: Any) -> tuple[float, bool, bool, dict[str, Any]]:
    """As :func:`_advance`, for a problem that overrides `step`."""
    _, *rest = problem.step(raw)
    return tuple(rest)  # type: ignore[return-value]


class ProblemVecEnv(VecEnv):
    """N problems, each on its own instance and reset when its episode ends.

    Subclasses define observations and how an agent's action becomes a raw action.

    Args:
        problem: the problem class.
        instances: training instances.
        envs: number of problems N.
        seed: seed of instance order, episodes and decoding.
        features: feature set.
        rotate_every: see :class:`InstanceDeck`.
        stop_at_best: end episodes at the sweeps' best value.
        scale_rewards: multiply rewards by the problem's `reward_factor`, the episode length.
        shaped_rewards: rewards are ``info["shaped_reward"]``.
        normalised_rewards: map rewards to 0 … 1 by :class:`RewardRange`.

    Attributes:
        recent: records of the last 100 finished episodes.
        episodes_done: number of finished episodes.
    """

    #: methods that write observations, each called for all problems before the next one, so that
    #: its instructions stay in the processor's cache
    _parts: ClassVar[tuple[str, ...]] = ("_observe",)

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        *,
        envs: int = 8,
        seed: int = 42,
        features: str = "full",
        rotate_every: int = 0,
        stop_at_best: bool = True,
        scale_rewards: bool = False,
        shaped_rewards: bool = False,
        normalised_rewards: bool = False,
    ) -> None:
        if not len(instances):
            raise UsageError("there is no training instance")
        if envs < 1:
            raise UsageError(f"envs={envs}: run at least one environment")
        self.instances = list(instances)
        self._deck = InstanceDeck(len(instances), rotate_every, np.random.default_rng([seed, 0]))
        self._rngs = [np.random.default_rng([seed, 1, i]) for i in range(envs)]
        self._make = partial(problem, features=features, stop_at_best=stop_at_best)
        self._numbers = [i % len(instances) for i in range(envs)]  # of their instances
        self.problems = [self._make(self.instances[number]) for number in self._numbers]
        self._cache = LoadedProblems()
        self._step = _advance if problem.step is Problem.step else _step
        self._episodes: list[dict[str, Any]] = [{} for _ in range(envs)]
        self._scale_rewards = scale_rewards
        self._shaped_rewards = shaped_rewards
        self._range = RewardRange() if normalised_rewards else None
        self._returns = np.zeros(envs)
        self.recent: deque[dict[str, Any]] = deque(maxlen=_RECENT)
        self.episodes_done = 0
        self._actions: Any = None
        self.num_envs = envs
        observation_space, action_space = self._spaces()
        super().__init__(envs, observation_space, action_space)
        self._observations = np.zeros((envs, *observation_space.shape), np.float32)  # type: ignore[misc]

    # -- for subclasses

    @abstractmethod
    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        """Observation and action space."""

    def _slots(self, problem: Problem) -> dict[str, Any]:
        """Objects that belong to a problem, itself included, by name of the list they go into."""
        return {"problems": problem}

    def _fill_slots(self) -> None:
        """Make the lists named by :meth:`_slots`, with an entry per problem."""
        slots = [self._slots(problem) for problem in self.problems]
        for name in slots[0]:
            setattr(self, name, [each[name] for each in slots])

    @abstractmethod
    def _observe(self, index: int, out: Array) -> None:
        """Write the observation of problem `index`."""

    @abstractmethod
    def _raw_action(self, index: int, action: Any) -> Any:
        """The raw action that the agent's `action` means for problem `index`."""

    # -- the interface of Stable-Baselines3

    def reset(self) -> Array:
        """Begin an episode in every environment."""
        for index in range(self.num_envs):
            self._begin(index)
        self._write_observations(range(self.num_envs))
        return self._observations.copy()

    def step_async(self, actions: Array) -> None:
        """Store the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Step every problem; one whose episode ends is reset and reports its last observation."""
        count = self.num_envs
        rewards = np.zeros(count, dtype=np.float32)
        dones = np.zeros(count, dtype=bool)
        infos: list[dict[str, Any]] = []
        ended: list[tuple[int, bool]] = []
        raws = [self._raw_action(index, action) for index, action in enumerate(self._actions)]
        for index, raw in enumerate(raws):
            rewards[index], info, over, cut = self._advance(index, raw)
            infos.append(info)
            if over:
                ended.append((index, cut))
        self._write_observations(range(count), rewards)
        for index, cut in ended:
            dones[index] = True
            infos[index] = self._end(index, infos[index], cut)
        if ended:
            self._write_observations([index for index, _ in ended])
        return self._observations.copy(), rewards, dones, infos

    def _advance(self, index: int, raw: Any) -> tuple[float, dict[str, Any], bool, bool]:
        """Step one problem: reward, info, whether its episode ended, whether by truncation."""
        problem = self.problems[index]
        reward, terminated, truncated, info = self._step(problem, raw)
        self._episodes[index]["actions"].append(raw)
        self._returns[index] += reward
        if self._shaped_rewards:
            reward = info["shaped_reward"]
        if self._scale_rewards:
            reward *= problem.reward_factor
        if self._range is not None:
            reward = self._range(reward)
        return reward, info, terminated or truncated, truncated and not terminated

    def step_problem(self, index: int, raw: Any) -> tuple[float, bool, dict[str, Any]]:
        """Step one problem by a raw action: reward, whether its episode ended, and info.

        One that ended starts anew; :meth:`observations` has the present state in either case.
        """
        reward, info, over, cut = self._advance(index, raw)
        self._write_observations([index], np.array([reward]))
        if over:
            info = self._end(index, info, cut)
            self._write_observations([index])
        return reward, over, info

    def restart(self, index: int) -> None:
        """Begin another episode of one problem, abandoning the present one."""
        self._begin(index)
        self._write_observations([index])

    def reseed(self, index: int, seed: int) -> None:
        """Begin the present episode of one problem again with another seed."""
        self._start(index, self._episodes[index]["instance"], seed)
        self._write_observations([index])

    def join(self, index: int) -> None:
        """Begin the present episode of one problem, from its start, in all of them."""
        episode = self._episodes[index]
        for other in range(self.num_envs):
            self._start(other, int(episode["instance"]), int(episode["seed"]))
        self._write_observations(range(self.num_envs))

    def observe_again(self) -> Array:
        """Observations of the present states (N, w), after the encoder has changed."""
        self._cache.clear()  # encodings in it are out of date
        self._write_observations(range(self.num_envs))
        return self.observations()

    def observations(self) -> Array:
        """Observations of the present states (N, w), as a copy."""
        return self._observations.copy()

    def episode_seed(self, index: int) -> int:
        """Seed of the present episode of one problem."""
        return int(self._episodes[index]["seed"])

    def _write_observations(self, indices: Sequence[int], rewards: Array | None = None) -> None:
        """Write the observations of some problems; LagcoError if they or rewards are not finite."""
        seen = self._observations
        for part in self._parts:
            write = getattr(self, part)
            for index in indices:
                try:
                    write(index, seen[index])
                except SpecError as error:
                    raise SpecError(f"{self._where(index)}: {error}") from error
        if not np.isfinite(seen).all() or (rewards is not None and not np.isfinite(rewards).all()):
            given = np.zeros(len(indices)) if rewards is None else rewards
            for index, reward in zip(indices, given, strict=True):
                self._refuse(index, seen[index], float(reward))

    def _refuse(self, index: int, observation: Array, reward: float) -> None:
        """Raise LagcoError that names what is not finite in the state of a problem, if anything."""
        strange = np.flatnonzero(~np.isfinite(observation))
        if len(strange):
            seen = f"number {strange[0]} of the observation is {observation.ravel()[strange[0]]}"
            what = f"{seen}; {_culprit(self.problems[index].graph_views())}"
        elif not np.isfinite(reward):
            what = f"the reward is {reward}"
        else:
            return
        raise LagcoError(
            f"{self._where(index)}: {what}; nothing can be learnt from that. `lagco check` finds "
            "attributes, functions and rewards that are not finite"
        )

    def _where(self, index: int) -> str:
        """Description of the present state of a problem, for messages."""
        episode, name = self._episodes[index], type(self.problems[index]).__name__
        instance = self.instances[episode["instance"]].name
        taken = len(episode["actions"])
        return f"{name}, instance {instance!r}, seed {episode['seed']}, after {taken} actions"

    def _end(self, index: int, info: dict[str, Any], cut: bool) -> dict[str, Any]:
        episode = self._episodes[index]
        length = len(episode["actions"])
        record = {
            "instance": episode["instance"],
            "score": info["score"],
            "score_best": info["score_best"],
            "objective": info["objective"],
            "return": float(self._returns[index]),
            "length": length,
        }
        self.recent.append(record)
        self.episodes_done += 1
        info = {
            **info,
            "terminal_observation": self._observations[index].copy(),
            "TimeLimit.truncated": cut,
            "episode": {"r": float(self._returns[index]), "l": length, "t": 0.0},
        }
        self._begin(index)
        return info

    def _begin(self, index: int) -> None:
        """Begin an episode with a valid first action, on the next instances if need be."""
        for _ in range(_TRIES):
            number = self._deck.draw()
            seed = int(self._rngs[index].integers(2**31))
            self._start(index, number, seed)
            if self.problems[index].has_valid_action():
                return
        name = self.instances[number].name
        raise InstanceError(
            f"{name!r}: no action is valid at its start, nor at that of the instances drawn before "
            "it; there is nothing to train on"
        )

    def _start(self, index: int, number: int, seed: int) -> None:
        instance = self.instances[number]
        if self.problems[index].instance is not instance:
            self._exchange(index, number, seed)
        problem = self.problems[index]
        options = None if problem.instance is instance else {"instance": instance}
        problem.reset(seed=seed, options=options)
        self._numbers[index] = number
        self._episodes[index] = {"instance": number, "seed": seed, "actions": []}
        self._returns[index] = 0.0

    def _exchange(self, index: int, number: int, seed: int) -> None:
        """Exchange a problem for one that has instance `number` loaded, and cache the former.

        Without room for it in the cache, nothing is exchanged unless the other one is cached.
        """
        cache = self._cache
        found, room = cache.take(number), cache.admits(self.problems[index])
        if found is None and room:
            problem = self._make(self.instances[number])
            problem.reset(seed=seed)
            found = self._slots(problem)
        if found is None:
            return
        before = {}
        for name, entry in found.items():
            entries = getattr(self, name)
            before[name], entries[index] = entries[index], entry
        if room:
            cache.put(self._numbers[index], before)

    # -- checkpoints

    def state(self) -> dict[str, Any]:
        """JSON values for :meth:`restore`, which replays the present episodes."""
        return {
            "deck": self._deck.state(),
            "rngs": [rng.bit_generator.state for rng in self._rngs],
            "episodes": [
                {**e, "actions": [np.asarray(a).tolist() for a in e["actions"]]}
                for e in self._episodes
            ],
            "reward_range": None if self._range is None else self._range.state(),
            "recent": list(self.recent),
            "episodes_done": self.episodes_done,
        }

    def restore(self, state: dict[str, Any]) -> Array:
        """Restore a :meth:`state`; returns the observations (N, w) there."""
        for index, episode in enumerate(state["episodes"]):
            self._start(index, int(episode["instance"]), int(episode["seed"]))
            self._write_observations([index])
            for action in episode["actions"]:
                raw = np.asarray(action) if isinstance(action, list) else int(action)
                reward, *_ = self._step(self.problems[index], raw)
                self._returns[index] += reward
                self._episodes[index]["actions"].append(raw)
            self._write_observations([index])
        self._deck.restore(state["deck"])
        for rng, saved in zip(self._rngs, state["rngs"], strict=True):
            rng.bit_generator.state = saved
        if self._range is not None:
            self._range.restore(state["reward_range"])
        self.recent = deque(state["recent"], maxlen=_RECENT)
        self.episodes_done = int(state["episodes_done"])
        return self._observations.copy()

    # -- the rest of the interface of Stable-Baselines3

    def close(self) -> None:
        """Nothing to close."""

    def _chosen(self, indices: Any) -> list[Problem]:
        if indices is None:
            return self.problems
        return [self.problems[i] for i in ([indices] if isinstance(indices, int) else indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Attribute of every problem."""
        return [getattr(problem, attr_name) for problem in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of every problem."""
        for problem in self._chosen(indices):
            setattr(problem, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of every problem."""
        return [
            getattr(problem, method_name)(*method_args, **method_kwargs)
            for problem in self._chosen(indices)
        ]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None is wrapped."""
        return [False for _ in self._chosen(indices)]
