"""From embeddings to an observation of fixed width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.core.declaration import Declaration
from lagco.core.graph import GraphView
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import Graph
from lagco.errors import SpecError
from lagco.latent.kernels import MAX, MEAN, MIN, SUM, pool_chosen, pool_rows

Array: TypeAlias = npt.NDArray[Any]
Views: TypeAlias = Mapping[str, GraphView]
Embeddings: TypeAlias = Mapping[str, Array]

#: poolings that one compiled pass gives, and their row in it
COMPILED: dict[AnyPooling, int] = {Mean: MEAN, Max: MAX, Min: MIN, Sum: SUM, RootSum: SUM}


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
        self._parts: list[Callable[[Views, Embeddings, Array], None]] = []
        self.slices: dict[str, slice] = {}
        self.width = 0
        for name, part in declaration.observation.items():
            if isinstance(part, Graph):
                write, width = _pooled(name, part, embedding_width)
            else:
                write, width = _computed(name, part.function, part.graph or "", part.size)
            self.slices[name] = slice(self.width, self.width + width)
            self._parts.append(write)
            self.width += width
        self._ends = [(s.start, s.stop) for s in self.slices.values()]

    def __call__(self, views: Views, embeddings: Embeddings, out: Array | None = None) -> Array:
        """The observation of a state: float32 (width,), written to `out` where given."""
        observation = np.empty(self.width, dtype=np.float32) if out is None else out
        for write, (start, stop) in zip(self._parts, self._ends, strict=True):
            write(views, embeddings, observation[start:stop])
        return observation


def _pooled(
    name: str, part: Graph, embedding_width: int
) -> tuple[Callable[[Views, Embeddings, Array], None], int]:
    view = part.graph or ""
    spec = part.spec
    rows: list[tuple[int, bool, AnyPooling | None, int]] = []
    width = 0
    for pooling in part.poolings:
        row = COMPILED.get(pooling)
        if row is None:
            size = _width_of(name, pooling, embedding_width)
            rows.append((-1, False, pooling, size))
        else:
            size = embedding_width
            rows.append((row, pooling is RootSum, None, size))
        width += size
    pooled = np.empty((4, embedding_width), dtype=np.float32)

    def write(views: Views, embeddings: Embeddings, out: Array) -> None:
        z = embeddings[view]
        if spec:
            chosen = views[view].select_nodes(spec)
            count = len(chosen)
            pool_chosen(z, chosen, pooled)
        else:
            chosen = None
            count = len(z)
            pool_rows(z, pooled)
        at = 0
        for row, rooted, own, size in rows:
            if own is not None:
                out[at : at + size] = np.ravel(own(z if chosen is None else z[chosen]))
            elif rooted:
                np.divide(pooled[row], np.float32(max(count, 1) ** 0.5), out=out[at : at + size])
            else:
                out[at : at + size] = pooled[row]
            at += size

    return write, width


def _computed(
    name: str, function: Callable[[Any], Any], view: str, size: int
) -> tuple[Callable[[Views, Embeddings, Array], None], int]:
    def write(views: Views, embeddings: Embeddings, out: Array) -> None:
        value = function(views[view])
        try:
            out[:] = value
        except ValueError:
            raise SpecError(
                f"_observation_type[{name!r}] returned {np.shape(value)} numbers, its size= "
                f"declares {size}"
            ) from None

    return write, size


def _width_of(name: str, pooling: AnyPooling, embedding_width: int) -> int:
    """Width of what a callable returns, which must not depend on the number of vectors."""
    sizes = {np.size(pooling(np.zeros((k, embedding_width), np.float32))) for k in (2, 3, 5)}
    if len(sizes) != 1:
        raise SpecError(
            f"_observation_type[{name!r}]: the pooling {pooling!r} returns vectors of different "
            "width for graphs of different size"
        )
    return sizes.pop()
