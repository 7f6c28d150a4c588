"""Rewards between the least and the largest of a run so far."""

from __future__ import annotations

from collections.abc import Sequence


class RewardRange:
    """Maps rewards to 0 … 1 by their running minimum and maximum; 0 while all are equal."""

    def __init__(self) -> None:
        self._low, self._high = float("inf"), float("-inf")

    def __call__(self, reward: float) -> float:
        """The reward between the least and the largest so far, of which it is one."""
        if reward != reward:  # refused with its place by the environment
            return reward
        self._low, self._high = min(self._low, reward), max(self._high, reward)
        span = self._high - self._low
        return (reward - self._low) / span if span else 0.0

    def state(self) -> list[float] | None:
        """Plain values from which :meth:`restore` goes on."""
        return [self._low, self._high] if self._low <= self._high else None

    def restore(self, state: Sequence[float] | None) -> None:
        """Go on from a :meth:`state`."""
        self._low, self._high = (float("inf"), float("-inf")) if state is None else state
