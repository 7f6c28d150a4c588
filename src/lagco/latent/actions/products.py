"""Actions that choose one element per component: a single table, or a product of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.latent.actions.action_set import Addends, LateValidity
from lagco.latent.actions.few import FewActions, Listing
from lagco.latent.kernels import NO_PATH, nearest_row
from lagco.search import LISTED, Metric, Neighbours, ProductSpace
from lagco.search.metrics import CODES


class ProductActions(FewActions):
    """Combinations of nodes, edges, objects and listed sets; the vectors stand side by side."""

    space: ProductSpace

    def _space(self) -> ProductSpace:
        projection, columns = self._layout.projection, self._layout.columns
        if projection is None:
            return self._elements.space(self._vectors, "concat")
        projected = [
            table @ projection[columns[name]]
            for name, table in zip(self._layout.names, self._vectors, strict=True)
        ]
        return self._elements.space(projected, "sum")

    @property
    def size(self) -> int:
        """Number of declared actions; several exclusions at once are listed for it."""
        return self._elements.size

    @property
    def listed_to_count(self) -> bool:  # type: ignore[override]
        """Whether :attr:`size` has to list the actions."""
        return len(self._layout.different) > 1

    def pooling(self) -> tuple[tuple[Array, ...], tuple[Any, ...], Array, Any, float]:
        starts, size = self._layout.starts, float(self._elements.size)
        return self._vectors, self._elements.row_weights, starts, NO_PATH, size

    def addends(self, rows: Array) -> Addends:
        if self._layout.projection is None:
            return Addends(self._vectors, tuple(self._layout.starts.tolist()), rows)
        tables = self.space.tables
        return Addends(tables, (0,) * len(tables), rows)

    def all_rows(self, most: int) -> Array | None:
        elements = self._elements
        if self._layout.projection is None and elements.axes is not None:
            return elements.listed if len(elements.listed) <= most else None
        return self.list() if self.space.size <= most else None

    def nearest(
        self, query: Array, k: int = 1, metric: Metric = "cosine", env: ContinuousEnv | None = None
    ) -> Neighbours:
        found = None if env is None else self._nearest_few(query, k, metric, env)
        if found is not None:
            return found
        space = self.space
        valid = None if env is None else self._validity(env)
        possible = {} if env is None or space.size <= LISTED else env.possible_parts()
        masks = [
            possible[name][self._tables[name].values] if name in possible else None
            for name in self._layout.names
        ]
        return space.nearest(query, k, metric, valid, masks if possible else None)

    def _validity(self, env: ContinuousEnv) -> LateValidity:
        by_rows = not self._layout.references and len(self._vectors) > 1
        return RowValidity(self, env) if by_rows else LateValidity(self, env)

    def _listing(self, metric: Metric) -> Listing | None:
        elements = self._elements
        if elements.axes is None:
            return None
        search = elements.nearest_parts(self._layout)
        return Listing(search, (self._vectors,), lambda: elements.listed)


class SingleActions(ProductActions):
    """Actions that are just a node, an edge, an option or a listed set: rows of one table."""

    listed_to_count = False

    @property
    def _table(self) -> Array:
        """Vectors (n, d) of all actions."""
        return self._vectors[0] if self._layout.projection is None else self.space.tables[0]

    def addends(self, rows: Array) -> Addends:
        table = self._table
        return Addends((table if len(rows) == len(table) else table[rows[:, 0]],), (0,), None)

    def all_rows(self, most: int) -> Array | None:
        count = len(self._vectors[0])
        return np.arange(count)[:, None] if count <= most else None

    def parts(self, rows: Array) -> Array:
        return self._elements.row_values[0][rows]

    def _nearest_few(
        self, query: Array, k: int, metric: Metric, env: ContinuousEnv
    ) -> Neighbours | None:
        layout = self._layout
        fits = layout.projection is None and query.shape == layout.mean.shape and metric in CODES
        if k != 1 or not fits:
            return super()._nearest_few(query, k, metric, env)
        row, score = nearest_row(self._vectors[0], query, CODES[metric])
        found = Neighbours(np.array([[row]]), np.array([score]))
        if (
            row < 0
            or not env.are_valid_actions(env.actions_from_parts(self.parts(found.indices)))[0]
        ):
            return None
        return found


class RowValidity(LateValidity):
    """Answers for all choices of the last component at once, too."""

    _actions: ProductActions

    def rows(self, prefixes: Array) -> npt.NDArray[np.bool_]:
        """Validity of every choice of the last component, for prefixes (r, m - 1): (r, n_m)."""
        last = self._actions.space.shape[-1]
        rows = np.concatenate(
            [
                np.repeat(prefixes, last, axis=0),
                np.tile(np.arange(last), len(prefixes))[:, None],
            ],
            axis=1,
        )
        return self(rows).reshape(len(prefixes), last)
