"""Components of an action: the choices in a state, and the vector of each.

A reader per declared component turns a state into a table: the value each row stands for (a node,
an edge, an option) and its vector, standardised by the columns of the scale that belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_not
from typing import Any, Protocol, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import EDGE, NODE, GraphView
from lagco.core.pooling import AnyPooling, Concat
from lagco.core.spec import Component, Edge, Node, Object, SubGraph
from lagco.embedding.embedder import Embedder
from lagco.embedding.features.layout import ViewLayout
from lagco.embedding.features.reduction import Reduction, fit_reduction
from lagco.embedding.text.extractor import embed_texts
from lagco.errors import SpecError, suggest
from lagco.latent.kernels import (
    ATTACHED,
    EDGES,
    NO_EDGES,
    NO_JOB,
    NO_ROWS,
    NO_TABLE,
    NO_VALUES_3D,
    NODES,
    NONE,
)
from lagco.latent.selection import Selection, Watch
from lagco.results.numbers import of_things

#: view, kind and attribute of a note in the journal of a view
Note: TypeAlias = tuple[str, int, str]


@dataclass(slots=True)
class State:
    """Input of readers: views, embeddings per view (n, p), and the embedder's features."""

    views: Mapping[str, GraphView]
    embeddings: Mapping[str, Array]
    embedder: Embedder


@dataclass(slots=True)
class Table:
    """Choices of one component in a state.

    Attributes:
        values: (k,) what the rows stand for: node or edge index, option, position in a list. The
            same array as in the state before where it may be.
        vectors: (k, d) float32.
        offsets: likewise; for objects of another component's elements: element e of that one admits
            the rows offsets[e] … offsets[e + 1].
    """

    values: Array
    vectors: Array
    offsets: Array | None = None


#: how to write vectors that are there already
GIVEN = (NO_JOB, NO_ROWS)


class Reader(Protocol):
    """Reads the table of one component.

    Attributes:
        width: of its vectors.
        notes: after which it may have other elements: view, kind and attribute.
    """

    width: int
    notes: Sequence[Note]

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        """The table of a state, standardised by `mean` and `scale` (d,), and how to write it.

        The latter are the job and the rows for `write_vectors`, which fills in the vectors;
        :data:`GIVEN` where they are there already. The job is the same tuple as in the state
        before where it may be.
        """
        ...

    def lasts(self, state: State) -> bool:
        """Whether a table of this state would differ from the last one in written vectors alone.

        Views, embeddings and what :attr:`notes` are about are the same as then.
        """
        ...


class NodeReader:
    """Nodes that meet the spec: embedding, then the declared attributes."""

    def __init__(self, component: Node, layout: ViewLayout, embedding_width: int) -> None:
        self._view = component.graph or ""
        self._select = Selection(component.spec)
        self._columns = np.array(layout.nodes.columns(tuple(component.attributes)), dtype=np.int64)
        self.width = embedding_width + len(self._columns)
        self.notes: Sequence[Note] = [(self._view, NODE, name) for name in component.spec or ()]
        self._job = _Job()

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        elements = self._select(state.views[self._view])
        embedder, view = state.embedder, self._view
        z, features = embedder.embedding_store(view), embedder.node_store(view)
        job = self._job.of(NODES, z, NO_EDGES, features, self._columns, mean, scale, NO_VALUES_3D)
        vectors = np.empty((len(elements), self.width), dtype=np.float32)
        return Table(elements, vectors), (job, (elements, NO_TABLE, NONE))

    def plain(self, state: State) -> tuple[Array, Array]:
        """The nodes (k,), and their vectors (k, width) as they are."""
        elements = self._select(state.views[self._view])
        features = state.embedder.node_store(self._view)[self._columns][:, elements].T
        return elements, np.concatenate([state.embeddings[self._view][elements], features], axis=1)

    def lasts(self, state: State) -> bool:
        return True


