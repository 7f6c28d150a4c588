"""Feature matrices of one graph view, kept up to date as the view changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import EDGE, NODE, STRUCTURE, WIRING, GraphView
from lagco.core.graphs.columns import Column
from lagco.embedding.features.extraction import AttributeReader
from lagco.embedding.features.kernels import (
    FACTS,
    TYPES,
    Changes,
    note_rows,
    sync_columns,
    sync_rows,
)
from lagco.embedding.features.layout import TableLayout, ViewLayout
from lagco.errors import SpecError
from lagco.results.numbers import of_things

Readers: TypeAlias = Mapping[str, AttributeReader]

#: Rows of the smallest table.
_LEAST = 32
#: Of noted rows that lie so close together all between them are compared: faster than one by one.
_SPAN = 1024
#: Values of all attributes that may change, of which so many are all compared when one is touched:
#: faster than to go through the notes about each.
_WHOLE = 4096
#: What :meth:`ViewFeatures.sync` found: nothing new, touched attributes, beside them edges that
#: moved or nodes and edges that were added, or another graph.
SAME, TOUCHED, REWIRED, NEW = range(4)


class TableFeatures:
    """The matrix of the nodes (or edges) of one view, and which of its rows changed.

    Attributes are sorted into groups: 0 for the static ones together, one for each other. A reader
    of the matrix looks at ``changed[g, :counts[g]]`` and calls :meth:`clear`.

    Attributes:
        rows: how many there are.
        store: float32 (width, room), the matrix transposed so that a column is contiguous; zeros
            behind the last row. This array and the next two are others once rows were added.
        dirty: uint8 (groups, room), whether the row is listed in `changed`.
        changed: int32 (groups, room), changed rows in no particular order.
        counts: int64 (groups,)
        touched: whether attributes that may change are still to be compared, all their rows:
            :meth:`sync` does, or whoever reads `facts` and `whole`, arguments of
            :func:`sync_columns`.
        whole_columns: the columns of attributes that are compared as a whole, by name.
    """

    def __init__(self, layout: TableLayout, readers: Readers, grouped: bool) -> None:
        self.layout = layout
        self.group_of = group_of_attributes(layout) if grouped else {e.name: 0 for e in layout}
        groups = 1 + max(self.group_of.values(), default=0)
        self._columns = {
            entry.name: _Column(number, readers[entry.name], entry.start, self.group_of[entry.name])
            for number, entry in enumerate(layout)
        }
        self.facts = np.zeros((len(self._columns), FACTS), dtype=np.int64)
        self.whole = np.zeros(3 * len(self._columns), dtype=np.int64)
        self.whole[::3] = np.arange(len(self._columns))
        self.touched = False
        self.whole_columns: dict[str, Column] = {}
        self._noted: list[int] = []
        self.rows = 0
        self.store = np.zeros((layout.width, 0), dtype=np.float32)
        self.dirty = np.zeros((groups, 0), dtype=np.uint8)
        self.changed = np.zeros((groups, 0), dtype=np.int32)
        self.counts = np.zeros(groups, dtype=np.int64)

    @property
    def columns(self) -> Array:
        """float32 (width, rows), a view of `store`."""
        return self.store[:, : self.rows]

    @property
    def matrix(self) -> Array:
        """The matrix (rows, width), a view of `store`."""
        return self.columns.T

    @property
    def changes(self) -> Changes:
        """The rows that changed, as kernels take them."""
        return Changes(self.dirty, self.changed, self.counts)

    def extend(self, rows: int, columns: Mapping[str, Column]) -> None:
        """Read the rows behind those there are, up to `rows`, and note them as changed."""
        before, self.rows = self.rows, rows
        if rows == before:
            return
        self.whole_columns.clear()
        room = self.store.shape[1]
        if rows > room:
            room = room_for(rows, room)
            self.store = enlarged(self.store, 1, room)
            self.dirty = enlarged(self.dirty, 1, room)
            self.changed = enlarged(self.changed, 1, room)
        if self.layout.constant:
            self.store[:, before:rows] = 1.0
        for name, known in self._columns.items():
            if name not in columns:
                listed = ", ".join(columns) or "none"
                raise SpecError(f"{known.reader.owner} is missing; the view has {listed}")
            fresh = slice(before, rows)
            if not self.note(name, columns[name], fresh):
                self.extract(name, columns[name], [fresh])
        self.sync()
        note_rows(before, rows, self.changes)
        self._choose_whole(columns)

    def restart(self) -> None:
        """Forget all rows; the arrays stay, for those of another graph."""
        self.rows = 0
        self.touched = False
        self.whole_columns.clear()
        self._noted = []
        self.store[:] = 0.0
        self.dirty[:] = 0
        self.counts[:] = 0

    def _choose_whole(self, columns: Mapping[str, Column]) -> None:
        """Which attributes are compared as a whole: in a small table those that may change."""
        self.whole[2::3] = 0
        changing = {entry.name: entry for entry in self.layout if not entry.static}
        values = sum(entry.stop - entry.start for entry in changing.values()) * self.rows
        for name in changing if values <= _WHOLE else ():
            known = self._columns[name]
            if known.source is columns[name]:
                self.whole_columns[name] = known.source
                self.whole[3 * known.number + 2] = self.rows

    def note(self, name: str, column: Column, rows: Any) -> bool:
        """Remember touched rows of an attribute (None: all) for :meth:`sync`.

        Returns:
            False where that needs more than looking at these rows, see :meth:`extract`.
        """
        known = self._columns.get(name)
        if known is None:  # not declared: the encoder does not read it
            return True
        if column is not known.source or len(column) != self.rows:
            known_whole = self.whole_columns.pop(name, None) is not None
            if not known.takes(column, self.rows):
                self.whole[3 * known.number + 2] = 0
                return False
            self.facts[known.number] = known.facts()
            if known_whole:
                self.whole_columns[name] = column
        if rows is None:
            self._noted += (known.number, 0, self.rows)
        elif isinstance(rows, int) and 0 <= rows < self.rows:
            self._noted += (known.number, rows, rows + 1)
        elif isinstance(rows, slice) and rows.step is None:
            self._noted += (known.number, *rows.indices(self.rows)[:2])
        else:
            listed = _listed_rows(rows, self.rows)
            if listed:
                low, high = min(listed), max(listed) + 1
                if high - low <= _SPAN:
                    self._noted += (known.number, low, high)
                else:
                    for row in listed:
                        self._noted += (known.number, row, row + 1)
        return True

    def sync(self) -> None:
        """Compare the rows noted so far with the matrix and write what differs."""
        self.sync_noted()
        if self.touched:
            self.touched = False
            self._compare(self.whole)

    def sync_noted(self) -> None:
        """The same, but for attributes that are compared as a whole."""
        if self._noted:
            wanted, self._noted = np.array(self._noted), []
            self._compare(wanted)

    def _compare(self, wanted: Array) -> None:
        number, bad = sync_columns(wanted, self.facts, self.store, self.changes)
        if bad >= 0:
            raise self.not_finite(number, bad)

    def not_finite(self, number: int, row: int) -> SpecError:
        """What to say about a value of attribute `number` that is none."""
        return list(self._columns.values())[number].not_finite(row)

    def extract(self, name: str, column: Column, touched: Sequence[Any]) -> None:
        """The same for all touched rows of an attribute that is extracted or normed."""
        known = self._columns[name]
        reader = known.reader
        if not reader.per_row or any(rows is None for rows in touched):
            ids, block = np.arange(self.rows), reader.block(column)
        else:
            listed = [_row_ids(rows, self.rows) for rows in touched]
            ids = listed[0] if len(listed) == 1 else np.unique(np.concatenate(listed))
            block = reader.rows(column, ids)
        bad = sync_rows(block, ids, self.store, known.start, known.group, self.changes)
        if bad >= 0:
            raise known.not_finite(bad)

    def clear(self) -> None:
        """Forget which rows changed."""
        for group, count in enumerate(self.counts):
            self.dirty[group, self.changed[group, :count]] = 0
        self.counts[:] = 0


class _Column:
    """Columns of one attribute in the matrix, from `start` on; its changes go to a group."""

    __slots__ = ("block", "group", "number", "reader", "source", "start")

    def __init__(self, number: int, reader: AttributeReader, start: int, group: int) -> None:
        self.number = number
        self.reader = reader
        self.start = start
        self.group = group
        self.block: Array = np.zeros((0, 0))
        self.source: Any = None  # a problem writes to the same array again and again

    def takes(self, column: Column, rows: int) -> bool:
        """Whether kernels can read the values as they are; if so, they are `block` (n, width)."""
        if len(column) != rows:
            raise SpecError(
                f"{self.reader.owner} has {of_things(len(column), 'rows')}, the view has {rows}"
            )
        if not (self.reader.plain and isinstance(column, np.ndarray) and column.dtype in TYPES):
            return False
        width = self.reader.width
        if column.shape[1:] != (width,) and not (column.ndim == 1 and width == 1):
            return False
        self.source, self.block = column, column.reshape(len(column), width)
        return True

    def facts(self) -> tuple[int, ...]:
        """Address of the values for :func:`sync_columns`, valid as long as `block` is kept."""
        block = self.block
        kind = TYPES.index(block.dtype)
        width = block.shape[1]
        return block.ctypes.data, kind, *block.strides, width, self.start, self.group

    def not_finite(self, row: int) -> SpecError:
        """Error about a missing value."""
        return SpecError(
            f"{self.reader.owner}: row {row} is not a finite number, but NaN or infinite; keep "
            "every value finite in every state"
        )


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
        """Bring the matrices up to date.

        Returns:
            :data:`SAME`, :data:`TOUCHED`, :data:`REWIRED` or :data:`NEW`.
        """
        found = self.look(view)
        self.nodes.sync()
        self.edges.sync()
        return found

    def look(self, view: GraphView) -> int:
        """The same, but touched attributes of small tables are left to be compared."""
        if view is not self._view:
            return self._read(view)
        clock = view.clock
        if clock == self._clock:
            return SAME
        notes = view.notes_since(self._clock)
        if notes is None or view.last_change(STRUCTURE, "") > self._clock:
            return self._read(view)
        found = TOUCHED
        nodes, edges = self.nodes, self.edges
        if view.last_change(WIRING, "") > self._clock:
            found = REWIRED
            nodes.extend(view.num_nodes, view.nodes)
            edges.extend(view.num_edges, view.edge_attributes)
        # as they are: merging them into sorted row sets costs more than encoding a small graph
        later: dict[tuple[int, str], list[Any]] = {}
        for kind, name, rows in notes:
            if kind == NODE:
                table, column = nodes, view.nodes[name]
            elif kind == EDGE:
                table, column = edges, view.edge_attributes[name]
            else:
                continue
            if table.whole_columns.get(name) is column and (
                rows is None or (isinstance(rows, int) and 0 <= rows < table.rows)
            ):
                table.touched = True
            elif not table.note(name, column, rows):
                later.setdefault((kind, name), []).append(rows)
        for (kind, name), touched in later.items():
            if kind == NODE:
                nodes.extract(name, view.nodes[name], touched)
            else:
                edges.extract(name, view.edge_attributes[name], touched)
        nodes.sync_noted()
        edges.sync_noted()
        self._clock = clock
        return found

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
        before, self._view = self._view, None
        if before is view:
            self.nodes.restart()
            self.edges.restart()
        else:
            self.nodes = TableFeatures(self.layout.nodes, self._node_readers, True)
            self.edges = TableFeatures(self.layout.edges, self._edge_readers, False)
        self.nodes.extend(view.num_nodes, view.nodes)
        self.edges.extend(view.num_edges, view.edge_attributes)
        self._view = view
        self._clock = view.clock
        return NEW


def group_of_attributes(layout: TableLayout) -> dict[str, int]:
    """Group of each attribute: 0 for static ones, then one per attribute that may change."""
    groups: dict[str, int] = {}
    for entry in layout:
        groups[entry.name] = 0 if entry.static else 1 + max(groups.values(), default=0)
    return groups


def room_for(rows: int, room: int) -> int:
    """Rows to make room for, where there is `room` so far: not too few for a graph that grows."""
    return max(rows, room + room // 2, _LEAST)


def enlarged(array: Array, axis: int, room: int) -> Array:
    """A copy with `room` along an axis, zeros behind what there was."""
    shape = list(array.shape)
    shape[axis] = room
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(slice(0, size) for size in array.shape)] = array
    return larger


def _row_ids(rows: Any, total: int) -> Array:
    return np.array(_listed_rows(rows, total), dtype=np.int64)


def _listed_rows(rows: Any, total: int) -> list[int]:
    """Numbers of rows; a few are sooner looked through here than by numpy."""
    if isinstance(rows, slice):
        return list(range(*rows.indices(total)))
    ids = rows if isinstance(rows, np.ndarray) and rows.ndim else np.atleast_1d(rows)
    if ids.dtype == np.bool_:
        ids = np.flatnonzero(ids)
    listed: list[int] = ids.tolist()
    if listed:
        low = min(listed)
        if low < -total or max(listed) >= total:
            raise SpecError(f"row {rows} was noted as changed, there are {total}")
        if low < 0:
            listed = [row + total if row < 0 else row for row in listed]
    return listed
