"""The three metrics, each a sum over the components of an action.

Searches minimise a cost. For a query q and an action vector u,

- `l2`: cost = score = |q - u|^2, smaller is better;
- `inner`: score = <q, u>, larger is better, cost = -score;
- `cosine`: score = <q, u> / (|q| |u|), larger is better, 0 where either vector is zero;
  cost = -sign(D) D^2 / N with D = <q, u> and N = |u|^2, which ranks alike.

Costs of `l2` and `inner` add up over components; for `cosine`, D and N do. Equal costs are
ordered by index tuple, the lexicographically smallest first.

All sums are in double precision: over a row in one fixed order, so equal rows score equal, then
over components from left to right, in every search alike. Whole-numbered vectors are exact.
Listing the concatenated vectors instead sums in another order; two actions whose true scores
coincide without being equal component by component can then stand the other way round.
"""

from __future__ import annotations

import difflib
import math
from functools import cache
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagco.errors import UsageError

#: name of a distance between a point and an action
Metric = Literal["l2", "inner", "cosine"]
#: the names of all metrics
METRICS: tuple[str, ...] = get_args(Metric)
CODES = {metric: code for code, metric in enumerate(METRICS)}  # as compiled loops know them
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Neighbours(NamedTuple):
    """The nearest valid actions, best first.

    indices: (k, m) int64, one index tuple a row; scores: (k,) in the metric's own terms.
    """

    indices: Ints
    scores: Floats


class Batch(NamedTuple):
    """Some actions: index tuples (b, m), summed linear parts (b,), summed squared norms (b,)."""

    indices: Ints
    linear: Floats
    norms: Floats


@cache
def kernels() -> ModuleType:
    """The compiled loops, loaded at the first search so that importing the package is cheap."""
    from lagco.search.products import kernels as loaded

    return loaded


@cache
def listed_kernels() -> ModuleType:
    """The compiled loops over small sets, likewise."""
    from lagco.search import listed_kernels as loaded

    return loaded


def check_metric(metric: str) -> None:
    """Refuse a metric that does not exist, with the nearest spelling."""
    if metric not in METRICS:
        close = difflib.get_close_matches(metric, METRICS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"unknown metric {metric!r}: one of {', '.join(METRICS)}{hint}")


def as_table(vectors: ArrayLike, name: str) -> NDArray[Any]:
    """A contiguous (n, d) array in float32 or float64."""
    table = np.asarray(vectors)
    if table.ndim != 2:
        raise ValueError(f"{name} must have shape (n, d), not {table.shape}")
    if table.dtype.char not in "fd":
        table = table.astype(np.float64)
    return table if table.flags.c_contiguous else np.ascontiguousarray(table)


def as_query(query: ArrayLike, width: int) -> tuple[Floats, float]:
    """The query (width,) in float64 and its squared norm."""
    vector = np.ascontiguousarray(query, dtype=np.float64)
    if vector.shape != (width,):
        raise ValueError(f"the query must have shape ({width},), not {vector.shape}")
    square = float(vector @ vector)
    if not math.isfinite(square):
        raise UsageError("the query holds values that are not finite; are weights too large?")
    return vector, square


def score_table(
    table: NDArray[Any], query: Floats, metric: str, name: str = "vectors"
) -> tuple[Floats, Floats]:
    """(n, d), (d,) -> linear parts (n,) and squared norms (n,; of no use but for cosine)."""
    if metric == "cosine":
        linear, norms, check = kernels().negative_dots_and_norms(table, query)
    elif metric == "l2":
        linear, check = kernels().squared_distances(table, query)
        norms = linear
    else:
        linear, check = kernels().negative_dots(table, query)
        norms = linear
    if not math.isfinite(check):
        raise UsageError(f"{name} holds values that are not finite; are weights too large?")
    return linear, norms


def costs(linear: Floats, norms: Floats, metric: str) -> Floats:
    """Cost that the search minimises."""
    if metric == "cosine":
        return kernels().cosine_costs(linear, norms)
    return linear


def scores(linear: Floats, norms: Floats, metric: str, query_square: float) -> Floats:
    """Score that the caller sees."""
    if metric == "l2":
        return linear.copy()
    if metric == "inner":
        return -linear
    return kernels().cosines(linear, norms, math.sqrt(query_square))


def neighbours(batch: Batch, metric: str, query_square: float) -> Neighbours:
    """A batch that is already in order, as the answer."""
    return Neighbours(batch.indices, scores(batch.linear, batch.norms, metric, query_square))


def take(batch: Batch, which: NDArray[Any] | slice) -> Batch:
    """The chosen rows of a batch, by position, by mask or as a slice."""
    return Batch(batch.indices[which], batch.linear[which], batch.norms[which])


def join(batches: list[Batch], columns: int) -> Batch:
    """Batches one after the other."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        empty = np.empty(0)
        return Batch(np.empty((0, columns), np.int64), empty, empty)
    return Batch(
        np.concatenate([b.indices for b in batches]),
        np.concatenate([b.linear for b in batches]),
        np.concatenate([b.norms for b in batches]),
    )


def best(batch: Batch, metric: str, count: int) -> tuple[Batch, Floats]:
    """The `count` best of a batch by (cost, index tuple), in order, with their costs."""
    cost = costs(batch.linear, batch.norms, metric)
    if len(cost) > count > 0:
        worst = np.partition(cost, count - 1)[count - 1]
        batch, cost = take(batch, cost <= worst), cost[cost <= worst]
    order = np.lexsort((*batch.indices.T[::-1], cost))[:count]
    return take(batch, order), cost[order]