class EdgeReader:
    """Edges that meet the spec: both ends pooled, then the declared attributes."""

    def __init__(self, component: Edge, layout: ViewLayout, embedding_width: int) -> None:
        self._view = component.graph or ""
        self._select = Selection(component.spec, edges=True)
        self._columns = np.array(layout.edges.columns(tuple(component.attributes)), dtype=np.int64)
        self._pooling = None if component.pooling is Concat else component.pooling
        ends = 2 * embedding_width
        if self._pooling is not None:
            ends = np.size(self._pooling(np.zeros((2, embedding_width), np.float32)))
        self.width = ends + len(self._columns)
        self.notes: Sequence[Note] = [(self._view, EDGE, name) for name in component.spec or ()]
        self._job = _Job()

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        view = state.views[self._view]
        elements = self._select(view)
        features = state.embedder.edge_store(self._view)
        if self._pooling is None:
            z = state.embedder.embedding_store(self._view)
            edges = np.ascontiguousarray(view.edges)
            job = self._job.of(EDGES, z, edges, features, self._columns, mean, scale, NO_VALUES_3D)
            vectors = np.empty((len(elements), self.width), dtype=np.float32)
            return Table(elements, vectors), (job, (elements, NO_TABLE, NONE))
        elements, rows = self.plain(state)
        return Table(elements, ((rows - mean) * scale).astype(np.float32, order="C")), GIVEN

    def plain(self, state: State) -> tuple[Array, Array]:
        """The edges (k,), and their vectors (k, width) as they are."""
        view, z = state.views[self._view], state.embeddings[self._view]
        elements = self._select(view)
        pooling = np.ravel if self._pooling is None else self._pooling
        pooled = [np.ravel(pooling(z[pair])) for pair in view.edges[:, elements].T]
        ends_width = self.width - len(self._columns)  # known even where no edge is there
        rows = np.array(pooled, dtype=np.float32).reshape(len(elements), ends_width)
        features = state.embedder.edge_store(self._view)[self._columns][:, elements].T
        return elements, np.concatenate([rows, features], axis=1)

    def lasts(self, state: State) -> bool:
        return self._pooling is None


class NodeSetReader:
    """Listed node sets: the embeddings and attributes of their nodes, pooled."""

    notes: Sequence[Note] = ()

    def __init__(self, component: SubGraph, layout: ViewLayout, embedding_width: int) -> None:
        assert component.candidates is not None
        self._view = component.graph or ""
        self._candidates = component.candidates
        self._pooling = component.pooling
        self._columns = np.array(layout.nodes.columns(tuple(component.attributes)), dtype=np.int64)
        node_width = embedding_width + len(self._columns)
        self.width = pooled_width("SubGraph", component.pooling, node_width)

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        sets = self._candidates(state.views[self._view])
        z = state.embeddings[self._view]
        features = state.embedder.node_store(self._view)[self._columns, : len(z)]
        nodes = np.concatenate([z, features.T], axis=1)
        rows = [np.ravel(self._pooling(nodes[np.asarray(some, dtype=np.int64)])) for some in sets]
        vectors = np.array(rows, dtype=np.float32).reshape(len(sets), self.width)
        scaled = ((vectors - mean) * scale).astype(np.float32, order="C")
        return Table(np.arange(len(sets)), scaled), GIVEN

    def lasts(self, state: State) -> bool:
        return False


def pooled_width(kind: str, pooling: AnyPooling, width: int) -> int:
    """Width of pooled vectors (k, width); refused if it depends on k."""
    sizes = {np.size(pooling(np.zeros((k, width), np.float32))) for k in (2, 3)}
    if len(sizes) > 1:
        raise SpecError(
            f"{kind}(pooling={pooling!r}): the width of the vector would depend on the "
            "number of nodes; use Mean, Max, Min or Sum"
        )
    return sizes.pop()


@dataclass
class ObjectVectors:
    """Vectors of objects, each extracted once; long ones reduced by a fixed linear map."""

    extractor: Any
    width: int
    reduction: Reduction | None = None
    codes: dict[Hashable, int] | None = None
    _rows: dict[Hashable, int] = field(default_factory=dict)
    _table: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def rows(self, objects: Sequence[Hashable]) -> Array:
        """Row of each object in :attr:`table`, which grows by those not seen before."""
        missing = [o for o in dict.fromkeys(objects) if o not in self._rows]
        if missing:
            vectors = raw_object_vectors(self.extractor, missing, self.codes)
            if self.reduction is not None:
                vectors = self.reduction(vectors)
            if vectors.shape[1] != self.width:
                raise SpecError(
                    f"the extractor {self.extractor!r} gives "
                    f"{of_things(vectors.shape[1], 'numbers')} for "
                    f"{missing[0]!r}; in training it gave {self.width}"
                )
            start = len(self._rows)
            self._rows.update({o: start + i for i, o in enumerate(missing)})
            known = self._table if len(self._table) else np.zeros((0, self.width), np.float32)
            self._table = np.concatenate([known, vectors.astype(np.float32)])
        found = self._rows
        return np.fromiter((found[o] for o in objects), np.int64, len(objects))

    @property
    def table(self) -> Array:
        """Vectors of all objects seen: (u, width)."""
        return self._table if len(self._table) else np.zeros((0, self.width), np.float32)


