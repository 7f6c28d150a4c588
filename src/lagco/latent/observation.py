"""From embeddings to an observation of fixed width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.declaration import Declaration
from lagco.core.descriptors import STRUCTURAL
from lagco.core.graph import GraphView
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import Graph
from lagco.errors import SpecError, UsageError
from lagco.latent.kernels import MAX, MEAN, MIN, NONE, ROOT_SUM, SUM, write_pooled
from lagco.latent.selection import Selection

Views: TypeAlias = Mapping[str, GraphView]
Embeddings: TypeAlias = Mapping[str, Array]

#: writes one part of an observation to its place
Writer: TypeAlias = "Callable[[Views, Embeddings, Array], None]"

#: poolings that are compiled, all in one pass, with their codes there
_COMPILED: tuple[tuple[AnyPooling, int], ...] = (
    (Mean, MEAN),
    (Max, MAX),
    (Min, MIN),
    (Sum, SUM),
    (RootSum, ROOT_SUM),
)


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
    """

    def __init__(self, declaration: Declaration, embedding_width: int) -> None:
        self._pooled = _Pooled()
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
                    self._pooled.add(part, codes, start)
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
        self._pooled.write(views, embeddings, observation)
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
        return observation


class _Pooled:
    """Parts that pool embeddings by compiled poolings, written all at once."""

    def __init__(self) -> None:
        self._views: list[str] = []
        self._selected: list[tuple[int, Selection]] = []
        self._chosen: list[Array] = []
        self._whole = np.zeros(0, dtype=np.bool_)
        self._codes: tuple[Array, ...] = ()
        self._starts = np.zeros(0, dtype=np.int64)

    def add(self, part: Graph, codes: Array, start: int) -> None:
        """Another one, and where it is written."""
        if part.spec:
            self._selected.append((len(self._views), Selection(part.spec)))
        self._views.append(part.graph or "")
        self._chosen.append(NONE)
        self._whole = np.append(self._whole, not part.spec)
        self._codes += (codes,)
        self._starts = np.append(self._starts, start)

    def write(self, views: Views, embeddings: Embeddings, observation: Array) -> None:
        """All of them to their places."""
        names, chosen = self._views, self._chosen
        if not names:
            return
        for part, select in self._selected:
            chosen[part] = select(views[names[part]])
        tables = tuple([embeddings[name] for name in names])
        write_pooled(tables, tuple(chosen), self._whole, self._codes, self._starts, observation)


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
    """What writes a part of which a pooling is not compiled, and its width."""
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
