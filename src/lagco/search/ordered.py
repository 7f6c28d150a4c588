"""Actions in order of cost: the part of the search that products and paths share.

A `Scored` set is an action set seen from one query. It can give its best actions for any linear
weighting of (linear part, squared norm), and stream all actions below a weight. That is enough
for the two separable metrics, and for cosine as well.

Cosine. With D the dot product and N the squared norm, an action is at least as good as kappa
(cosine times |q|) iff D >= kappa sqrt(N). Let N lie in a band [a^2, b^2]. For kappa > 0 the root
is at least its chord over the band, for kappa < 0 at most its tangent, so in both cases

    D - kappa (alpha + beta N) >= 0

is necessary, and it is linear in (D, N): it splits over components. So: find some good actions
(the k-th of them gives kappa), stream per band what passes the linear test, keep what passes the
exact one. Bands are halved until little is left in them; the elements that cannot reach the
bound are dropped on the way, so halves are cheap. Nothing depends on the sign of D.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from lagco.search.metrics import Batch, Floats, best, costs, join, take

_SMALL = 20_000  # a band this small is streamed rather than halved
_DEPTH = 6  # 64 bands at most
_GAIN = 0.5  # a band is halved further while that leaves at most this part of its actions
_SLACK = 1e-11  # covers rounding in bounds; exact costs decide afterwards


class Bound:
    """An upper bound that may sink while a stream is read."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


class Scored(Protocol):
    """An action set scored against one query."""

    @property
    def columns(self) -> int:
        """Length of an index tuple."""
        ...

    @property
    def total(self) -> float:
        """Number of actions, or an upper bound."""
        ...

    @property
    def scale(self) -> float:
        """Magnitude of the linear parts' sums, to size rounding slack."""
        ...

    @property
    def worst(self) -> float:
        """A cost that no action exceeds."""
        ...

    def norm_range(self) -> tuple[float, float]:
        """Bounds on the squared norm of any action."""
        ...

    def top(self, slope: float, count: int) -> Batch:
        """The `count` actions least in (linear + slope * norm, index tuple), in order."""
        ...

    def restrict(self, slope: float, limit: float, low: float, high: float) -> Scored | None:
        """What can hold actions of weight <= limit and norm in [low, high]; None if nothing."""
        ...

    def capped(self, count: int) -> Scored:
        """Without elements that equal `count` earlier ones in all that counts.

        None of those is part of the `count` best actions.
        """
        ...

    def stream(
        self, slope: float, limit: Bound, floor: float, low: float, high: float
    ) -> Iterator[Batch]:
        """All actions with floor <= weight <= limit and low <= norm < high, in chunks."""
        ...


def ordered(scored: Scored, metric: str, count: int) -> tuple[Batch, Floats]:
    """The `count` best actions by (cost, index tuple), in order, with their costs."""
    if metric != "cosine":
        batch = scored.top(0.0, count)
        return batch, batch.linear
    bound = _reachable_cost(scored, count)
    kept: list[Batch] = []
    waiting = 0
    for batch in below(scored, "cosine", Bound(bound), count=count):
        kept.append(batch)
        waiting += len(batch.linear)
        if waiting > 4 * count + 65_536:
            merged, cost = best(join(kept, scored.columns), "cosine", count)
            kept, waiting = [merged], len(cost)
    return best(join(kept, scored.columns), "cosine", count)


def below(
    scored: Scored,
    metric: str,
    bound: Bound,
    floor: float = -math.inf,
    count: int | None = None,
) -> Iterator[Batch]:
    """All actions with floor <= cost <= bound, in chunks, in no particular order.

    count: actions that cannot be among the `count` best may be left out.
    """
    if metric != "cosine":
        yield from scored.stream(0.0, bound, floor, -math.inf, math.inf)
        return
    for batch in _bands(scored, bound, count):
        cost = costs(batch.linear, batch.norms, metric)
        yield take(batch, (cost <= bound.value) & (cost >= floor))


def _reachable_cost(scored: Scored, count: int) -> float:
    """A cost that at least `count` actions reach: an upper bound on the count-th best."""
    slope, reached = 0.0, math.inf
    for _ in range(8):
        # Following the gradient of D / sqrt(N) climbs to a good action in a few rounds.
        one = scored.top(slope, 1)
        if not len(one.linear):
            return math.inf
        cost = float(costs(one.linear, one.norms, "cosine")[0])
        if cost >= reached:
            break
        reached = cost
        norm = float(one.norms[0])
        slope = -float(one.linear[0]) / (2 * norm) if norm > 0 else 0.0
    if count == 1:
        return reached
    many = scored.top(slope, 2 * count)
    if len(many.linear) < count:
        return math.inf
    cost_many = costs(many.linear, many.norms, "cosine")
    return float(np.partition(cost_many, count - 1)[count - 1])


def _bands(scored: Scored, bound: Bound, count: int | None) -> Iterator[Batch]:
    """A superset of the actions with cosine cost <= bound (of the `count` best ones, if given)."""
    if bound.value == math.inf:
        yield from scored.stream(0.0, Bound(math.inf), -math.inf, -math.inf, math.inf)
        return
    least, most = scored.norm_range()
    a, b = math.sqrt(max(least, 0.0)) * (1 - _SLACK), math.sqrt(max(most, 0.0)) * (1 + _SLACK)
    scale, widest = scored.scale, b
    pending: list[tuple[Scored, float, float, float, float, int]] = [
        (scored, a, b, -math.inf, math.inf, 0)
    ]
    while pending:
        part, a, b, low, high, depth = pending.pop()
        kappa = math.copysign(math.sqrt(abs(bound.value)), -bound.value)
        if kappa > 0:
            alpha, beta = (a * b / (a + b), 1 / (a + b)) if a + b > 0 else (0.0, 0.0)
        else:
            alpha, beta = ((a + b) / 4, 1 / (a + b)) if a + b > 0 else (0.0, 0.0)
        slack = _SLACK * (scale + abs(kappa) * widest)
        slope, limit = kappa * beta, -kappa * alpha + slack
        rest = part.restrict(slope, limit, low, high)
        if rest is None:
            continue
        if count is not None and rest.total > _SMALL and depth in (1, _DEPTH):
            rest = rest.capped(count)
        # Streaming a band passes over actions of other bands, so halving must pay.
        vain = depth >= 2 and rest.total > _GAIN * part.total
        if vain or depth >= _DEPTH or rest.total <= _SMALL or b <= a:
            yield from rest.stream(slope, Bound(limit), -math.inf, low, high)
            continue
        middle = (a + b) / 2
        pending.append((rest, middle, b, middle * middle, high, depth + 1))
        pending.append((rest, a, middle, low, middle * middle, depth + 1))