def fit_object_vectors(component: Object, seen: Sequence[Hashable], reduce: int) -> ObjectVectors:
    """How the objects of a component become vectors; `seen` are those met in training.

    Args:
        component: the declaration; its own ``reduce`` goes first.
        seen: distinct objects.
        reduce: width to which sentence embeddings are reduced; 0 keeps their width.
    """
    codes = None
    if component.extractor == "onehot":
        listed = list(component.choices) if component.choices is not None else list(seen)
        codes = {value: code for code, value in enumerate(listed)}
        return ObjectVectors("onehot", len(codes), None, codes)
    if not seen:
        raise SpecError("no object was seen in training, so their vectors have no width")
    vectors = raw_object_vectors(component.extractor, seen, None)
    width = component.reduce or (reduce if component.extractor == "bert" else 0)
    if width and width < vectors.shape[1]:
        return ObjectVectors(component.extractor, width, fit_reduction(vectors, width))
    return ObjectVectors(component.extractor, vectors.shape[1])


def raw_object_vectors(
    extractor: str | Callable[[Any], Any] | None,
    objects: Sequence[Hashable],
    codes: Mapping[Hashable, int] | None,
) -> Array:
    """Vectors (k, d) of objects before any reduction."""
    if codes is not None:
        vectors = np.zeros((len(objects), len(codes)), dtype=np.float32)
        for row, value in enumerate(objects):
            if value not in codes:
                raise SpecError(f"object {value!r} is not one of the {len(codes)} known ones")
            vectors[row, codes[value]] = 1.0
        return vectors
    if extractor == "bert":
        return embed_texts([str(value) for value in objects])
    extract: Callable[[Any], Any] = extractor if callable(extractor) else (lambda value: value)
    try:
        rows = [np.ravel(np.asarray(extract(value), dtype=np.float32)) for value in objects]
        return np.stack(rows)
    except (TypeError, ValueError) as error:
        raise SpecError(
            f"objects such as {objects[0]!r} do not become vectors of one width ({error}); "
            "give the Object an extractor="
        ) from error


class OptionReader:
    """The same options in every state."""

    notes: Sequence[Note] = ()

    def __init__(self, component: Object, vectors: ObjectVectors) -> None:
        assert component.choices is not None
        self._rows = vectors.rows([_hashable(choice) for choice in component.choices])
        self._values = np.arange(len(self._rows))
        self._vectors = _Standardised(vectors)
        self.width = vectors.width

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        return Table(self._values, self._vectors.of(self._rows, mean, scale)), GIVEN

    def lasts(self, state: State) -> bool:
        return True


