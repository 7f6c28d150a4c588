"""Problems that choose nodes one after the other, each at most once."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem


class NodeChoice(Problem):
    """An action is a node that was not chosen yet.

    A problem keeps `_chosen`: int8 (n,), 1 where a node was chosen.
    """

    _chosen: Array

    def is_valid_action(self, action: Any) -> bool:
        """The node exists and was not chosen."""
        return 0 <= action < len(self._chosen) and not self._chosen[action]

    def are_valid_actions(self, actions: Array) -> Array:
        """Not chosen: (k,)."""
        return self._chosen[actions] == 0

    def action_mask(self) -> Array:
        """Not chosen: (n,)."""
        return self._chosen == 0

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> int | None:
        """A node uniform over those not chosen; None if there is none."""
        left = np.flatnonzero(self._chosen == 0)
        return int(left[(rng or self.np_random).integers(len(left))]) if len(left) else None
