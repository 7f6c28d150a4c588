"""Replay buffer of `iterative`: transitions with the valid actions of their states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import BaseBuffer

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.learning.stored_actions import SharedArrays, flattened, unflattened
from lagco.arrays import Array
from lagco.store.tensors import JoinedRows

GOES_ON, TERMINATED, TRUNCATED = range(3)


class Returns(NamedTuple):
    """n-step transitions.

    Attributes:
        inputs: [o, u(a)] of state and action taken: (B, w + d).
        rewards: discounted sum over n steps, or up to the end of the episode: (B,).
        discounts: factor of the value of the state after them, 0 where there is none: (B,).
        places: index of that state in the buffer, -1 where there is none: (B,).
    """

    inputs: Array
    rewards: Array
    discounts: Array
    places: npt.NDArray[np.int64]


class ActionReplayBuffer(BaseBuffer):
    """Ring buffer of steps of N environments; each state is stored once, with its component tables.

    Returns run over n steps of one episode. Those of a truncated episode are bootstrapped with the
    value of its last state, not of the state after the reset.

    The state before step t of environment e has index t · N + e; the last state of an episode that
    this step truncated has that index plus the number of transitions.

    Args:
        buffer_size: number of transitions.
        observation_space: of the environment.
        action_space: of the environment.
        n_envs: N.
        action_width: d.
        n_steps: n.
        gamma: discount.
        seed: of sampling.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        device: Any = "cpu",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        *,
        action_width: int,
        n_steps: int,
        gamma: float,
        seed: int,
    ) -> None:
        steps = max(buffer_size // n_envs, n_steps + 1)
        super().__init__(steps, observation_space, action_space, device, n_envs=n_envs)
        self.action_width = action_width
        self.n_steps = n_steps
        self.gamma = gamma
        self.rng = np.random.default_rng([seed, 2])
        #: states before the steps, and last states of truncated episodes
        self.observations = np.zeros((2, steps, n_envs, *self.obs_shape), np.float32)
        self.chosen = np.zeros((steps, n_envs, action_width), np.float32)
        self.rewards = np.zeros((steps, n_envs), np.float32)
        self.ends = np.zeros((steps, n_envs), np.int8)
        #: False where no action was valid
        self.usable = np.zeros((steps, n_envs), bool)
        #: valid actions by place, and how many there are
        self.actions: list[ActionTables | None] = [None] * (2 * steps * n_envs)
        self._counts = np.zeros(2 * steps * n_envs, np.int64)
        self._shared = SharedArrays()
        #: cached values of states, and the number of the target network they are from; -1: none
        self._values = np.zeros(2 * steps * n_envs, np.float32)
        self._valued = np.full(2 * steps * n_envs, -1, np.int64)

    def add(
        self,
        observations: Array,
        actions: Sequence[ActionTables],
        positions: Array,
        rewards: Array,
        ends: Array,
        last: Mapping[int, tuple[Array, ActionTables]],
    ) -> None:
        """Add a step of all environments.

        Args:
            observations: (N, w) before the step.
            actions: valid actions before the step.
            positions: (N,) of the actions taken among them; ignored where there was none.
            rewards: (N,)
            ends: (N,) how the step ended: goes on, terminated, truncated.
            last: last observation and valid actions of each environment that was truncated.
        """
        at, size = self.pos, self.buffer_size * self.n_envs
        self.observations[0, at] = observations
        self.rewards[at] = rewards
        self.ends[at] = ends
        for env, offered in enumerate(actions):
            place = at * self.n_envs + env
            before = self.actions[(place - self.n_envs) % size]  # also at the ring's end
            self._keep(place, offered, before)
            self._keep(size + place, None, None)
            self.usable[at, env] = len(offered) > 0
            if len(offered):
                vector = offered.vector(int(positions[env]), self.action_width)
                self.chosen[at, env] = vector
        for env, (observation, offered) in last.items():
            place = at * self.n_envs + env
            self.observations[1, at, env] = observation
            self._keep(size + place, offered, self.actions[place])
        self.pos = (at + 1) % self.buffer_size
        self.full = self.full or self.pos == 0

    def _keep(self, place: int, actions: ActionTables | None, before: ActionTables | None) -> None:
        """Store a state's actions, replacing earlier ones at that index."""
        self.actions[place] = None if actions is None else self._shared.store(actions, before)
        self._counts[place] = 0 if actions is None else actions.count
        self._valued[place] = -1

    def reset(self) -> None:
        """Empty the buffer."""
        super().reset()
        self.actions = [None] * len(self.actions)
        self._counts[:] = 0
        self._valued[:] = -1

    @property
    def ready(self) -> bool:
        """Whether there is a transition whose n steps are known."""
        return self.size() > self.n_steps

    def sample(self, batch_size: int, env: Any = None) -> Returns:
        """Transitions drawn with replacement among those whose n steps are known."""
        steps = self.size()
        drawn = self.rng.integers(steps - self.n_steps, size=batch_size)
        envs = self.rng.integers(self.n_envs, size=batch_size)
        slots = (self.pos + drawn) % self.buffer_size if self.full else drawn
        usable = self.usable[slots, envs]
        return self.returns(slots[usable], envs[usable])

    def returns(self, slots: Array, envs: Array) -> Returns:
        """n-step returns of the transitions at these slots (B,) of these environments (B,)."""
        path = (slots[:, None] + np.arange(self.n_steps)) % self.buffer_size, envs[:, None]
        ends, number = self.ends[path], np.arange(len(slots))
        ended = np.cumsum(ends != GOES_ON, axis=1) > 0
        counts = np.ones_like(ended)
        counts[:, 1:] = ~ended[:, :-1]  # up to the step that ends the episode
        factors = np.array([self.gamma**i for i in range(self.n_steps)], np.float32)
        lengths = counts.sum(axis=1)
        last, end = path[0][number, lengths - 1], ends[number, lengths - 1]
        places = ((last + 1) % self.buffer_size) * self.n_envs + envs
        places = np.where(end == TRUNCATED, self._places_cut(last, envs), places)
        valued = (end != TERMINATED) & (self._counts[places] > 0)
        observations = self.observations[0, slots, envs].reshape(len(slots), -1)
        return Returns(
            inputs=np.concatenate([observations, self.chosen[slots, envs]], axis=1),
            rewards=(self.rewards[path] * counts) @ factors,
            discounts=np.where(valued, self.gamma**lengths, 0.0).astype(np.float32),
            places=np.where(valued, places, -1),
        )

    def states(self, places: Array) -> tuple[Array, list[ActionTables]]:
        """Observations (B, w) and valid actions of the states at these places."""
        kept: list[Any] = self.actions  # there is one at each of these
        observations = self.observations.reshape(-1, *self.obs_shape)[places]
        return observations, [kept[place] for place in places.tolist()]

    def values(
        self,
        batch: Returns,
        target: int,
        maxima: Callable[[Array, Sequence[ActionTables]], Array],
    ) -> Array:
        """Values (B,) of the states after the transitions, computed once per target network.

        Args:
            batch: of transitions.
            target: number of the target network.
            maxima: evaluates states by that network, each independently of the others.
        """
        places = batch.places
        noted = (places >= 0) & (self._valued[places] == target)
        found = np.where(noted, self._values[places], np.float32(0))
        asked = np.flatnonzero(~noted & (places >= 0))
        if len(asked):
            new = places[asked]
            found[asked] = maxima(*self.states(new))
            self._values[new] = found[asked]
            self._valued[new] = target
        return found

    def _get_samples(self, batch_inds: Array, env: Any = None) -> Any:
        raise NotImplementedError("sample() draws steps and environments")

    # -- checkpoints

    def state(self) -> dict[str, Any]:
        """JSON values for :meth:`restore`, in addition to :meth:`arrays`."""
        return {
            "pos": self.pos,
            "full": bool(self.full),
            "rng": self.rng.bit_generator.state,
            "last": np.argwhere(self.ends == TRUNCATED).tolist(),
        }

    def arrays(self) -> dict[str, Array | JoinedRows]:
        """The stored transitions; ragged parts are concatenated."""
        stored = self.size()
        cut = np.nonzero(self.ends == TRUNCATED)
        places = [np.arange(stored * self.n_envs), self._places_cut(*cut)]
        return {
            "observations": self.observations[0, :stored],
            "chosen": self.chosen[:stored],
            "rewards": self.rewards[:stored],
            "ends": self.ends[:stored],
            "usable": self.usable[:stored],
            "last": self.observations[1][cut],
            **flattened(self.states(np.concatenate(places))[1]),
        }

    def _places_cut(self, slots: Array, envs: Array) -> Array:
        """Indices of last states of truncated episodes."""
        found: Array = (self.buffer_size + slots) * self.n_envs + envs
        return found

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore :meth:`state` and :meth:`arrays`.

        Raises:
            ValueError: they do not fit this buffer.
        """
        self.reset()
        self.pos, self.full = int(state["pos"]), bool(state["full"])
        if not 0 <= self.pos < self.buffer_size:
            raise ValueError(f"position {self.pos} of {self.buffer_size}")
        self.rng.bit_generator.state = state["rng"]
        stored = self.size()
        rooms = {name: getattr(self, name) for name in ("chosen", "rewards", "ends", "usable")}
        for name, room in {"observations": self.observations[0], **rooms}.items():
            if arrays[name].shape != room[:stored].shape or arrays[name].dtype != room.dtype:
                raise ValueError(f"{name} are {arrays[name].dtype} {arrays[name].shape}")
            room[:stored] = arrays[name]
        last = np.array(state["last"], np.int64).reshape(-1, 2)
        if sorted(last.tolist()) != np.argwhere(self.ends == TRUNCATED).tolist():
            raise ValueError("steps that cut episodes off are not those whose states are kept")
        if arrays["last"].shape != (len(last), *self.obs_shape):
            raise ValueError(f"last observations have shape {arrays['last'].shape}")
        self.observations[1][tuple(last.T)] = arrays["last"]
        places = [*range(stored * self.n_envs), *self._places_cut(*last.T).tolist()]
        sets = unflattened(arrays, self.action_width)
        if len(sets) != len(places):
            raise ValueError(f"{len(sets)} sets of actions for {len(places)} states")
        for place, actions in zip(places, sets, strict=True):
            self.actions[place] = actions
            self._counts[place] = actions.count
