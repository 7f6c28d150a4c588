"""Normalisation of rewards by their running minimum and maximum."""

from __future__ import annotations

from collections.abc import Sequence


class RewardRange:
    """Maps rewards to 0 … 1 by their running minimum and maximum; 0 while all are equal."""

    def __init__(self) -> None:
        self._low, self._high = float("inf"), float("-inf")

    def __call__(self, reward: float) -> float:
        """The reward scaled to 0 … 1, after updating the range with it."""
        if reward != reward:  # NaN: the environment raises an error that names the state
            return reward
        self._low, self._high = min(self._low, reward), max(self._high, reward)
        span = self._high - self._low
        return (reward - self._low) / span if span else 0.0

    def state(self) -> list[float] | None:
        """JSON values for :meth:`restore`."""
        return [self._low, self._high] if self._low <= self._high else None

    def restore(self, state: Sequence[float] | None) -> None:
        """Restore a :meth:`state`."""
        self._low, self._high = (float("inf"), float("-inf")) if state is None else state
