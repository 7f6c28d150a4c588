"""Problems that wait, loaded, for their instance to come again in training.

Episodes change from instance to instance. A problem that keeps its instance, and whoever reads it
what was read and encoded of it, begins the next episode there in a fraction of the time.
"""

from __future__ import annotations

from typing import Any

from lagco.core.problem import Problem

#: nodes and edges of all that wait, at most: about 100 MB with everything that was encoded of them
_ROOM = 1 << 15


class WaitingProblems:
    """At most one problem per instance, with what is kept beside it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[dict[str, Any], int]] = {}
        self._taken = 0

    def take(self, number: int) -> dict[str, Any] | None:
        """What waits for instance `number`; it waits no longer."""
        found, size = self._known.pop(number, (None, 0))
        self._taken -= size
        return found

    def admits(self, problem: Problem) -> bool:
        """Whether there is room for a problem as large as this one."""
        return problem.may_wait and self._taken + _size(problem) <= _ROOM

    def put(self, number: int, companions: dict[str, Any]) -> None:
        """Let a problem with instance `number` wait, in the place of another one that does."""
        self.take(number)
        size = _size(companions["problems"])
        self._known[number] = companions, size
        self._taken += size

    def clear(self) -> None:
        """Let none of them wait."""
        self._known.clear()
        self._taken = 0


def _size(problem: Problem) -> int:
    return sum(view.num_nodes + view.num_edges for view in problem.graph_views().values())
