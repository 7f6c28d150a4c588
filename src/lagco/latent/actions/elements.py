"""Elements of action sets: the choices of all components, conditions and sizes; no vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numba import types

from lagco.arrays import Array
from lagco.latent.actions.components import Table
from lagco.latent.actions.layout import ActionLayout
from lagco.latent.kernels import (
    ASKED,
    EQUAL,
    NO_VALUES,
    NONE,
    VECTORS,
    nearest_parts,
    nearest_paths,
    part_values,
)
from lagco.runtime.bound_arguments import bind
from lagco.search import LISTED, Dependence, ProductSpace
from lagco.search.listed_kernels import list_tuples


class ActionElements:
    """The elements of all components but the last, and the conditions between them.

    From one state to the next they often stay the same while all vectors change; then this object
    is kept, and with it what is found out here.

    Args:
        tables: of the components other than the last, by name.
        layout: of the actions.
    """

    def __init__(self, tables: Mapping[str, Table], layout: ActionLayout) -> None:
        self._values = {name: table.values for name, table in tables.items()}
        self._offsets = {name: table.offsets for name, table in tables.items()}
        self._names = layout.names
        self._references = layout.references
        self._different = layout.different
        self._paired = layout.paired
        self._space: ProductSpace | None = None
        #: listed paths, and the compiled search among them or among the actions of a product
        self._search: tuple[Array, Callable[..., Any]] | None = None
        #: listed actions and their values
        self._parts: tuple[Array, Array] | None = None
        #: share of the actions asked about last that were valid
        self.valid_share = 1.0
        names = layout.names
        #: what the rows of all components stand for, in the order of the search
        self.row_values = tuple([self._values[name] for name in names])
        weights = self.weights if layout.references or layout.different else {}
        #: the :attr:`weights` of all components in the order of the search
        self.row_weights = tuple([weights.get(name, EQUAL) for name in names])

    def fits(self, tables: Mapping[str, Table]) -> bool:
        """Whether these tables have the same elements."""
        values, offsets = self._values, self._offsets
        for name, table in tables.items():
            if table.values is not values[name] or table.offsets is not offsets[name]:
                return False
        return True

    def space(self, vectors: Sequence[Array], pooling: Any) -> ProductSpace:
        """The product of the components with these vectors, in the order of the search."""
        if self._space is None:
            self._space = self._product(vectors, pooling)
            return self._space
        return self._space.renewed(vectors)

    def _product(self, vectors: Sequence[Array], pooling: Any) -> ProductSpace:
        position = {name: c for c, name in enumerate(self._names)}
        depends = {}
        for child, parent in self._references.items():
            offsets = self._offsets[child]
            assert offsets is not None
            depends[position[child]] = Dependence(position[parent], offsets, np.arange(offsets[-1]))
        return ProductSpace(
            vectors,
            depends=depends,
            different=[(position[a], position[b]) for a, b in self._different.items()],
            ids=[self._values[name] for name in self._names],
            pooling=pooling,
        )

    @cached_property
    def axes(self) -> Any:
        """Axes of the product as `score_tuples` reads them; None where not all are listed."""
        if self._different or not 0 < self.size <= LISTED:
            return None
        count = len(self._names)
        if not self._references:
            return np.arange(count), (NONE,) * count, np.zeros(count, np.bool_)
        if self._paired:
            return self._pairs()
        space = self._blank
        return space.axes.members if space.listable(space.size) else None

    def _pairs(self) -> Any:
        """:attr:`axes` where every axis has a component, or one and what refers to it."""
        count = len(self._names)
        axis_of = np.empty(count, np.int64)
        merged = np.zeros(count, np.bool_)
        members = [NONE] * count
        axis = -1
        for c, name in enumerate(self._names):
            offsets = self._offsets[name] if name in self._references else None
            axis += offsets is None
            axis_of[c] = axis
            if offsets is not None:
                merged[c - 1 : c + 1] = True
                members[c - 1] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
                members[c] = np.arange(offsets[-1])
        return axis_of, tuple(members), merged

    def nearest_parts(self, layout: ActionLayout) -> Callable[..., Any]:
        """:func:`~lagco.latent.kernels.nearest_parts` of these actions, :attr:`axes` known."""
        if self._search is None:
            bound = layout.offsets, self.axes, self.row_values, layout.order
            tables = types.UniTuple(VECTORS, len(self._names))
            self._search = NONE, bind(nearest_parts, bound, tables, *ASKED)
        return self._search[1]

    def nearest_paths(self, layout: ActionLayout, listed: Array) -> Callable[..., Any]:
        """:func:`~lagco.latent.kernels.nearest_paths` of listed paths (N, 1 + T)."""
        if self._search is None or self._search[0] is not listed:
            bound = listed, layout.searched, self.row_values, layout.order
            slots = types.Array(types.float32, 3, "C")
            self._search = listed, bind(nearest_paths, bound, VECTORS, slots, *ASKED)
        return self._search[1]

    def parts(self, rows: Array, order: Array) -> Array:
        """Values (N, m) of listed actions; looked up once, as they are the same in every state."""
        if self._parts is None or self._parts[0] is not rows:
            self._parts = rows, part_values(rows, self.row_values or NO_VALUES, order)
        return self._parts[1]

    @cached_property
    def listed(self) -> Array:
        """Search rows (N, m) of all actions in order, where :attr:`axes` are known."""
        axis_of, members, merged = self.axes
        lengths = np.array([len(values) for values in self.row_values])
        found: Array = list_tuples(axis_of, members, merged, lengths)
        return found

    @cached_property
    def _blank(self) -> ProductSpace:
        """The product with vectors without columns, where these do not matter."""
        vectors = [np.zeros((len(values), 0), np.float32) for values in self.row_values]
        return self._product(vectors, "concat")

    @property
    def size(self) -> int:
        """Number of combinations; several exclusions at once are listed for it."""
        if not self._references and not self._different:
            return math.prod(map(len, self.row_values))
        return self._conditional_size

    @cached_property
    def _conditional_size(self) -> int:
        if len(self._different) > 1:
            return len(self._blank.list())
        size = self._size_by_reference()
        excluded = 0
        for a, b in self._different.items():
            first, second = self._values[a], self._values[b]
            common = len(np.intersect1d(first, second))
            excluded = common * (size // max(len(first) * len(second), 1))
        return size - excluded

    def _size_by_reference(self) -> int:
        """Number of actions, exclusions not counted."""
        if self._paired:
            offsets = [self._offsets[name] for name in self._references]
            alone = {*self._names} - {*self._references, *self._references.values()}
            pairs = math.prod(int(o[-1]) for o in offsets if o is not None)
            return pairs * math.prod(len(self._values[name]) for name in alone)
        ways = {name: np.ones(len(values), np.int64) for name, values in self._values.items()}
        for name in reversed(self._names):
            if name in self._references:
                before = np.concatenate([[0], np.cumsum(ways[name])])
                ways[self._references[name]] *= np.diff(before[self._offsets[name]])
        roots = [name for name in self._names if name not in self._references]
        return math.prod(int(ways[name].sum()) for name in roots)

    @cached_property
    def choices(self) -> float:
        """Choices of all components, conditions apart."""
        return math.prod(float(len(values)) for values in self._values.values())

    @cached_property
    def weights(self) -> dict[str, Array]:
        """Number of actions that contain each element, where it is not the same for all."""
        weights: dict[str, Array] = {}
        for child, parent in self._references.items():
            offsets = self._offsets[child]
            assert offsets is not None
            count = np.diff(offsets).astype(np.float64)
            if parent in weights or np.any(count != count[:1]):
                weights[parent] = weights.get(parent, 1.0) * count
        for a, b in self._different.items():
            first, second = self._values[a], self._values[b]
            common_a = np.isin(first, second)
            common_b = np.isin(second, first)
            weights[a] = weights.get(a, 1.0) * (len(second) - common_a).astype(np.float64)
            weights[b] = weights.get(b, 1.0) * (len(first) - common_b).astype(np.float64)
        return weights
