"""The k nearest valid actions: walk in order of cost, and sweep in shells if that degrades.

Validity is tested late. Walking in order tests the fewest actions any exact search can, but
keeping the order costs time and memory, which pays only while answers are near. When some
thousand actions were tested in vain, the rest is swept in shells of growing cost: inside a shell
actions come unordered in large chunks, and once k valid ones are known the shell shrinks to the
k-th. The number of tests stays within a constant of the least possible, memory within a chunk.
A predicate that can answer for whole rows takes over when shells find too little as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lagco.search.errors import NoValidAction
from lagco.search.metrics import Batch, Floats, best, costs, join, take
from lagco.search.ordered import Bound, Scored, below, ordered
from lagco.search.validity import Predicate, ask

WALK = 4096  # actions walked in order before sweeping
ROWS_AFTER = 500_000  # actions swept before a predicate is asked by rows, where it can be
_ALL_AFTER = 32  # once this part of the actions was seen, the rest is one last shell
_FIRST = 16
_GROWTH = 8

Order = Callable[[int], tuple[Batch, Floats]]
Fallback = Callable[[int], Batch]


def none_valid(total: float) -> NoValidAction:
    """The error when every action was tested and none is valid."""
    which = f"none of the {int(total)} actions" if total < math.inf else "none of the actions"
    return NoValidAction(
        f"{which} is valid; an environment without valid actions should have ended its episode"
    )


def nearest(
    scored: Scored, metric: str, k: int, predicate: Predicate | None, fallback: Fallback | None
) -> Batch:
    """The k nearest valid actions of a scored set, in order; fewer if fewer are valid."""

    def order(count: int) -> tuple[Batch, Floats]:
        return ordered(scored, metric, count)

    found, walked = walk(order, k, predicate, WALK)
    if walked is not None and predicate is not None:
        found = _sweep(scored, metric, k, predicate, found, walked, fallback)
    if not len(found.linear):
        raise none_valid(scored.total)
    return found


def walk(
    order: Order, k: int, predicate: Predicate | None, limit: float
) -> tuple[Batch, Floats | None]:
    """Test actions in order, in batches growing geometrically.

    Returns the valid ones and None, or, when `limit` actions were tested and fewer than k are
    valid, what was found so far and the costs of all actions tested.
    """
    if predicate is None:
        return order(k)[0], None
    count, tested = max(_FIRST, 3 * k), 0
    found: list[Batch] = []
    valid = 0
    while True:
        batch, cost = order(count)
        if len(cost) > tested:
            answer = ask(predicate, batch.indices[tested:])
            first = int(answer.argmax())
            if k == 1 and answer[first]:
                at = tested + first
                return take(batch, slice(at, at + 1)), None
            good = np.flatnonzero(answer)[: k - valid]
            if len(good):
                found.append(take(batch, good + tested))
                valid += len(good)
        if valid >= k or len(cost) < count:
            return join(found, batch.indices.shape[1]), None
        if count >= limit:
            return join(found, batch.indices.shape[1]), cost
        tested, count = count, min(count * _GROWTH, max(int(min(limit, 2**40)), 3 * k))


def _sweep(
    scored: Scored,
    metric: str,
    k: int,
    predicate: Predicate,
    found: Batch,
    walked: Floats,
    fallback: Fallback | None,
) -> Batch:
    """Shells of growing cost behind the actions already walked."""
    columns = scored.columns
    floor = float(walked[-1])
    # The walk may have stopped inside a tie; the first shell takes the whole tie again.
    kept = take(found, costs(found.linear, found.norms, metric) < floor)
    step = max(floor - float(walked[len(walked) // 4]), abs(floor) * 1e-9, 1e-12 * scored.scale)
    seen = len(walked)
    while True:
        # Shells under cosine pass over nearer actions again; that must not add up.
        last = _ALL_AFTER * seen >= scored.total or floor + step >= scored.worst
        if fallback is not None and (last or seen > ROWS_AFTER):
            return fallback(k)
        bound = Bound(math.inf if last else floor + step)
        end = bound.value
        size = 0
        for batch in below(scored, metric, bound, floor):
            size += len(batch.linear)
            if fallback is not None and size > 4 * ROWS_AFTER:
                return fallback(k)
            if not len(batch.linear):
                continue
            good = take(batch, ask(predicate, batch.indices))
            if len(good.linear):
                kept, cost = best(join([kept, good], columns), metric, k)
                if len(cost) >= k:
                    bound.value = float(cost[-1])
        if len(kept.linear) >= k or last:
            return best(kept, metric, k)[0]
        floor = float(np.nextafter(end, math.inf))
        seen += size
        # Aim at shells of a few times everything seen before.
        step *= 2.0 if size > seen else 4.0
