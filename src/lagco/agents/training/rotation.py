"""Rotation of training instances, and a cache of problems that have theirs loaded.

A cached problem, together with its views and encodings, starts another episode on its instance in a
fraction of the time of loading it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.core.problem import Problem

#: most nodes and edges of all cached problems: about 100 MB with their encodings
_ROOM = 1 << 15


class InstanceDeck:
    """Order of training instances.

    Args:
        count: of instances.
        every: episodes after which another instance is drawn at random for all environments, as in
            the paper; 0: every episode takes the next one, shuffled without replacement.
        rng: source of randomness.
    """

    def __init__(self, count: int, every: int, rng: np.random.Generator) -> None:
        self._count = count
        self._every = every
        self._rng = rng
        self._pile: list[int] = []
        self._drawn = 0

    def draw(self) -> int:
        """Number of the instance for the next episode."""
        if self._every:
            if self._drawn % self._every == 0:
                self._pile = [int(self._rng.integers(self._count))]
            self._drawn += 1
            return self._pile[0]
        if not self._pile:
            self._pile = self._rng.permutation(self._count).tolist()
        self._drawn += 1
        return self._pile.pop()

    def state(self) -> dict[str, Any]:
        """JSON values for :meth:`restore`."""
        state = self._rng.bit_generator.state
        return {"pile": list(self._pile), "drawn": self._drawn, "rng": state}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a :meth:`state`."""
        self._pile = [int(i) for i in state["pile"]]
        self._drawn = int(state["drawn"])
        self._rng.bit_generator.state = state["rng"]


class LoadedProblems:
    """Cache of the slots of environments (see `ProblemVecEnv._slots`), by number of instance."""

    def __init__(self) -> None:
        self._known: dict[int, list[tuple[dict[str, Any], int]]] = {}
        self._taken = 0

    def take(self, number: int) -> dict[str, Any] | None:
        """Remove and return the slots of a problem with instance `number`; None without one."""
        waiting = self._known.get(number)
        if not waiting:
            return None
        found, size = waiting.pop()
        self._taken -= size
        return found

    def admits(self, problem: Problem) -> bool:
        """Whether a problem may be cached, and there is room for it."""
        return problem.reusable and self._taken + _size(problem) <= _ROOM

    def put(self, number: int, slots: dict[str, Any]) -> None:
        """Add the slots of a problem with instance `number`."""
        size = _size(slots["problems"])
        self._known.setdefault(number, []).append((slots, size))
        self._taken += size

    def clear(self) -> None:
        """Empty the cache."""
        self._known.clear()
        self._taken = 0


def _size(problem: Problem) -> int:
    return sum(view.num_nodes + view.num_edges for view in problem.graph_views().values())
