"""Array view of a graph, as encoders, action sets and policies read it.

A view is a node count, an edge array, and named arrays over nodes and edges. Problems change the
arrays in place and note what they touched; readers ask what was touched since they last looked and
recompute no more than that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array
from lagco.core.graphs.columns import (
    Column,
    Part,
    Rows,
    as_part,
    copied,
    differing_rows,
    gathered,
    merged_rows,
    plain_value,
    selected_rows,
)
from lagco.errors import SpecError
from lagco.results.numbers import of_things

if TYPE_CHECKING:
    import networkx as nx

_JOURNAL_LIMIT = 4096
#: kinds of changes: rows of a node or edge attribute; moved edges, or appended nodes and edges;
#: other nodes and edges altogether
NODE, EDGE, WIRING, STRUCTURE = range(4)


@dataclass(frozen=True)
class Changes:
    """Changes to a view since a reader last asked.

    Attributes:
        structure: there are other nodes or edges; everything must be read again.
        nodes: touched rows per node attribute, sorted; None for all rows.
        edges: likewise per edge attribute.
        wiring: edges join other nodes, or nodes and edges were appended; earlier ones keep their
            numbers and, unless touched, their attributes.
    """

    structure: bool
    nodes: Mapping[str, Array | None]
    edges: Mapping[str, Array | None]
    wiring: bool = False

    def __bool__(self) -> bool:
        return self.structure or self.wiring or bool(self.nodes) or bool(self.edges)


class GraphView:
    """A graph as arrays.

    Args:
        num_nodes: number of nodes n; nodes are 0 … n-1.
        edges: int array (2, E); an undirected edge is listed once.
        nodes: node attributes, each with n rows.
        edge_attributes: edge attributes, each with E rows.
        directed: whether (u, v) differs from (v, u).
        labels: names of the nodes outside of lagco; 0 … n-1 by default.
        multigraph: whether parallel edges are allowed.

    The columns are the ones given, not copies, so a problem may keep writing to its own arrays.
    """

    __slots__ = (
        "_base",
        "_journal",
        "_last",
        "directed",
        "edge_attributes",
        "edges",
        "labels",
        "multigraph",
        "nodes",
        "num_nodes",
    )

    def __init__(
        self,
        num_nodes: int,
        edges: npt.ArrayLike,
        *,
        nodes: Mapping[str, Column] | None = None,
        edge_attributes: Mapping[str, Column] | None = None,
        directed: bool = False,
        labels: Sequence[Hashable] | None = None,
        multigraph: bool = False,
    ) -> None:
        self.directed = directed
        self.multigraph = multigraph
        self._journal: list[tuple[int, str, Rows]] = []
        self._base = 0
        self._last: dict[tuple[int, str], int] = {}
        self.nodes: dict[str, Column]
        self.edge_attributes: dict[str, Column]
        pairs = _checked_edges(edges, num_nodes)
        self._set(num_nodes, pairs, nodes or {}, edge_attributes or {}, labels)

    def _set(
        self,
        num_nodes: int,
        edges: Array,
        nodes: Mapping[str, Column],
        edge_attributes: Mapping[str, Column],
        labels: Sequence[Hashable] | None,
    ) -> None:
        _check_rows("node", nodes, num_nodes)
        _check_rows("edge", edge_attributes, edges.shape[1])
        if labels is not None and len(labels) != num_nodes:
            raise SpecError(
                f"{of_things(len(labels), 'labels')} for {of_things(num_nodes, 'nodes')}"
            )
        self.num_nodes = num_nodes
        self.edges = edges
        self.nodes = dict(nodes)
        self.edge_attributes = dict(edge_attributes)
        self.labels = list(labels) if labels is not None else None

    @property
    def num_edges(self) -> int:
        """Number of edges E, an undirected one counted once."""
        return int(self.edges.shape[1])

    def __repr__(self) -> str:
        arrow = "directed" if self.directed else "undirected"
        return (
            f"GraphView({self.num_nodes} nodes, {self.num_edges} {arrow} edges, "
            f"nodes={list(self.nodes)}, edge_attributes={list(self.edge_attributes)})"
        )

    # -- writing

    def set_node(self, name: str, rows: Rows, value: Any) -> None:
        """Write `value` to rows of a node attribute and note the change."""
        self.nodes[name][slice(None) if rows is None else rows] = value
        self.touch_node(name, rows)

    def set_edge(self, name: str, rows: Rows, value: Any) -> None:
        """Write `value` to rows of an edge attribute and note the change."""
        column = self.edge_attributes[name]
        column[slice(None) if rows is None else rows] = value
        self.touch_edge(name, rows)

    def touch_node(self, name: str, rows: Rows = None) -> None:
        """Note that these rows of a node attribute were written in place; None means all."""
        self._note(NODE, name, rows)

    def touch_edge(self, name: str, rows: Rows = None) -> None:
        """Note that these rows of an edge attribute were written in place; None means all."""
        self._note(EDGE, name, rows)

    def touch(self, nodes: Iterable[str] = (), edges: Iterable[str] = ()) -> None:
        """Note that all rows of these attributes may have changed, in one call for many."""
        journal, last = self._journal, self._last
        for kind, names in ((NODE, nodes), (EDGE, edges)):
            for name in names:
                journal.append((kind, name, None))
                last[kind, name] = self._base + len(journal)
        self._cut()

    def touch_all(self) -> None:
        """Note that every attribute may have changed, as after a reset."""
        self.touch(self.nodes, self.edge_attributes)

    def touch_structure(self) -> None:
        """Note that there are other nodes, edges or attributes, so that all is read again."""
        self._note(STRUCTURE, "", None)

    def replace(
        self,
        num_nodes: int,
        edges: npt.ArrayLike,
        *,
        nodes: Mapping[str, Column] | None = None,
        edge_attributes: Mapping[str, Column] | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        """Give the view other nodes and edges, with all their attributes."""
        pairs = _checked_edges(edges, num_nodes)
        self._set(num_nodes, pairs, nodes or {}, edge_attributes or {}, labels)
        self.touch_structure()

    def extend(
        self,
        edges: npt.ArrayLike = (),
        *,
        num_nodes: int | None = None,
        nodes: Mapping[str, Column] | None = None,
        edge_attributes: Mapping[str, Column] | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        """Add nodes and edges behind those there are, which readers need not read again.

        Args:
            edges: (2, k), the new ones.
            num_nodes: nodes from now on; as many as there are by default.
            nodes: all node attributes, the rows there were first; by default as they are.
            edge_attributes: likewise.
            labels: of all nodes.

        Old rows that change on this occasion are noted as usual.
        """
        total = self.num_nodes if num_nodes is None else num_nodes
        if total < self.num_nodes:
            raise SpecError(
                f"extend(num_nodes={total}): there are {of_things(self.num_nodes, 'nodes')}; "
                "use replace()"
            )
        more = _checked_edges(edges, total)
        ends = np.concatenate([self.edges, more], axis=1) if more.size else self.edges
        columns = self.edge_attributes if edge_attributes is None else edge_attributes
        if total == self.num_nodes and nodes is None and labels is None:
            _check_rows("edge", columns, ends.shape[1])
            self.edges, self.edge_attributes = ends, dict(columns)
        else:
            nodes = self.nodes if nodes is None else nodes
            labels = self.labels if labels is None else labels
            self._set(total, ends, nodes, columns, labels)
        self._note(WIRING, "", None)

    def move_edges(self, rows: Rows, heads: Any, tails: Any = None) -> None:
        """Let these edges end at the nodes `heads` (and begin at `tails`, where given)."""
        chosen = slice(None) if rows is None else rows
        for side, ends in ((0, tails), (1, heads)):
            if ends is None:
                continue
            low, high = (ends, ends) if isinstance(ends, int) else (np.min(ends), np.max(ends))
            if low < 0 or high >= self.num_nodes:
                raise SpecError(
                    f"move_edges() names node {low if low < 0 else high}, but the nodes are 0 to "
                    f"{self.num_nodes - 1}"
                )
            self.edges[side, chosen] = ends
        self._note(WIRING, "", None)

    def update_from(self, other: GraphView) -> None:
        """Become equal to `other`, noting just the rows that differ."""
        same = (
            self.num_nodes == other.num_nodes
            and self.labels == other.labels
            and np.array_equal(self.edges, other.edges)
            and self.nodes.keys() == other.nodes.keys()
            and self.edge_attributes.keys() == other.edge_attributes.keys()
        )
        if not same:
            self.replace(
                other.num_nodes,
                other.edges,
                nodes=other.nodes,
                edge_attributes=other.edge_attributes,
                labels=other.labels,
            )
            return
        for mine, theirs, touch in (
            (self.nodes, other.nodes, self.touch_node),
            (self.edge_attributes, other.edge_attributes, self.touch_edge),
        ):
            for name, column in theirs.items():
                rows = differing_rows(mine[name], column)
                if rows.size:
                    mine[name] = column
                    touch(name, rows)

    # -- reading

    @property
    def clock(self) -> int:
        """Moves on with every noted change; hand it to :meth:`changes_since` later."""
        return self._base + len(self._journal)

    def changes_since(self, clock: int) -> Changes:
        """Changes since the view's clock showed `clock`."""
        if clock < self._base:  # the journal does not reach back so far
            return Changes(True, dict.fromkeys(self.nodes), dict.fromkeys(self.edge_attributes))
        structure = wiring = False
        touched: tuple[dict[str, list[Rows]], dict[str, list[Rows]]] = ({}, {})
        for kind, name, rows in self._journal[clock - self._base :]:
            if kind == STRUCTURE:
                structure = True
            elif kind == WIRING:
                wiring = True
            else:
                touched[kind].setdefault(name, []).append(rows)
        return Changes(
            structure,
            {name: merged_rows(rows, self.num_nodes) for name, rows in touched[NODE].items()},
            {name: merged_rows(rows, self.num_edges) for name, rows in touched[EDGE].items()},
            wiring,
        )

    def notes_since(self, clock: int) -> list[tuple[int, str, Rows]] | None:
        """The notes themselves, oldest first, for readers in a hurry: (kind, attribute, rows).

        Kinds are `NODE`, `EDGE`, `WIRING` and `STRUCTURE`. None where the journal does not reach
        back so far.
        """
        return None if clock < self._base else self._journal[clock - self._base :]

    def last_change(self, kind: int, name: str) -> int:
        """What the clock showed after the last note of a kind about an attribute; 0 without one."""
        return self._last.get((kind, name), 0)

    def select_nodes(self, spec: Mapping[str, Any] | None) -> Array:
        """Indices of the nodes that meet `spec`: attribute = value, or a predicate on its array."""
        return selected_rows(self.nodes, spec, self.num_nodes, "node")

    def select_edges(self, spec: Mapping[str, Any] | None) -> Array:
        """Indices of the edges that meet `spec`."""
        return selected_rows(self.edge_attributes, spec, self.num_edges, "edge")

    def copy(self) -> GraphView:
        """A deep copy with a journal of its own."""
        return GraphView(
            self.num_nodes,
            self.edges.copy(),
            nodes={name: copied(column) for name, column in self.nodes.items()},
            edge_attributes={n: copied(column) for n, column in self.edge_attributes.items()},
            directed=self.directed,
            labels=self.labels,
            multigraph=self.multigraph,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in self.__slots__}
        # a copy keeps no notes, which may be thousands: its readers read everything once
        state |= {"_journal": [], "_base": self._base + len(self._journal)}
        for name in ("nodes", "edge_attributes"):
            state[name] = {key: as_part(column) for key, column in state[name].items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        for name in ("nodes", "edge_attributes"):
            columns = getattr(self, name)
            for key, column in columns.items():
                if isinstance(column, Part):
                    columns[key] = column.column()

    # -- networkx

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph[Any],
        node_attributes: Iterable[str] | None = None,
        edge_attributes: Iterable[str] | None = None,
    ) -> GraphView:
        """Read a networkx graph; nodes are numbered by label, and their names become labels.

        They are sorted where all labels compare with each other, else in the order of the graph.
        Edges keep the order of ``graph.edges``; a multigraph's parallel edges are one each.

        Args:
            graph: any of networkx's four graph classes.
            node_attributes: which attributes to read; all by default.
            edge_attributes: likewise.

        Raises:
            SpecError: an attribute is missing on some node or edge.
        """
        from lagco.core.graphs.border import edge_ends, node_order

        labels = node_order(list(graph.nodes))
        node_data = [graph.nodes[label] for label in labels]
        triples = list(graph.edges(data=True))
        return cls(
            len(labels),
            edge_ends([(u, v) for u, v, _ in triples], labels),
            nodes=gathered(node_data, node_attributes, "node", labels),
            edge_attributes=gathered(
                [data for *_, data in triples],
                edge_attributes,
                "edge",
                [(u, v) for u, v, _ in triples],
            ),
            directed=graph.is_directed(),
            labels=None if labels == list(range(len(labels))) else labels,
            multigraph=graph.is_multigraph(),
        )

    def to_networkx(self) -> nx.Graph[Any]:
        """A networkx graph with the same nodes, edges and attributes as Python values."""
        import networkx as nx  # slow to import

        kinds = {
            (False, False): nx.Graph,
            (True, False): nx.DiGraph,
            (False, True): nx.MultiGraph,
            (True, True): nx.MultiDiGraph,
        }
        graph: nx.Graph[Any] = kinds[self.directed, self.multigraph]()
        labels = self.labels if self.labels is not None else range(self.num_nodes)
        for row, label in enumerate(labels):
            graph.add_node(
                label, **{k: plain_value(column, row) for k, column in self.nodes.items()}
            )
        for row, (u, v) in enumerate(self.edges.T.tolist()):
            graph.add_edge(
                labels[u],
                labels[v],
                **{k: plain_value(column, row) for k, column in self.edge_attributes.items()},
            )
        return graph

    def _note(self, kind: int, name: str, rows: Rows) -> None:
        journal = self._journal
        journal.append((kind, name, rows))
        self._last[kind, name] = self._base + len(journal)
        if len(journal) > _JOURNAL_LIMIT:
            self._cut()

    def _cut(self) -> None:
        """Forget the older half of a journal that is too long."""
        if len(self._journal) > _JOURNAL_LIMIT:
            half = _JOURNAL_LIMIT // 2
            del self._journal[:half]
            self._base += half


def _check_rows(kind: str, columns: Mapping[str, Column], rows: int) -> None:
    for name, column in columns.items():
        if len(column) != rows:
            raise SpecError(f"{kind} attribute {name!r} has {len(column)} rows for {rows} {kind}s")


def _checked_edges(edges: npt.ArrayLike, num_nodes: int) -> Array:
    pairs = np.asarray(edges, dtype=np.int64)
    if pairs.size == 0:
        return pairs.reshape(2, 0)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise SpecError(f"edges must have shape (2, E), got {pairs.shape}; transpose them?")
    if pairs.shape[1] == 1:  # an edge at a time is common
        first, second = pairs.ravel().tolist()
        low, high = min(first, second), max(first, second)
    else:
        low, high = pairs.min(), pairs.max()
    if low < 0 or high >= num_nodes:
        raise SpecError(
            f"edges name node {low if low < 0 else high}, but the nodes are 0 to {num_nodes - 1}"
        )
    return pairs
