"""Feature matrices of one graph view, kept up to date as the view changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.core.graph import EDGE, NODE, STRUCTURE, Column, GraphView
from lagco.embedding.extraction import AttributeReader
from lagco.embedding.feature_kernels import sync_all, sync_block, sync_row
from lagco.embedding.layout import TableLayout, ViewLayout
from lagco.errors import SpecError

Array: TypeAlias = npt.NDArray[Any]
Readers: TypeAlias = "Mapping[str, AttributeReader]"

#: Types of columns that kernels read as they are.
_COMPILED = frozenset(
    np.dtype(kind)
    for kind in ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")
)

#: What :meth:`ViewFeatures.sync` found: nothing new, touched attributes, or another graph.
SAME, TOUCHED, NEW = range(3)


class TableFeatures:
    """The matrix of the nodes (or edges) of one view, and which of its rows changed.

    Attributes are sorted into groups: 0 for the static ones together, one for each other. A reader
    of the matrix looks at ``changed[g, :counts[g]]`` and calls :meth:`clear`.

    Attributes:
        columns: float32 (width, rows), the matrix transposed so that a column is contiguous.
        dirty: uint8 (groups, rows), whether the row is listed in `changed`.
        changed: int32 (groups, rows), changed rows in no particular order.
        counts: int64 (groups,)
    """

    def __init__(self, layout: TableLayout, readers: Readers, grouped: bool, rows: int) -> None:
        self.layout = layout
        self._readers = [(entry, readers[entry.name]) for entry in layout]
        self.group_of = group_of_attributes(layout) if grouped else {e.name: 0 for e in layout}
        groups = 1 + max(self.group_of.values(), default=0)
        self._by_name = {
            entry.name: (reader, entry, self.group_of[entry.name])
            for entry, reader in self._readers
        }
        self.columns = np.zeros((layout.width, rows), dtype=np.float32)
        self.dirty = np.zeros((groups, rows), dtype=np.uint8)
        self.changed = np.zeros((groups, rows), dtype=np.int32)
        self.counts = np.zeros(groups, dtype=np.int64)
        #: contiguous rows of the arrays above, made once since indexing them costs microseconds
        self._parts = [(self.dirty[g], self.changed[g]) for g in range(groups)]
        self._plain_columns = {
            name: self.columns[entry.start]
            for name, (reader, entry, _) in self._by_name.items()
            if reader.plain
        }
        if layout.constant:
            self.columns[:] = 1.0

    @property
    def matrix(self) -> Array:
        """The matrix (rows, width), a view of `columns`."""
        return self.columns.T

    def fill(self, columns: Mapping[str, Column]) -> None:
        """Read every attribute and note all rows as changed."""
        for name in self._by_name:
            if name not in columns:
                if not self.columns.shape[1]:  # a networkx graph without edges names no attributes
                    continue
                known = ", ".join(columns) or "none"
                owner = self._by_name[name][0].owner
                raise SpecError(f"{owner} is missing; the view has {known}")
            self.sync(name, columns[name], (None,))
        self.dirty[:] = 1
        self.changed[:] = np.arange(self.changed.shape[1], dtype=np.int32)
        self.counts[:] = self.changed.shape[1]

    def sync(self, name: str, column: Column, touched: Sequence[Any]) -> None:
        """Compare the touched rows of an attribute (an entry None: all) and write what differs."""
        found = self._by_name.get(name)
        if found is None:  # not declared: the encoder does not read it
            return
        reader, entry, group = found
        dirty, changed = self._parts[group]
        count = self.counts[group]
        everything = any(rows is None for rows in touched)
        if (
            reader.plain
            and isinstance(column, np.ndarray)
            and (column.ndim == 1 and column.dtype in _COMPILED)
        ):
            out = self._plain_columns[name]
            if everything:
                count = sync_all(column, out, dirty, changed, count)
            else:
                for rows in touched:
                    if isinstance(rows, int):
                        count = sync_row(column, rows, out, dirty, changed, count)
                    else:
                        ids = _row_ids(rows, len(out))
                        count = sync_block(
                            column[ids].astype(np.float32)[:, None],
                            ids,
                            out[None],
                            dirty,
                            changed,
                            count,
                        )
                    if count < 0:
                        break
        else:
            if everything or not reader.per_row:
                ids = np.arange(self.columns.shape[1])
                block = reader.block(column)
            else:
                ids = np.unique(np.concatenate([_row_ids(t, len(column)) for t in touched]))
                block = reader.rows(column, ids)
            out = self.columns[entry.start : entry.stop]
            count = sync_block(block, ids, out, dirty, changed, count)
        if count < 0:
            raise SpecError(f"{reader.owner}: row {-1 - count} is not a finite number")
        self.counts[group] = count

    def clear(self) -> None:
        """Forget which rows changed."""
        for group, count in enumerate(self.counts):
            self.dirty[group, self.changed[group, :count]] = 0
        self.counts[:] = 0


class ViewFeatures:
    """Node and edge features of one view, recomputed only where the view says it changed.

    Args:
        layout: of the view.
        node_readers: by attribute.
        edge_readers: by attribute.
    """

    nodes: TableFeatures
    edges: TableFeatures

    def __init__(
        self, name: str, layout: ViewLayout, node_readers: Readers, edge_readers: Readers
    ) -> None:
        self.name = name
        self.layout = layout
        self._node_readers = node_readers
        self._edge_readers = edge_readers
        self._view: GraphView | None = None
        self._clock = 0

    def sync(self, view: GraphView) -> int:
        """Bring the matrices up to date; :data:`SAME`, :data:`TOUCHED` or :data:`NEW`."""
        if view is not self._view:
            return self._read(view)
        clock = view.clock
        if clock == self._clock:
            return SAME
        notes = view.notes_since(self._clock)
        if notes is None:
            return self._read(view)
        touched: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
        # as they are: merging them into sorted row sets costs more than encoding a small graph
        for kind, name, rows in notes:
            if kind == STRUCTURE:
                return self._read(view)
            touched[kind].setdefault(name, []).append(rows)
        for name, parts in touched[NODE].items():
            self.nodes.sync(name, view.nodes[name], parts)
        for name, parts in touched[EDGE].items():
            self.edges.sync(name, view.edge_attributes[name], parts)
        self._clock = clock
        return TOUCHED

    def clear(self) -> None:
        """Forget which rows changed."""
        self.nodes.clear()
        self.edges.clear()

    def forget(self) -> None:
        """Read everything again at the next call."""
        self._view = None

    def _read(self, view: GraphView) -> int:
        if view.directed != self.layout.directed:
            arrows = {True: "directed", False: "undirected"}
            raise SpecError(
                f"view {self.name!r} is {arrows[view.directed]}, the encoder was trained on "
                f"{arrows[self.layout.directed]} graphs"
            )
        self._view = None
        self.nodes = TableFeatures(self.layout.nodes, self._node_readers, True, view.num_nodes)
        self.edges = TableFeatures(self.layout.edges, self._edge_readers, False, view.num_edges)
        self.nodes.fill(view.nodes)
        self.edges.fill(view.edge_attributes)
        self._view = view
        self._clock = view.clock
        return NEW


def group_of_attributes(layout: TableLayout) -> dict[str, int]:
    """Group of each attribute: 0 for static ones, then one per attribute that may change."""
    groups: dict[str, int] = {}
    for entry in layout:
        groups[entry.name] = 0 if entry.static else 1 + max(groups.values(), default=0)
    return groups


def _row_ids(rows: Any, total: int) -> Array:
    if isinstance(rows, slice):
        return np.arange(*rows.indices(total))
    ids = np.atleast_1d(np.asarray(rows))
    if ids.dtype == np.bool_:
        return np.flatnonzero(ids)
    ids = ids.astype(np.int64)
    return np.where(ids < 0, ids + total, ids)
