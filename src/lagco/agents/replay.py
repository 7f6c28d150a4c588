"""Replay buffer of `iterative`: transitions with the valid actions of their states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from numba import njit
from stable_baselines3.common.buffers import BaseBuffer

from lagco.agents.action_tables import ActionTables
from lagco.agents.stored_actions import SharedArrays, flattened, unflattened
from lagco.arrays import Array
from lagco.store.tensors import JoinedRows

GOES_ON, TERMINATED, TRUNCATED = range(3)
_NONE = ActionTables((np.zeros((0, 0), np.float16),), (0,), None)


class Returns(NamedTuple):
    """Transitions to learn from.

    Attributes:
        inputs: [o, u(a)] of what was done: (B, w + d).
        rewards: discounted sum over the next n steps, or up to the end of the episode: (B,).
        discounts: factor of the value of the state after them, 0 where there is none: (B,).
        observations: of that state: (B, w).
        actions: valid in that state.
        places: where the buffer notes that state's value, -1 where nowhere: (B,).
    """

    inputs: Array
    rewards: Array
    discounts: Array
    observations: Array
    actions: list[ActionTables]
    places: npt.NDArray[np.int64]


class ActionReplayBuffer(BaseBuffer):
    """A ring of steps of N environments; a state is kept once, with its component tables.

    Returns run over n steps of one episode. After an episode that was cut off they go on with the
    value of the very state where it was cut off; the state after the reset plays no part.

    Args:
        buffer_size: transitions in all.
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
        self.observations = np.zeros((steps, n_envs, *self.obs_shape), np.float32)
        self.chosen = np.zeros((steps, n_envs, action_width), np.float32)
        self.rewards = np.zeros((steps, n_envs), np.float32)
        self.ends = np.zeros((steps, n_envs), np.int8)
        #: False where there was nothing to choose
        self.usable = np.zeros((steps, n_envs), bool)
        self.actions: list[list[ActionTables]] = []
        self._shared = SharedArrays()
        #: values of states by a target network, and the number of that one; -1: none
        self._values = np.zeros(steps * n_envs, np.float32)
        self._valued = np.full(steps * n_envs, -1, np.int64)
        #: where episodes were cut off: observation and valid actions of the last state
        self.last: dict[tuple[int, int], tuple[Array, ActionTables]] = {}

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
            positions: (N,) which of them were taken; any number where there was none.
            rewards: (N,)
            ends: (N,) how the step ended: goes on, terminated, truncated.
            last: per environment that was truncated, its last observation and valid actions.
        """
        at = self.pos
        for env in range(self.n_envs):
            self.last.pop((at, env), None)
            self.usable[at, env] = len(actions[env]) > 0
            if self.usable[at, env]:
                vector = actions[env].vector(int(positions[env]), self.action_width)
                self.chosen[at, env] = vector
        self._valued[at * self.n_envs : (at + 1) * self.n_envs] = -1
        self.observations[at] = observations
        self.rewards[at] = rewards
        self.ends[at] = ends
        before: Sequence[ActionTables | None] = [None] * self.n_envs
        if self.actions:
            before = self.actions[at - 1]  # the step before, also at the ring's end
        store = self._shared.store
        stored = [store(*pair) for pair in zip(actions, before, strict=True)]
        if at == len(self.actions):
            self.actions.append(stored)
        else:
            self.actions[at] = stored
        for env, (observation, tables) in last.items():
            self.last[at, env] = observation.copy(), store(tables, stored[env])
        self.pos = (at + 1) % self.buffer_size
        self.full = self.full or self.pos == 0

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.actions = []
        self.last = {}
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
        """n-step returns of the transitions at these slots of these environments."""
        rewards, discounts = np.empty((2, len(slots)), np.float32)
        stop, ends = np.empty_like(slots), np.empty(len(slots), np.int8)
        sum_rewards(
            self.rewards, self.ends, slots, envs, self.n_steps, self.gamma,
            rewards, discounts, stop, ends,
        )  # fmt: skip
        observations = self.observations[stop, envs]
        after = list(zip(stop.tolist(), envs.tolist(), strict=True))
        actions = [self.actions[slot][env] for slot, env in after]
        for b in np.flatnonzero(ends).tolist():
            observations[b], actions[b] = 0.0, _NONE
            if ends[b] == TRUNCATED:
                observations[b], actions[b] = self.last[after[b]]
        discounts[[b for b, found in enumerate(actions) if not found.count]] = 0.0
        inputs = np.concatenate([self.observations[slots, envs], self.chosen[slots, envs]], axis=1)
        places = np.where(ends == GOES_ON, stop * self.n_envs + envs, -1)
        return Returns(inputs, rewards, discounts, observations, actions, places)

    def values(
        self,
        batch: Returns,
        target: int,
        maxima: Callable[[Array, Sequence[ActionTables]], Array],
    ) -> Array:
        """Values (B,) of the states after the transitions; a state is valued once by each target.

        Args:
            batch: of transitions.
            target: number of the target network.
            maxima: values of states by that network, each independent of the others.
        """
        noted = (batch.places >= 0) & (self._valued[batch.places] == target)
        found = np.where(noted, self._values[batch.places], np.float32(0))
        asked = np.flatnonzero(~noted)
        found[asked] = maxima(batch.observations[asked], [batch.actions[b] for b in asked.tolist()])
        new = asked[batch.places[asked] >= 0]
        self._values[batch.places[new]] = found[new]
        self._valued[batch.places[new]] = target
        return found

    def _get_samples(self, batch_inds: Array, env: Any = None) -> Any:
        raise NotImplementedError("sample() draws steps and environments")

    # -- checkpoints

    def state(self) -> dict[str, Any]:
        """Plain values from which :meth:`restore` goes on, beside :meth:`arrays`."""
        return {
            "pos": self.pos,
            "full": bool(self.full),
            "rng": self.rng.bit_generator.state,
            "last": [list(key) for key in self.last],
        }

    def arrays(self) -> dict[str, Array | JoinedRows]:
        """Everything remembered, ragged parts one after the other."""
        stored = self.size()
        sets = [a for step in self.actions for a in step] + [a for _, a in self.last.values()]
        last = np.array([observation for observation, _ in self.last.values()], np.float32)
        return {
            "observations": self.observations[:stored],
            "chosen": self.chosen[:stored],
            "rewards": self.rewards[:stored],
            "ends": self.ends[:stored],
            "usable": self.usable[:stored],
            "last": last.reshape(len(self.last), *self.obs_shape),
            **flattened(sets),
        }

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Go on from :meth:`state` and :meth:`arrays`.

        Raises:
            ValueError: they do not fit this buffer.
        """
        self.pos, self.full = int(state["pos"]), bool(state["full"])
        if not 0 <= self.pos < self.buffer_size:
            raise ValueError(f"position {self.pos} of {self.buffer_size}")
        self.rng.bit_generator.state = state["rng"]
        self._valued[:] = -1
        stored = self.size()
        for name in ("observations", "chosen", "rewards", "ends", "usable"):
            room = getattr(self, name)[:stored]
            if arrays[name].shape != room.shape or arrays[name].dtype != room.dtype:
                raise ValueError(f"{name} are {arrays[name].dtype} {arrays[name].shape}")
            room[:] = arrays[name]
        sets = unflattened(arrays, self.action_width)
        n = self.n_envs
        if len(sets) != stored * n + len(state["last"]):
            raise ValueError(f"{len(sets)} sets of actions for {stored} steps of {n} environments")
        if arrays["last"].shape != (len(state["last"]), *self.obs_shape):
            raise ValueError(f"last observations have shape {arrays['last'].shape}")
        self.actions = [sets[i * n : (i + 1) * n] for i in range(stored)]
        self.last = {
            (int(slot), int(env)): (observation.copy(), actions)
            for (slot, env), observation, actions in zip(
                state["last"], arrays["last"], sets[stored * n :], strict=True
            )
        }


@njit(cache=True)
def sum_rewards(  # type: ignore[no-untyped-def]
    rewards, ends, slots, envs, steps, gamma, sums, discounts, stop, found
):
    """Discounted rewards of steps from slots of the ring on, up to the end of an episode.

    Args:
        rewards: of all steps: (S, N), and how they ended, `ends`.
        slots: first steps (B,), of environments `envs` (B,).
        steps: so many, unless an episode ends.
        gamma: discount of a step.
        sums: written: discounted rewards: (B,).
        discounts: written: factor of what comes after them: (B,).
        stop: written: slot of the last step of an episode, or of the step after them: (B,).
        found: written: how the episode ended: (B,).
    """
    size = rewards.shape[0]
    for b in range(slots.shape[0]):
        total, discount = np.float32(0), 1.0
        at, env = slots[b], envs[b]
        found[b] = GOES_ON
        for k in range(steps):
            at = (slots[b] + k) % size
            total += np.float32(discount) * rewards[at, env]
            discount *= gamma
            if ends[at, env] != GOES_ON:
                found[b] = ends[at, env]
                break
        if found[b] == GOES_ON:
            at = (slots[b] + steps) % size
        sums[b], discounts[b], stop[b] = total, discount, at
