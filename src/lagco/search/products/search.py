"""Nearest action in a product of components, without listing the actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagco.results.numbers import of_things
from lagco.search import metrics
from lagco.search.errors import TooManyActions
from lagco.search.metrics import Batch, Floats, Ints, Metric, Neighbours
from lagco.search.plan import Plan
from lagco.search.products.axes import Axes, Dependence
from lagco.search.products.rows import scan_rows
from lagco.search.products.scored import ScoredProduct
from lagco.search.search import nearest as search_nearest
from lagco.search.search import none_valid, walk
from lagco.search.validity import (
    ArrayValidity,
    RowPredicate,
    Validity,
    as_predicate,
    differing,
)

#: number of actions up to which computing all scores at once beats walking in order
LISTED = 16_384
CAP = 2_000_000  # most actions that are ever listed
_ALL = np.zeros(0, np.bool_)  # nothing is known to be invalid

Pooling = Literal["concat", "mean", "sum", "max", "min"] | Callable[[Floats], Floats]


class ProductSpace:
    """Actions (i_1, ..., i_m): one element of each component.

    components: arrays (n_c, d_c), float32 or float64. The vector of an action is the
    concatenation of its components' vectors, width sum of d_c.
    depends: component -> `Dependence`, where its candidates follow from an earlier choice.
    different: pairs (a, b) of components that must not choose the same element, compared by
    `ids` (one (n_c,) int array a component; None, or None inside, means the position itself).
    pooling: "mean" or "sum" pool the component vectors instead (equal d_c), which splits for the
    inner product; "max", "min" and callables (k, m, d) -> (k, d), and mean and sum under the
    other metrics, list the actions up to `cap` and raise `TooManyActions` beyond it.

    Nothing is computed at construction but the dependences, so a space can be made every step.
    """

    def __init__(
        self,
        components: Sequence[ArrayLike],
        *,
        depends: Mapping[int, Dependence] | None = None,
        different: Sequence[tuple[int, int]] = (),
        ids: Sequence[ArrayLike | None] | None = None,
        pooling: Pooling = "concat",
        cap: int = CAP,
    ) -> None:
        if not len(components):
            raise ValueError("a product needs at least one component")
        tables = [metrics.as_table(table, f"component {c}") for c, table in enumerate(components)]
        if len({table.dtype for table in tables}) > 1:  # compiled loops want them alike
            tables = [table.astype(np.float64) for table in tables]
        self.tables = tuple(tables)
        self.shape = tuple([len(table) for table in self.tables])
        self.pooling = pooling
        self.cap = cap
        widths = [table.shape[1] for table in self.tables]
        if pooling != "concat" and len(set(widths)) > 1:
            raise ValueError(f"pooling needs components of one width, not {widths}")
        self.width = sum(widths) if pooling == "concat" else widths[0]
        self._starts = np.cumsum([0, *widths[:-1]])
        self.axes = Axes(self.shape, depends or {})
        self.different = tuple(different)
        self.ids: list[Ints | None] = [None] * len(self.tables)
        if ids is not None:
            self.ids = [None if i is None else np.asarray(i, np.int64) for i in ids]
        for c, table in enumerate(self.tables):
            own = self.ids[c]
            if own is not None and own.shape != (len(table),):
                raise ValueError(f"ids of component {c} must have shape ({len(table)},)")

    def renewed(self, components: Sequence[NDArray[Any]]) -> ProductSpace:
        """The same space with other vectors of the same shapes: what depends on shapes is kept."""
        other = ProductSpace.__new__(ProductSpace)
        other.__dict__.update(self.__dict__)
        other.tables = tuple(components)
        return other

    @cached_property
    def size(self) -> int:
        """Number of actions, dependences counted and exclusions not."""
        return math.prod([axis.size for axis in self.axes.all])

    def vectors(self, indices: ArrayLike) -> Floats:
        """Vectors (k, width) of index tuples (k, m)."""
        rows = np.asarray(indices, np.int64)
        parts = [table[rows[:, c]] for c, table in enumerate(self.tables)]
        if self.pooling == "concat":
            return np.concatenate(parts, axis=1, dtype=np.float64)
        stacked = np.stack(parts, axis=1).astype(np.float64)
        if callable(self.pooling):
            return np.asarray(self.pooling(stacked), np.float64)
        return cast("Floats", getattr(stacked, self.pooling)(axis=1))

    def chunks(self, size: int = 65_536) -> Iterator[Ints]:
        """All index tuples in lexicographic order of axes, (<= size, m) at a time."""
        sizes = [axis.size for axis in self.axes.all]
        for start in range(0, self.size, size):
            flat = np.arange(start, min(start + size, self.size))
            rows = self.axes.tuples(np.unravel_index(flat, sizes))
            if self.different:
                rows = rows[differing(self.different, self.ids, None)(rows)]
            yield rows

    def list(self, cap: int | None = None) -> Ints:
        """All index tuples (N, m) in lexicographic order, at most `cap`."""
        self.check_cap(self.cap if cap is None else cap, "listing them was asked for")
        rows = np.concatenate([np.empty((0, len(self.shape)), np.int64), *self.chunks()])
        return rows if self.axes.in_order else rows[np.lexsort(rows.T[::-1])]

    def sample(self, rng: np.random.Generator, count: int = 1) -> Ints:
        """`count` index tuples drawn uniformly, exclusions respected: (count, m)."""
        keep = differing(self.different, self.ids, None)
        drawn: list[Ints] = []
        found = 0
        for _ in range(1000):
            rows = self.axes.tuples([rng.integers(0, axis.size, count) for axis in self.axes.all])
            rows = rows[keep(rows)]
            drawn.append(rows)
            found += len(rows)
            if found >= count:
                return np.concatenate(drawn)[:count]
        raise none_valid(self.size)

    def nearest(
        self,
        query: ArrayLike,
        k: int = 1,
        metric: Metric = "cosine",
        valid: Validity = None,
        component_valid: Sequence[NDArray[np.bool_] | None] | None = None,
    ) -> Neighbours:
        """The k nearest valid actions to `query` (width,), best first.

        valid: None, a boolean array (n_1, ..., n_m), or a predicate (k, m) -> (k,) bool, asked
        late; with a `rows` method as well (`RowPredicate`) sets with few valid actions go faster.
        component_valid: per component a boolean array (n_c,) or None; elements that cannot be
        part of any valid action are best said here, they are removed up front.
        Raises `NoValidAction`; returns fewer than k where fewer are valid.
        """
        metrics.check_metric(metric)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        vector, square = metrics.as_query(query, self.width)
        predicate = as_predicate(valid, self.shape)
        row_predicate = predicate if isinstance(predicate, RowPredicate) else None
        if self.different:
            predicate = differing(self.different, self.ids, predicate)
        allowed = None if component_valid is None else self._allowed(component_valid)
        if not self.splits(metric):
            order = self._pooled_order(vector, metric, component_valid)
            found, _ = walk(order, k, predicate, math.inf)
        elif self.listable(self.size) and not (k == 1 and predicate is None and metric != "cosine"):
            known = _ALL if allowed is None else self._grid(allowed)
            if isinstance(predicate, ArrayValidity) and not self.axes.merged:
                mask, predicate = predicate.mask.ravel(), None
                known = mask if known is _ALL else known & mask
            found, _ = walk(self._listed_order(vector, metric, known), k, predicate, math.inf)
        else:
            scored = self._score(vector, square, metric, allowed)
            if k == 1 and predicate is None and metric != "cosine":
                found = scored.top(0.0, 1)
            elif metric == "cosine" and square == 0.0:
                # Every action has cosine 0: their order is that of their indices.
                found = search_nearest(_without_norms(scored), "inner", k, predicate, None)
            else:
                fallback = None
                if row_predicate is not None and not self.axes.merged:
                    fallback = scan_rows(scored, metric, row_predicate, predicate)
                found = search_nearest(scored, metric, k, predicate, fallback)
        if not len(found.linear):
            raise none_valid(self.size)
        return metrics.neighbours(found, metric, square)

    def plan(self, metric: Metric = "cosine") -> Plan:
        """How :meth:`nearest` searches; `TooManyActions` where it would list more than the cap."""
        metrics.check_metric(metric)
        size = self.size
        if not self.splits(metric):
            self.check_cap(self.cap, f"{self.pooling_name} pooling does not split under {metric}")
            return Plan(
                "pooled-list",
                size,
                f"{self.pooling_name} pooling does not split under {metric}: "
                f"all {size} actions are listed (cap {self.cap})",
            )
        if self.listable(size):
            if len(self.axes.all) == 1:
                return Plan("listed", size, "a single free choice: all its elements are scored")
            return Plan("listed", size, f"at most {LISTED} actions: all component sums at once")
        if metric == "cosine":
            reason = "dots and norms split over components: bounded by bands of the norm"
        else:
            reason = f"{metric} splits over components: walked in order of the components' sums"
        return Plan("product", size, reason)

    def listable(self, total: float) -> bool:
        """Whether computing all scores at once beats walking in order."""
        return len(self.axes.all) == 1 or (total <= LISTED and self.axes.in_order)

    @property
    def pooling_name(self) -> str:
        """Name of the pooling in messages."""
        if isinstance(self.pooling, str):
            return self.pooling
        return getattr(self.pooling, "__name__", "custom")

    def splits(self, metric: str) -> bool:
        """Whether scores of this metric follow from the components' own."""
        return self.pooling == "concat" or (metric == "inner" and self.pooling in ("mean", "sum"))

    def _parts(self, query: Floats) -> tuple[Floats, Ints]:
        """Vector that components are scored against: component c from the c-th start on."""
        if self.pooling == "concat":
            return query, self._starts
        parts = query / len(self.tables) if self.pooling == "mean" else query
        return parts, np.zeros_like(self._starts)

    def _score(
        self,
        query: Floats,
        square: float,
        metric: str,
        allowed: Sequence[Ints | None] | None = None,
    ) -> ScoredProduct:
        linear: list[Floats] = []
        norms: list[Floats] = []
        parts, starts = self._parts(query)
        for c, (table, start) in enumerate(zip(self.tables, starts.tolist(), strict=True)):
            part = parts[start : start + table.shape[1]]
            a, n = metrics.score_table(table, part, metric, f"component {c}")
            linear.append(a)
            norms.append(n)
        if self.axes.merged:
            axes = self.axes.all
            linear, norms = (
                [axis.total(linear) for axis in axes],
                [axis.total(norms) for axis in axes],
            )
        elements: Sequence[Ints | None] = [None] * len(linear) if allowed is None else allowed
        for axis, subset in enumerate(elements):
            if subset is not None:
                linear[axis], norms[axis] = linear[axis][subset], norms[axis][subset]
        worst = square * (1 + 1e-9) if metric == "cosine" else None
        return ScoredProduct(self.axes, linear, norms, elements, worst)

    def _allowed(
        self, component_valid: Sequence[NDArray[np.bool_] | None]
    ) -> Sequence[Ints | None]:
        """Per axis the elements all of whose parts are allowed; None for all."""
        if len(component_valid) != len(self.shape):
            raise ValueError(
                f"component_valid needs {of_things(len(self.shape), 'entries')}, not "
                f"{len(component_valid)}"
            )
        for c, mask in enumerate(component_valid):
            if mask is not None and np.shape(mask) != (self.shape[c],):
                raise ValueError(f"component_valid[{c}] must have shape ({self.shape[c]},)")
        found: list[Ints | None] = []
        for axis in self.axes.all:
            keep: NDArray[np.bool_] | None = None
            for position, column in enumerate(axis.columns):
                mask = component_valid[column]
                if mask is not None:
                    part = np.asarray(mask, np.bool_)
                    part = part if axis.members is None else part[axis.members[position]]
                    keep = part if keep is None else keep & part
            found.append(None if keep is None else np.flatnonzero(keep))
        return found

    def _grid(self, allowed: Sequence[Ints | None]) -> NDArray[np.bool_]:
        """Of all actions, the last axis running fastest, those of which every part is allowed."""
        sizes = [axis.size for axis in self.axes.all]
        grid = np.zeros(sizes, np.bool_)
        subsets = zip(allowed, sizes, strict=True)
        grid[np.ix_(*[np.arange(n) if some is None else some for some, n in subsets])] = True
        return grid.ravel()

    def _listed_order(
        self, query: Floats, metric: str, known: NDArray[np.bool_]
    ) -> Callable[[int], tuple[Batch, Floats]]:
        """All costs at once; neither the vectors nor the index tuples of all actions are built.

        known: validity of all actions (n_1 · ... · n_m,), if it is there as an array.
        """
        parts, starts = self._parts(query)
        axes = self.axes.members
        code = metrics.CODES[metric]

        loops = metrics.listed_kernels()
        scored, check = loops.score_tuples(self.tables, starts, *axes, parts, code, known)
        if not math.isfinite(check):
            self._score(query, 0.0, metric)  # says which component it is

        def order(count: int) -> tuple[Batch, Floats]:
            tuples, linear, norms, cost = loops.least_tuples(scored, *axes, count)
            return Batch(tuples, linear, norms), cost

        return order

    def _pooled_order(
        self,
        query: Floats,
        metric: str,
        component_valid: Sequence[NDArray[np.bool_] | None] | None,
    ) -> Callable[[int], tuple[Batch, Floats]]:
        """Scores of all listed, pooled vectors."""
        self.check_cap(self.cap, f"{self.pooling_name} pooling does not split under {metric}")
        batches: list[Batch] = []
        for rows in self.chunks():
            if component_valid is not None:
                for c, mask in enumerate(component_valid):
                    rows = rows if mask is None else rows[np.asarray(mask, np.bool_)[rows[:, c]]]
            pooled = self.vectors(rows)
            linear, norms = metrics.score_table(pooled, query, metric, "the pooled actions")
            batches.append(Batch(rows, linear, norms))
        everything = metrics.join(batches, len(self.shape))
        return lambda count: metrics.best(everything, metric, count)

    def check_cap(self, cap: int, why: str) -> None:
        """Refuse to list more than `cap` actions."""
        if self.size > cap:
            raise TooManyActions(
                f"{self.size} actions would have to be listed ({why}), and the cap is {cap}; "
                "concatenate the components, use the inner product, or raise the cap"
            )


def _without_norms(scored: ScoredProduct) -> ScoredProduct:
    zeros: list[Any] = [np.zeros_like(part) for part in scored.linear]
    return ScoredProduct(scored.axes, zeros, zeros, scored.elements, 0.0)
