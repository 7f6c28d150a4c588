"""Upper bounds on Q over the actions of a state: most of them need no pass through the network.

Over the actions of one state most hidden units keep their sign, so Q is almost linear there, and a
linear function of an action's vector is a sum over its components. LeakyReLU is convex: with bounds
on its input it lies between a line through 0 and its chord. Lines in place of the second layer's
units, upper where their weight is positive and lower where it is negative, give an upper bound on Q
that costs one addition per component. A second bound, with the first layer's own values, is closer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.embedding.row_sums import add_products

#: rounding errors that are allowed for, over the sum of what is added up
_ROUNDING = np.float32(1e-5)


@njit(cache=True)
def pays(lengths, widths, count, width):  # type: ignore[no-untyped-def]
    """Whether bounds cost clearly less than a pass of all actions."""
    cost = 0
    for c in range(lengths.shape[0]):
        wide = widths[c]
        cost += min(lengths[c] * width, wide * (width + lengths[c]))
    return 3 * cost < 2 * count * width


@njit(cache=True, fastmath={"contract", "reassoc"})
def upper_bound(  # type: ignore[no-untyped-def]
    observed, parts, firsts, lengths, vectors, inward, starts, widths, second, bias, last, slope
):
    """The bound on Q of a state's actions as a sum over components, and what a closer one needs.

    Args:
        observed: the first layer's sums over the observation, with its bias: (h,).
        parts: the first layer's sums over component vectors: (n, h).
        firsts: first rows of the components: (C,).
        lengths: and how many there are: (C,).
        vectors: the component vectors themselves, one behind the other.
        inward: the first layer's weights of action vectors: (d, h).
        starts: first rows of each component in these: (C,).
        widths: of the components' vectors: (C,).
        second: weights of the second layer: (h, g).
        bias: of the second layer: (g,).
        last: weights of the last layer: (g,).
        slope: of LeakyReLU.

    Returns:
        Bounds (n,) of the component vectors, and a constant that is added to their sum; rounding
        errors; slopes, gaps and `onward` (h,): the first layer's units add up to gaps · onward to
        the bound, where positive; in fact LeakyReLU(x) - slopes x of them.
    """
    width, units = second.shape
    low, high = observed.copy(), observed.copy()
    for c in range(lengths.shape[0]):
        _widen(parts[firsts[c] : firsts[c] + lengths[c]], low, high)
    slopes, gaps = _chords(low, high, slope)
    passed = np.empty((1, width, units), np.float32)
    for j in range(width):
        for u in range(units):
            passed[0, j, u] = slopes[j] * second[j, u]
    numbers = np.arange(max(lengths.max(), widths.max()))
    linear = np.zeros((parts.shape[0], units), np.float32)
    place = 0
    for c in range(lengths.shape[0]):
        size, wide = lengths[c], widths[c]
        into = linear[firsts[c] : firsts[c] + size]
        if size * width > wide * (width + size):
            table = vectors[place : place + size * wide].reshape(size, wide)
            through = np.zeros((1, wide, units), np.float32)
            lines = inward[starts[c] : starts[c] + wide]
            add_products(through[0], numbers, wide, lines, width, passed, 0)
            add_products(into, numbers, size, table, wide, through, 0)
        else:
            own = parts[firsts[c] : firsts[c] + size]
            add_products(into, numbers, size, own, width, passed, 0)
        place += size * wide
    base = bias.copy().reshape(1, units)
    add_products(base, numbers, 1, observed.reshape(1, width), width, passed, 0)
    low, high = base[0].copy(), base[0].copy()
    for c in range(lengths.shape[0]):
        _widen(linear[firsts[c] : firsts[c] + lengths[c]], low, high)
    for j in range(width):
        if gaps[j] > 0:
            for u in range(units):
                more = gaps[j] * second[j, u]
                low[u] += min(more, np.float32(0))
                high[u] += max(more, np.float32(0))
    weights, constant, rounding = _lines(low, high, last, slope)
    for u in range(units):
        constant += weights[u] * base[0, u]
    onward = np.zeros_like(observed)
    for j in range(width):
        if gaps[j] > 0:
            for u in range(units):
                onward[j] += weights[u] * second[j, u]
            constant += gaps[j] * max(onward[j], np.float32(0))
    bounds = np.dot(linear, weights)
    return bounds, constant, rounding, slopes, gaps, onward


@njit(cache=True)
def _widen(rows, low, high):  # type: ignore[no-untyped-def]
    """Add the least and the largest of the rows to bounds."""
    least, most = rows[0].copy(), rows[0].copy()
    for r in range(1, rows.shape[0]):
        for j in range(rows.shape[1]):
            least[j] = min(least[j], rows[r, j])
            most[j] = max(most[j], rows[r, j])
    for j in range(rows.shape[1]):
        low[j] += least[j]
        high[j] += most[j]


@njit(cache=True)
def _chords(low, high, slope):  # type: ignore[no-untyped-def]
    """LeakyReLU of x is slopes x + something from 0 to gaps, where x is from low to high."""
    slopes, gaps = np.empty_like(low), np.zeros_like(low)
    for j in range(low.shape[0]):
        if low[j] >= 0:
            slopes[j] = 1
        elif high[j] <= 0:
            slopes[j] = slope
        else:
            slopes[j] = (high[j] - slope * low[j]) / (high[j] - low[j])
            gaps[j] = (slope - slopes[j]) * low[j]
    return slopes, gaps


@njit(cache=True)
def _lines(low, high, last, slope):  # type: ignore[no-untyped-def]
    """Weights and constant of the upper bound over the second layer's sums; rounding errors."""
    weights, gaps = _chords(low, high, slope)
    constant, size = np.float32(0), np.float32(0)
    for u in range(low.shape[0]):
        if gaps[u] > 0:
            if last[u] > 0:
                constant += last[u] * gaps[u]
            else:
                weights[u] = 1 if high[u] > -low[u] else slope
        weights[u] *= last[u]
        size += abs(weights[u]) * max(abs(low[u]), abs(high[u]))
    return weights, constant, _ROUNDING * (size + constant)
