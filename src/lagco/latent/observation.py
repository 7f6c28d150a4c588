"""From embeddings to an observation of fixed width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration
from lagco.core.declaring.descriptors import STRUCTURAL
from lagco.core.graph import GraphView
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import Graph
from lagco.errors import SpecError, UsageError
from lagco.latent.kernels import (
    ALL_OF_THEM,
    CHOSEN,
    MAX,
    MEAN,
    MEETING,
    MIN,
    NO_VALUES,
    NONE,
    NOTHING,
    ROOT_SUM,
    SUM,
    write_pooled,
)
from lagco.latent.selection import Selection

Views: TypeAlias = Mapping[str, GraphView]
Embeddings: TypeAlias = Mapping[str, Array]

#: writes one part of an observation to its place
Writer: TypeAlias = Callable[[Views, Embeddings, Array], None]

#: poolings that are compiled, all in one pass, with their codes there
_COMPILED: tuple[tuple[AnyPooling, int], ...] = (
    (Mean, MEAN),
    (Max, MAX),
    (Min, MIN),
    (Sum, SUM),
    (RootSum, ROOT_SUM),
)

#: types of attributes by which compiled code chooses nodes
_SMALL = [np.dtype(kind) for kind in ("int8", "bool", "uint8")]


def pooling_codes(poolings: Sequence[AnyPooling]) -> Array | None:
    """Codes of poolings in the compiled loops; None where one of them is not compiled."""
    codes = [code for pooling in poolings for known, code in _COMPILED if pooling is known]
    return np.array(codes, dtype=np.int64) if len(codes) == len(poolings) else None


def summary_codes(poolings: Sequence[AnyPooling]) -> Array:
    """Codes of the poolings of an action set, which is never listed for them.

    Raises:
        UsageError: a pooling is not compiled, hence needs all vectors at once.
    """
    codes = pooling_codes(poolings)
    if codes is None:
        refused = next(pooling for pooling in poolings if pooling_codes([pooling]) is None)
        known = ", ".join([repr(pooling) for pooling, _ in _COMPILED])
        raise UsageError(
            f"summary: the pooling {refused!r} needs the vectors of all actions, which are never "
            f"listed; use {known}"
        )
    return codes


class ObservationMap:
    """The observation that a problem declares, as a function of embeddings.

    Its width does not depend on the size of the graph, and its value does not depend on the order
    of the nodes (as long as poolings and functions of the problem's own do not).

    Args:
        declaration: of the problem.
        embedding_width: p.

    Attributes:
        width: numbers in an observation.
        slices: where each declared part stands.
        pooled: the parts that are pooled by compiled poolings.
    """

    def __init__(self, declaration: Declaration, embedding_width: int) -> None:
        self.pooled = _Pooled()
        self._parts: list[tuple[Writer, int, int]] = []
        self._single: list[tuple[Callable[[Any], Any], str, int, str]] = []
        self._structural: dict[str, _Structural] = {}
        self.slices: dict[str, slice] = {}
        self.width = 0
        for name, part in declaration.observation.items():
            start, view = self.width, part.graph or ""
            if isinstance(part, Graph):
                codes = pooling_codes(part.poolings)
                if codes is not None:
                    width = len(codes) * embedding_width
                    self.pooled.add(part, codes, start)
                else:
                    write, width = _any_pooled(name, part, embedding_width)
                    self._parts.append((write, start, start + width))
            elif part.function in STRUCTURAL:
                width = 1
                self._structural.setdefault(view, _Structural()).add(part.function, start)
            elif part.size == 1:  # most functions: a number, written as such
                width = 1
                self._single.append((part.function, view, start, name))
            else:
                write, width = _computed(name, part.function, view), part.size
                self._parts.append((write, start, start + width))
            self.width += width
            self.slices[name] = slice(start, self.width)

    def __call__(self, views: Views, embeddings: Embeddings, out: Array | None = None) -> Array:
        """The observation of a state: float32 (width,), written to `out` where given."""
        observation = np.empty(self.width, dtype=np.float32) if out is None else out
        tables, which, *rest = self.pooled.arguments(embeddings.__getitem__)
        if len(which):
            chosen = self.pooled.chosen(views)
            write_pooled(tables, chosen, which, *rest, observation)  # type: ignore[call-arg]
        self.compute(views, embeddings, observation)
        return observation

    def compute(self, views: Views, embeddings: Embeddings, observation: Array) -> None:
        """Write the parts that are not pooled by compiled poolings."""
        for write, start, stop in self._parts:
            write(views, embeddings, observation[start:stop])
        for view, known in self._structural.items():
            known.write(views[view], observation)
        for function, view, at, name in self._single:
            value = function(views[view])
            if isinstance(value, float):
                observation[at] = value
            else:
                _write(name, value, observation[at : at + 1])


class _Pooled:
    """Parts that pool embeddings by compiled poolings, written all at once."""

    def __init__(self) -> None:
        self._views: list[str] = []
        self._selected: list[tuple[int, str, Selection, _Conditions]] = []
        self._chosen: list[Array] = []
        self._which = np.zeros(0, dtype=np.int64)
        self._sizes: list[int] = []
        self._counts = np.zeros(0, dtype=np.int64)
        self._conditions = np.zeros((0, 5), dtype=np.int64)
        self._codes: tuple[Array, ...] = ()
        self._starts = np.zeros(0, dtype=np.int64)

    def add(self, part: Graph, codes: Array, start: int) -> None:
        """Another one, and where it is written."""
        number, view = len(self._views), part.graph or ""
        if part.spec:
            conditions = _Conditions(number, part.spec, len(self._conditions))
            self._selected.append((number, view, Selection(part.spec), conditions))
            more = np.full((len(part.spec), 5), -1, dtype=np.int64)
            self._conditions = np.concatenate([self._conditions, more])
        self._views.append(view)
        self._chosen.append(NONE)
        self._which = np.append(self._which, CHOSEN if part.spec else ALL_OF_THEM)
        self._counts = np.append(self._counts, 0)
        self._codes += (codes,)
        self._starts = np.append(self._starts, start)

    def arguments(self, embeddings: Callable[[str], Array]) -> tuple[Any, ...]:
        """What `write_pooled` needs besides the chosen nodes and the observation.

        Args:
            embeddings: of a view, and perhaps more rows behind them: (≥ n, p).
        """
        stored = {name: embeddings(name) for name in set(self._views)}
        tables = tuple([stored[name] for name in self._views]) or NOTHING
        rest = self._counts, self._conditions, self._codes or NO_VALUES, self._starts
        return tables, self._which, *rest

    def chosen(self, views: Views) -> tuple[Array, ...]:
        """The nodes of each part that count, where they are not those that meet its conditions."""
        sizes = [views[name].num_nodes for name in self._views]
        if sizes != self._sizes:
            self._sizes = sizes
            self._counts[:] = sizes
        for part, name, select, conditions in self._selected:
            view = views[name]
            if not conditions.hold(view):
                conditions.read(view, self._conditions)
                self._which[part] = MEETING if conditions.compiled else CHOSEN
            if not conditions.compiled:
                self._chosen[part] = select(view)
        return tuple(self._chosen) or NO_VALUES


class _Conditions:
    """Conditions on flags and other small whole numbers, which compiled code looks at.

    Args:
        part: number of the part that counts the nodes that meet them.
        spec: attributes and the values that nodes must have.
        first: row of the first one in the table of all conditions.
    """

    def __init__(self, part: int, spec: Mapping[str, Any], first: int) -> None:
        self._part = part
        self._spec = spec
        self._first = first
        self._columns: dict[str, Any] = {}
        self.compiled = False

    def hold(self, view: GraphView) -> bool:
        """Whether the attributes are the arrays that were read last."""
        for name, column in self._columns.items():
            if view.nodes.get(name) is not column:
                return False
        return bool(self._columns)

    def read(self, view: GraphView, table: Array) -> None:
        """Write where the attributes are to rows of the table, where they are such numbers."""
        columns = self._columns = {name: view.nodes.get(name) for name in self._spec}
        self.compiled = all(map(_is_small, columns.values(), self._spec.values()))
        rows = table[self._first : self._first + len(self._spec)]
        rows[:] = -1
        if self.compiled:
            for row, (name, column) in zip(rows, columns.items(), strict=True):
                signed, stride = column.dtype == np.int8, column.strides[0]
                row[:] = self._part, column.ctypes.data, signed, stride, self._spec[name]


def _is_small(column: Any, wanted: Any) -> bool:
    """Whether an attribute has one byte per node, compared with a whole number."""
    return (
        isinstance(column, np.ndarray)
        and column.ndim == 1
        and column.dtype in _SMALL
        and isinstance(wanted, int)
        and abs(wanted) < 256
    )


class _Structural:
    """Descriptors of one view that are computed again only when its size changes."""

    def __init__(self) -> None:
        self._functions: list[Callable[[GraphView], float]] = []
        self._places: list[int] = []
        self._at: Any = []
        self._size = (-1, -1)
        self._values: Array = np.zeros(0, np.float32)

    def add(self, function: Callable[[GraphView], float], place: int) -> None:
        """Another one, and where it is written."""
        self._functions.append(function)
        self._places.append(place)
        first, count = self._places[0], len(self._places)
        in_a_row = self._places == list(range(first, first + count))
        self._at = slice(first, first + count) if in_a_row else self._places

    def write(self, view: GraphView, observation: Array) -> None:
        """All of them to their places."""
        size = view.num_nodes, view.edges.shape[1]
        if size != self._size:
            self._size = size
            self._values = np.array([f(view) for f in self._functions], dtype=np.float32)
        observation[self._at] = self._values


def _any_pooled(name: str, part: Graph, embedding_width: int) -> tuple[Writer, int]:
    """Writer of a part with a pooling that is not compiled, and its width."""
    view = part.graph or ""
    select = Selection(part.spec)
    poolings = part.poolings
    sizes = [_width_of(name, pooling, embedding_width) for pooling in poolings]

    def write(views: Views, embeddings: Embeddings, out: Array) -> None:
        rows = embeddings[view][select(views[view])]
        out[:] = np.concatenate([np.ravel(pooling(rows)) for pooling in poolings])

    return write, sum(sizes)


def _computed(name: str, function: Callable[[Any], Any], view: str) -> Writer:
    def write(views: Views, embeddings: Embeddings, out: Array) -> None:
        _write(name, function(views[view]), out)

    return write


def _write(name: str, value: Any, out: Array) -> None:
    try:
        out[:] = value
    except ValueError:
        raise SpecError(
            f"_observation_type[{name!r}] returned {np.shape(value)} numbers, its size= "
            f"declares {len(out)}"
        ) from None


def _width_of(name: str, pooling: AnyPooling, embedding_width: int) -> int:
    """Width of what a callable returns, which must not depend on the number of vectors."""
    sizes = {np.size(pooling(np.zeros((k, embedding_width), np.float32))) for k in (2, 3, 5)}
    if len(sizes) != 1:
        raise SpecError(
            f"_observation_type[{name!r}]: the pooling {pooling!r} returns vectors of different "
            "width for graphs of different size"
        )
    return sizes.pop()
