"""Raw actions by number, padded to the number of actions of the largest training instance."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco.agents.padding.widths import refusal
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.errors import TooLarge, UsageError


class PaddedActions:
    """Raw actions of one environment by number, in the order of its ``all_actions()``.

    Args:
        env: the environment; its instance may change.
        width: number of actions after padding; those the instance does not have are invalid.
    """

    def __init__(self, env: ContinuousEnv, width: int) -> None:
        self._env = env
        self.width = width
        kind = type(env)
        self._lists = kind.all_actions is not ContinuousEnv.all_actions
        self._masks = kind.action_mask is not ContinuousEnv.action_mask
        self._space: Any = None

    def raw(self, number: int) -> Any:
        """The raw action of a number; one outside the action space for padding."""
        self._sync()
        if number >= self._count:
            return self._outside
        if self._listing is not None:
            action = self._listing[number]
            return int(action) if np.ndim(action) == 0 else action
        space = self._space
        if isinstance(space, gym.spaces.Discrete):
            return int(space.start) + number
        return space.start + np.array(np.unravel_index(number, self._shape))

    @property
    def outside(self) -> Any:
        """A raw action outside the action space, hence invalid."""
        self._sync()
        return self._outside

    def mask(self, out: Array | None = None) -> Array:
        """Validity of every number: bool (width,)."""
        self._sync()
        if out is None:
            out = np.zeros(self.width, dtype=bool)
        if self._lists and not self._masks:
            out[: self._count] = self._env.are_valid_actions(self._listing)  # type: ignore[arg-type]
        else:
            out[: self._count] = self._env.action_mask()
        out[self._count :] = False
        return out

    def _sync(self) -> None:
        """Read the actions again if the instance changed."""
        space = self._env.action_space
        if space is self._space:  # a problem has a new object for every instance
            return
        self._space = space
        self._listing: Array | None = self._env.all_actions() if self._lists else None
        self._shape = () if self._lists else _shape(space)
        self._count = self._env.num_actions if self._listing is None else len(self._listing)
        if self._count > self.width:
            self._space = None  # so that the next call raises, too
            raise TooLarge(refusal(self._env, self._count, "raw actions", self.width))
        if isinstance(space, gym.spaces.MultiDiscrete):
            self._outside: Any = space.start + space.nvec
        elif isinstance(space, gym.spaces.Discrete):
            self._outside = int(space.start + space.n)
        else:
            name = type(self._env).__name__
            raise UsageError(f"{name}: discrete methods do not know the action space {space}")


def _shape(space: Any) -> tuple[int, ...]:
    if isinstance(space, gym.spaces.MultiDiscrete):
        return tuple(int(n) for n in space.nvec)
    return ()
