"""Memory of a search: which elements were changed when, for problems improved step by step."""

from __future__ import annotations

from collections import deque

import numpy as np

from lagco.arrays import Array

#: age of elements that were never changed
NEVER = 1 << 40


class SearchMemory:
    """When the elements of a problem (nodes, links, demands, machines) were last changed.

    An agent that improves a state step by step must leave local optima, and can only if it sees
    what it did last. Attach :attr:`recent` to a view as a binary attribute, and touch the elements
    that :meth:`change` returns; :meth:`ages` serves features of candidates.

    Args:
        elements: how many there are.
        tenure: number of steps for which a changed element counts as recent.

    Attributes:
        recent: int8 (elements,), 1 where an element was changed within the tenure.
        steps: changes since :meth:`begin`.
    """

    def __init__(self, elements: int, tenure: int) -> None:
        self.recent = np.zeros(elements, dtype=np.int8)
        self.tenure = max(1, tenure)
        self.steps = 0
        self._last = np.full(elements, -NEVER, dtype=np.int64)
        self._queue: deque[tuple[int, int]] = deque()

    def begin(self) -> None:
        """Forget everything: an episode begins."""
        self.recent[:] = 0
        self._last[:] = -NEVER
        self._queue.clear()
        self.steps = 0

    def change(self, element: int) -> list[int]:
        """Note that an element is changed now; elements whose `recent` flag differs from before."""
        self.steps += 1
        touched = [] if self.recent[element] else [element]
        self._last[element] = self.steps
        self.recent[element] = 1
        self._queue.append((self.steps, element))
        while self._queue and self._queue[0][0] <= self.steps - self.tenure:
            when, old = self._queue.popleft()
            if self._last[old] == when:
                self.recent[old] = 0
                touched.append(old)
        return touched

    def ages(self, elements: Array) -> Array:
        """Steps since these elements were changed: int64 (k,); at least NEVER where never."""
        return self.steps - self._last[elements]
