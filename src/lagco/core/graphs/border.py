"""networkx graphs at the border: one array view per graph, brought up to date state by state.

Structure is read again only where it may differ, and a column is built again only where a value
differs from the one read before, so a state costs little more than listing its values once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain, pairwise
from operator import is_, itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.graphs.columns import Column, as_column, differing_rows, gathered

if TYPE_CHECKING:
    import networkx as nx

#: values that cannot change behind the back of a list that holds them
_FIXED: tuple[type, ...] = (str, bytes, bool, int, float, type(None), np.generic, tuple, frozenset)


_VALUES = methodcaller("values")


def node_order(
    labels: Sequence[Hashable], known: Iterable[Hashable] | None = None
) -> list[Hashable]:
    """Labels in the order in which nodes are numbered.

    Sorted, where every two labels compare; otherwise as they first appeared: those of `known`
    first, in that order, then the others as they come.
    """
    try:
        ordered = sorted(labels)  # type: ignore[type-var]
        if all(first < second for first, second in pairwise(ordered)):  # type: ignore[operator]
            return list(ordered)
    except (TypeError, ValueError):
        pass
    present = dict.fromkeys(labels)
    return list(dict.fromkeys([*(label for label in known or () if label in present), *labels]))


def edge_ends(ends: Sequence[tuple[Any, Any]], labels: Sequence[Hashable]) -> Array:
    """Edges as node numbers: (2, E)."""
    position = {label: index for index, label in enumerate(labels)}
    pairs = np.array([(position[u], position[v]) for u, v in ends], dtype=np.int64)
    return pairs.reshape(-1, 2).T


class NetworkxReader:
    """The array view of a networkx graph that is handed over anew in every state.

    Nodes are numbered by :func:`node_order`, so neither the order in which they were added nor a
    graph that is built anew in every state matters. Edges keep the order of ``graph.edges``.
    """

    def __init__(self) -> None:
        self._view: GraphView | None = None
        self._graph: nx.Graph[Any] | None = None
        self._listed: list[Hashable] = []  # labels as the graph lists them
        self._ordered: list[Hashable] = []
        self._order: list[int] | None = None  # rows of the graph's list, None where it is in order
        self._adjacent: list[Any] = []  # attributes of edges, as adjacency lists them
        self._heads: list[list[Hashable]] = []  # where they lead, node by node
        self._ends: list[tuple[Any, Any]] = []
        self._chosen: list[int] = []  # which of them are the edges, each once
        self._edge_rows: list[Mapping[str, Any]] = []
        self._columns: tuple[dict[str, _Known], dict[str, _Known]] = ({}, {})

    @property
    def view(self) -> GraphView | None:
        """The view as of the last reading."""
        return self._view

    def read(self, graph: nx.Graph[Any]) -> GraphView:
        """The view, equal to `graph`; what differs from the last state is noted as changed."""
        view = self._view
        kind = graph.is_directed(), graph.is_multigraph()
        if view is not None and kind != (view.directed, view.multigraph):
            self.__init__()  # type: ignore[misc]
            view = None
        labels, node_rows = list(graph), [row for _, row in graph.nodes(data=True)]
        same = labels == self._listed
        if not same:
            self._listed = labels
            self._ordered = node_order(labels, self._ordered)
            in_order = self._ordered == labels
            place = {label: row for row, label in enumerate(labels)}
            self._order = None if in_order else [place[label] for label in self._ordered]
        if self._order is not None:
            node_rows = [node_rows[row] for row in self._order]
        same = self._read_edges(graph) and same and view is not None
        if not same:
            view = self._renewed(graph, node_rows)
        else:
            assert view is not None
            self._update(view.nodes, self._columns[0], node_rows, view.touch_node, "node")
            self._update(
                view.edge_attributes, self._columns[1], self._edge_rows, view.touch_edge, "edge"
            )
        return view

    def _read_edges(self, graph: nx.Graph[Any]) -> bool:
        """Read the edges; whether they join the same labels in the same order as before.

        Everything that depends on their number runs in C as long as they stay the same.
        """
        neighbours = [row for _, row in graph.adjacency()]
        adjacent = list(chain.from_iterable(map(_VALUES, neighbours)))
        if graph.is_multigraph():
            keyed, adjacent = adjacent, list(chain.from_iterable(map(_VALUES, adjacent)))
        if (
            graph is self._graph
            and len(adjacent) == len(self._adjacent)
            and all(map(is_, adjacent, self._adjacent))
        ):
            return True  # the very same dictionaries, which this reader keeps alive
        self._graph, self._adjacent = graph, adjacent
        heads = list(map(list, neighbours))
        if graph.is_multigraph():  # an edge per key
            counts = iter(map(len, keyed))
            heads = [[v for v in row for _ in range(next(counts))] for row in heads]
        same = heads == self._heads
        if not same:
            self._heads = heads
            self._ends, self._chosen = _listed_once(self._listed, heads, graph.is_directed())
        self._edge_rows = [adjacent[place] for place in self._chosen]
        return same

    def _renewed(self, graph: nx.Graph[Any], node_rows: list[Mapping[str, Any]]) -> GraphView:
        labels = self._ordered
        edges = edge_ends(self._ends, labels)
        nodes = _owned(gathered(node_rows, None, "node", labels))
        edge_attributes = _owned(gathered(self._edge_rows, None, "edge", self._ends))
        for known, columns, rows in (
            (self._columns[0], nodes, node_rows),
            (self._columns[1], edge_attributes, self._edge_rows),
        ):
            known.clear()
            known.update({n: _Known([row[n] for row in rows]) for n in columns})
        numbered = labels == list(range(len(labels)))
        found = GraphView(
            len(labels),
            edges,
            nodes=nodes,
            edge_attributes=edge_attributes,
            directed=graph.is_directed(),
            labels=None if numbered else labels,
            multigraph=graph.is_multigraph(),
        )
        if self._view is None:
            self._view = found
        else:
            self._view.update_from(found)
        return self._view

    def _update(
        self,
        columns: dict[str, Column],
        known: dict[str, _Known],
        rows: Sequence[Mapping[str, Any]],
        touch: Any,
        kind: str,
    ) -> None:
        """Bring the columns of unchanged nodes or edges up to date."""
        if not rows:
            return
        try:
            now = {name: list(map(itemgetter(name), rows)) for name in known}
        except KeyError:
            now = {}
        if set(map(len, rows)) != {len(now)}:  # attributes came or went
            self._read_names(columns, known, rows, kind)
            return
        for name, values in now.items():
            if known[name].equal(values):
                continue
            known[name] = _Known(values)
            column = _own(as_column(values))
            changed = differing_rows(columns[name], column)
            if changed.size:
                columns[name] = column
                touch(name, changed)

    def _read_names(
        self,
        columns: dict[str, Column],
        known: dict[str, _Known],
        rows: Sequence[Mapping[str, Any]],
        kind: str,
    ) -> None:
        """Read all columns again; their names may differ."""
        labels = self._ordered if kind == "node" else self._ends
        found = _owned(gathered(rows, None, kind, labels))
        columns.clear()
        columns.update(found)
        known.clear()
        known.update({n: _Known([row[n] for row in rows]) for n in found})
        assert self._view is not None
        self._view.touch_structure()


def _listed_once(
    labels: Sequence[Hashable], heads: Sequence[Sequence[Hashable]], directed: bool
) -> tuple[list[tuple[Any, Any]], list[int]]:
    """Edges in the order of ``graph.edges``, and their places in the adjacency lists."""
    ends: list[tuple[Any, Any]] = []
    chosen: list[int] = []
    done: set[Hashable] = set()
    place = 0
    for tail, row in zip(labels, heads, strict=True):
        for head in row:
            if directed or head not in done:
                ends.append((tail, head))
                chosen.append(place)
            place += 1
        done.add(tail)
    return ends, chosen


def _owned(columns: Mapping[str, Column]) -> dict[str, Column]:
    return {name: _own(column) for name, column in columns.items()}


def _own(column: Column) -> Column:
    """The column with copies of values that the environment may change in place."""
    if isinstance(column, np.ndarray):
        return column
    return [value if isinstance(value, _FIXED) else copy(value) for value in column]


class _Known:
    """Values as they were read, to tell whether they differ now."""

    def __init__(self, values: list[Any]) -> None:
        kinds = set(map(type, values))
        # lists, sets and arrays may be changed in place, so they are always read again
        self._values = values if all(issubclass(kind, _FIXED) for kind in kinds) else None

    def equal(self, values: list[Any]) -> bool:
        return self._values is not None and self._values == values