class AttachedReader:
    """Objects listed in an attribute of the elements of another component.

    The attribute is a list of lists, or an int array (n, L) of object numbers with -1 for none. A
    row of the table is one object of one element, its value the position in that element's list.
    Attributes of the component follow the object's vector: per element and position.
    """

    def __init__(
        self,
        component: Object,
        parent: Component,
        vectors: ObjectVectors,
        views: Mapping[str, GraphView],
    ) -> None:
        self._key = component.key or ""
        self._view = parent.graph or ""
        self._on_edges = isinstance(parent, Edge)
        self._watch = Watch((self._key,), edges=self._on_edges)
        self.notes: Sequence[Note] = [(self._view, EDGE if self._on_edges else NODE, self._key)]
        self._objects = vectors
        self._vectors = _Standardised(vectors)
        self._lists: tuple[Array, Array, Array] | None = None
        self._parents: Array | None = None
        nothing = np.zeros(0, np.int64)
        self._table = nothing, nothing, np.zeros(1, np.int64), nothing
        self._job = _Job()
        self._source: Any = None
        self._source_values = NO_VALUES_3D
        self._attributes = tuple(component.attributes)
        own = [_numbers_each(self._columns(views[self._view]), name) for name in self._attributes]
        self.width = vectors.width + sum(own)

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        assert parent is not None
        view = state.views[self._view]
        changed = self._watch.changed(view) or self._lists is None
        if changed:
            self._lists = None
            self._lists = self._read_lists(view)
        elements = parent.values
        if changed or elements is not self._parents:
            assert self._lists is not None
            first, rows, positions = self._lists
            counts = first[elements + 1] - first[elements]
            offsets = np.zeros(len(elements) + 1, dtype=np.int64)
            np.cumsum(counts, out=offsets[1:])
            # slots of the chosen elements, one after the other
            slots = np.repeat(first[elements] - offsets[:-1], counts) + np.arange(offsets[-1])
            self._parents = elements
            owners = np.repeat(elements, counts)
            self._table = positions[slots], rows[slots], offsets, owners
        positions, rows, offsets, owners = self._table
        objects = self._vectors.of(rows, mean, scale)
        if not self._attributes:
            return Table(positions, objects, offsets), GIVEN
        values = self._values_of(self._columns(view))
        job = self._job.of(ATTACHED, NO_TABLE, NO_EDGES, NO_TABLE, NONE, mean, scale, values)
        vectors = np.empty((len(rows), self.width), dtype=np.float32)
        return Table(positions, vectors, offsets), (job, (owners, objects, positions))

    def lasts(self, state: State) -> bool:
        if not self._attributes:
            return True
        found = self._columns(state.views[self._view]).get(self._attributes[0])
        return found is not None and found is self._source

    def _values_of(self, columns: Mapping[str, Any]) -> Array:
        """The attributes beside each other: (n, L, w)."""
        found = [columns[name] for name in self._attributes]
        if found[0] is self._source:  # where it is read as it is
            return self._source_values
        parts = [np.asarray(part, dtype=np.float32) for part in found]
        parts = [part[:, :, None] if part.ndim == 2 else part for part in parts]
        together = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)
        values = np.ascontiguousarray(together)
        shared = isinstance(found[0], np.ndarray) and np.may_share_memory(found[0], values)
        self._source, self._source_values = (found[0] if shared else None), values
        return values

    def _columns(self, view: GraphView) -> Mapping[str, Any]:
        return view.edge_attributes if self._on_edges else view.nodes

    def _read_lists(self, view: GraphView) -> tuple[Array, Array, Array]:
        """All lists: first slot of each element, and per slot its object and its position."""
        lengths, objects, positions = listed_objects(self._columns(view)[self._key])
        first = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=first[1:])
        return first, self._objects.rows(objects), positions


def _numbers_each(columns: Mapping[str, Any], name: str) -> int:
    """Numbers that an attribute of attached objects adds to a vector."""
    if name not in columns:
        raise SpecError(f"Object(attributes=…): {suggest('attribute', name, columns)}")
    shape = np.shape(columns[name])
    if len(shape) not in (2, 3):
        raise SpecError(
            f"Object(attributes=[{name!r}]) has shape {shape}; objects of a list need (n, L) or "
            "(n, L, w), a value or w of them per element and position"
        )
    return 1 if len(shape) == 2 else int(shape[2])


class _Job:
    """A job for `write_vectors`, the same tuple as long as it has the same arrays."""

    def __init__(self) -> None:
        self._known: tuple[Any, ...] = ()

    def of(self, kind: int, *arrays: Array) -> tuple[Any, ...]:
        """The kind and these arrays."""
        job = (kind, *arrays)
        if not self._known or any(map(is_not, job, self._known)):
            self._known = job
        return self._known


class _Standardised:
    """Standardised vectors of objects, the same array as long as the objects are the same."""

    def __init__(self, objects: ObjectVectors) -> None:
        self._objects = objects
        self._known: tuple[Array | None, ...] = (None, None, None)
        self._found: Array = np.zeros((0, objects.width), np.float32)

    def of(self, rows: Array, mean: Array, scale: Array) -> Array:
        """Vectors (k, d) of the objects in these rows of their table."""
        known = self._known
        if not (rows is known[0] and mean is known[1] and scale is known[2]):
            self._known = rows, mean, scale
            width = self._objects.width
            found = (self._objects.table[rows] - mean[:width]) * scale[:width]
            self._found = found.astype(np.float32, order="C")
        return self._found


def listed_objects(column: Any) -> tuple[Array, list[Hashable], Array]:
    """Lengths of the lists of a column, all objects in order, and their positions."""
    if isinstance(column, np.ndarray):
        there = column >= 0
        positions = np.nonzero(there)[1]
        return there.sum(axis=1), column[there].tolist(), positions
    lengths = np.array([len(objects) for objects in column], dtype=np.int64)
    objects = [o if type(o) is int else _hashable(o) for listed in column for o in listed]
    positions = np.arange(len(objects)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return lengths, objects, positions


def _hashable(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(value) if isinstance(value, list) else value
