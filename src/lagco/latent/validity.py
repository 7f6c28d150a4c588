"""Validity of search rows, asked of the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.search import ProductSpace

if TYPE_CHECKING:
    from lagco.latent.action_set import ActionSet


class LateValidity:
    """Asks the environment about search rows."""

    def __init__(self, actions: ActionSet, env: ContinuousEnv) -> None:
        self._actions = actions
        self._env = env

    def __call__(self, rows: Array) -> npt.NDArray[np.bool_]:
        raw = self._env.actions_from_parts(self._actions.parts(rows))
        return np.asarray(self._env.are_valid_actions(raw), dtype=bool)


class RowValidity(LateValidity):
    """Answers for all choices of the last component at once, too."""

    def rows(self, prefixes: Array) -> npt.NDArray[np.bool_]:
        """Validity of every choice of the last component, for prefixes (r, m - 1): (r, n_m)."""
        space = self._actions.space
        assert isinstance(space, ProductSpace)
        last = space.shape[-1]
        rows = np.concatenate(
            [
                np.repeat(prefixes, last, axis=0),
                np.tile(np.arange(last), len(prefixes))[:, None],
            ],
            axis=1,
        )
        return self(rows).reshape(len(prefixes), last)
