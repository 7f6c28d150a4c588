"""Plans of episodes that a process remembers, since training comes back to the same starts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from lagco.arrays import Array
from lagco.runtime.stopping import stop_flag


class Goal(NamedTuple):
    """What is left of an episode, and its plan, as compiled code takes them.

    Attributes:
        target: configuration to go to, the present one without a plan
        promised: objective there
        steps: that are left
        share: of all steps
    """

    target: Array
    promised: float
    steps: int
    share: float


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
        """A plan and the objective that it promises, made the first time it is asked for.

        One whose making was cut short is not remembered.
        """
        if key in self._known:
            return self._known[key]
        made = make()
        if not stop_flag()[0]:
            if len(self._known) >= self.most:
                del self._known[next(iter(self._known))]
            self._known[key] = made
        return made
