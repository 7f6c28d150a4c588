"""The fallback for predicates that answer a whole row: all choices of the last component.

Prefixes (the choices before the last component) are taken in order of the best cost their row
could hold; a row is asked for as a whole and its valid actions scored at once. The scan stops
when no further row can beat the k-th best found.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lagco.search.metrics import Batch, Floats, Ints, best, costs, join, kernels, take
from lagco.search.products.scored import ScoredProduct
from lagco.search.validity import Predicate, RowPredicate, ask

_PREFIXES = 4_000_000  # more prefixes than this are not sorted; the caller sweeps in shells
_CELLS = 1_000_000  # actions scored at once


def scan_rows(
    scored: ScoredProduct, metric: str, rows: RowPredicate, predicate: Predicate | None
) -> Callable[[int], Batch] | None:
    """A search for the k best actions by rows, or None where there are too many prefixes."""
    prefixes = math.prod([len(part) for part in scored.linear[:-1]])
    if len(scored.linear) < 2 or prefixes > _PREFIXES:
        return None
    exclusions = predicate is not rows
    wide = scored.axes.sizes[-1]

    def search(k: int) -> Batch:
        loops = kernels()
        linear, norms = scored.linear[0], scored.norms[0]
        for a, n in zip(scored.linear[1:-1], scored.norms[1:-1], strict=True):
            linear, norms = loops.outer_sum(linear, a), loops.outer_sum(norms, n)
        last_linear, last_norms = scored.linear[-1], scored.norms[-1]
        bound = _optimistic(linear, norms, last_linear, last_norms, metric)
        order = np.argsort(bound, kind="stable")
        sizes = [len(part) for part in scored.linear[:-1]]
        kept: list[Batch] = []
        limit, at, step = math.inf, 0, 4
        most = max(1, _CELLS // max(len(last_linear), 1))
        while at < len(order) and bound[order[at]] <= limit:
            some = order[at : at + step]
            some = some[bound[some] <= limit]
            at += step
            step = min(step * 2, most)
            positions = np.unravel_index(some, sizes)
            named = [scored._named(axis, p) for axis, p in enumerate(positions)]
            prefix: Ints = np.stack(named, axis=1).astype(np.int64)
            answer = np.asarray(rows.rows(prefix))
            if answer.shape != (len(prefix), wide) or answer.dtype != np.bool_:
                raise TypeError(
                    f"rows() must return booleans of shape ({len(prefix)}, {wide}), "
                    f"not {answer.dtype} of shape {answer.shape}"
                )
            subset = scored.elements[-1]
            if subset is not None:
                answer = answer[:, subset]
            row, column = np.nonzero(answer)
            if not len(row):
                continue
            sums = linear[some][row] + last_linear[column]
            squares = norms[some][row] + last_norms[column]
            near = costs(sums, squares, metric) <= limit
            row, column = row[near], column[near]
            batch = Batch(
                np.column_stack([prefix[row], scored._named(len(sizes), column)]),
                sums[near],
                squares[near],
            )
            if exclusions and predicate is not None:
                batch = take(batch, ask(predicate, batch.indices))
            merged, cost = best(join([*kept, batch], scored.columns), metric, k)
            kept = [merged]
            if len(cost) >= k:
                limit = float(cost[-1])
        return join(kept, scored.columns)

    return search


def _optimistic(
    linear: Floats, norms: Floats, last_linear: Floats, last_norms: Floats, metric: str
) -> Floats:
    """The least cost a row could hold, given the range of its last component."""
    slack = 1e-12 * (np.abs(linear).max(initial=0.0) + np.abs(last_linear).max(initial=0.0))
    bottom: Floats = linear + last_linear.min() - slack
    if metric != "cosine":
        return bottom
    small = np.maximum(norms + last_norms.min(), 0.0) * (1 - 1e-12)
    large = (norms + last_norms.max()) * (1 + 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = bottom * np.abs(bottom) / np.where(bottom < 0, small, large)
    # A row that may hold a zero vector may hold cost 0.
    bound = np.where((small <= 0) & (bottom > 0), 0.0, bound)
    return np.where(np.isnan(bound), 0.0, bound)
