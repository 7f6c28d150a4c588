"""Which actions of a state can have its largest Q: the others need no pass through the network.

Over the actions of one state most hidden units keep their sign, so Q is almost linear there, and a
linear function of an action's vector is a sum over its components. LeakyReLU is convex: with bounds
on its input it lies between a line through 0 and its chord. Lines in place of the second layer's
units, upper where their weight is positive and lower where it is negative, give an upper bound on Q
that costs one addition per component. An action whose bound is below the value of another one is
left out; the maximum stays what it is.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: actions of the largest bounds whose values are what the other bounds are compared with
_TRIED = 3
#: rounding errors that are allowed for, over the sum of what is added up
_ROUNDING = np.float32(1e-5)


@njit(cache=True)
def mark_candidates(  # type: ignore[no-untyped-def]
    observed, parts, firsts, lengths, vectors, places, inward, starts, widths, index, ends,
    second, bias, last, slope, out,
):  # fmt: skip
    """Mark the actions of B states, one state after the other, that may have the largest value.

    Args:
        observed: the first layer's sums over the observation, with its bias: (B, h).
        parts: the first layer's sums over component vectors, of all states: (n, h).
        firsts: first rows of each state's components: (B, C).
        lengths: and how many there are, 0 where a state has no such component: (B, C).
        vectors: the component vectors themselves, one behind the other.
        places: where those of each state's components begin: (B, C).
        inward: the first layer's weights of action vectors: (d, h).
        starts: first rows of each component in these: (C,).
        widths: of the components' vectors: (C,).
        index: per action the rows of its components, counted from the state's first: (K, C).
        ends: of each state's actions: (B,).
        second: weights of the second layer: (h, g).
        bias: of the second layer: (g,).
        last: weights of the last layer: (g,).
        slope: of LeakyReLU.
        out: (K,) bool, all False
    """
    begin = 0
    for b in range(observed.shape[0]):
        stop = ends[b]
        components = np.count_nonzero(lengths[b])
        if _pays(lengths[b, :components], widths, stop - begin, second.shape[0]):
            _mark_state(
                observed[b], parts, firsts[b], lengths[b, :components], vectors, places[b], inward,
                starts, widths, index[begin:stop], second, bias, last, slope, out[begin:stop],
            )  # fmt: skip
        else:
            out[begin:stop] = True
        begin = stop


@njit(cache=True)
def _pays(lengths, widths, count, width):  # type: ignore[no-untyped-def]
    """Whether bounds cost clearly less than a pass of all actions."""
    cost = 0
    for c in range(lengths.shape[0]):
        wide = widths[c]
        cost += min(lengths[c] * width, wide * (width + lengths[c]))
    return 3 * cost < 2 * count * width


@njit(cache=True)
def _mark_state(  # type: ignore[no-untyped-def]
    observed, parts, firsts, lengths, vectors, places, inward, starts, widths, index,
    second, bias, last, slope, out,
):  # fmt: skip
    width, units = second.shape
    low, high = observed.copy(), observed.copy()
    for c in range(lengths.shape[0]):
        _widen(parts[firsts[c] : firsts[c] + lengths[c]], low, high)
    slopes, gaps = _chords(low, high, slope)
    passed = np.empty_like(second)
    for j in range(width):
        for u in range(units):
            passed[j, u] = slopes[j] * second[j, u]
    linear = np.empty((lengths.sum(), units), np.float32)
    at = 0
    for c in range(lengths.shape[0]):
        size, wide = lengths[c], widths[c]
        if size * width > wide * (width + size):
            table = vectors[places[c] : places[c] + size * wide].reshape(size, wide)
            through = np.dot(inward[starts[c] : starts[c] + wide], passed)
            np.dot(table, through, linear[at : at + size])
        else:
            np.dot(parts[firsts[c] : firsts[c] + size], passed, linear[at : at + size])
        at += size
    base = bias + np.dot(observed.reshape(1, width), passed)[0]
    low, high = base.copy(), base.copy()
    at = 0
    for c in range(lengths.shape[0]):
        _widen(linear[at : at + lengths[c]], low, high)
        at += lengths[c]
    for j in range(width):
        if gaps[j] > 0:
            for u in range(units):
                more = gaps[j] * second[j, u]
                low[u] += min(more, np.float32(0))
                high[u] += max(more, np.float32(0))
    weights, constant, rounding = _lines(low, high, last, slope)
    for u in range(units):
        constant += weights[u] * base[u]
    onward = np.zeros_like(observed)  # what a unit of the first layer adds that is not on its chord
    for j in range(width):
        if gaps[j] > 0:
            for u in range(units):
                onward[j] += weights[u] * second[j, u]
            constant += gaps[j] * max(onward[j], np.float32(0))
    bounds = np.dot(linear, weights)
    _compare(bounds, constant, rounding, slopes, gaps, onward, observed, parts, firsts, lengths,
             index, second, bias, last, slope, out)  # fmt: skip


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


@njit(cache=True)
def _compare(  # type: ignore[no-untyped-def]
    bounds, constant, rounding, slopes, gaps, onward, observed, parts, firsts, lengths,
    index, second, bias, last, slope, out,
):  # fmt: skip
    """Mark actions whose bounds reach the value of those with the largest bounds.

    Where the first bound does, a second one with the first layer's own values is looked at.
    """
    count, components = index.shape[0], lengths.shape[0]
    found = np.full(count, constant, np.float32)
    at = 0
    for c in range(components):
        for k in range(count):
            found[k] += bounds[at + index[k, c]]
        at += lengths[c]
    best = np.float32(-np.inf)
    left = found.copy()
    hidden = np.empty_like(observed)
    for _ in range(min(_TRIED, count)):
        largest = np.argmax(left)
        left[largest] = -np.inf
        out[largest] = True
        _add_up(observed, parts, firsts, index[largest], components, hidden)
        for j in range(hidden.shape[0]):
            hidden[j] = max(hidden[j], slope * hidden[j])
        sums = bias + np.dot(hidden.reshape(1, len(hidden)), second)[0]
        best = max(best, np.dot(np.maximum(sums, slope * sums), last))
    least = best - rounding
    assumed = np.dot(gaps, np.maximum(onward, np.float32(0)))
    for k in range(count):
        if out[k] or found[k] < least:
            continue
        _add_up(observed, parts, firsts, index[k], components, hidden)
        for j in range(hidden.shape[0]):
            hidden[j] = max(hidden[j], slope * hidden[j]) - slopes[j] * hidden[j]
        out[k] = found[k] - assumed + np.dot(onward, hidden) >= least


@njit(cache=True)
def _add_up(observed, parts, firsts, rows, components, out):  # type: ignore[no-untyped-def]
    """The first layer's sums of one action."""
    out[:] = observed
    for c in range(components):
        part = parts[firsts[c] + rows[c]]
        for j in range(out.shape[0]):
            out[j] += part[j]
