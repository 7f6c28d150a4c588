"""Plans of episodes that a process remembers, since training comes back to the same starts."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from lagco.arrays import Array


class KnownPlans:
    """Plans by what they were made from; the oldest are forgotten first.

    Args:
        most: number of plans that are remembered.
    """

    def __init__(self, most: int = 4096) -> None:
        self.most = most
        self._known: dict[Hashable, tuple[Array, float]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Hashable, make: Callable[[], tuple[Array, float]]) -> tuple[Array, float]:
        """A plan and the objective that it promises, made the first time it is asked for."""
        if key not in self._known:
            if len(self._known) >= self.most:
                del self._known[next(iter(self._known))]
            self._known[key] = make()
        return self._known[key]
