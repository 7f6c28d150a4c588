"""The action of the largest Q of each state, compiled; actions that cannot have it are not passed.

What a state's largest value is does not depend on the states that are looked at with it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.agents.q_bounds import pays, upper_bound
from lagco.embedding.row_sums import add_products

#: actions that are passed together, those of the largest bounds first
_TOGETHER = 16
#: and so many at first, whose values are what bounds are compared with
_TRIED = 4


@njit(cache=True)
def best_actions(  # type: ignore[no-untyped-def]
    observed, vectors, lengths, inward, starts, widths, index, firsts, counts, kept, bits,
    second, bias, last, base, slope, largest, positions,
):  # fmt: skip
    """Write the largest value of each of B states, and the first of its actions that has it.

    Args:
        observed: the first layer's sums over the observations, with its bias: (B, h).
        vectors: component vectors, state by state and component by component.
        lengths: how many there are, 0 where a state has no such component: (B, C).
        inward: the first layer's weights of action vectors: (d, h).
        starts: first rows of each component in these: (C,).
        widths: of the components' vectors: (C,).
        index: per declared action the rows of its components: (·, C).
        firsts: where the actions of each state begin there: (B,).
        counts: how many are declared: (B,).
        kept: one bit per declared action, 1 where it is valid, state by state.
        bits: where those of a state begin, -1 where all are valid: (B,).
        second: weights of the second layer: (h, g).
        bias: of the second layer: (g,).
        last: weights of the last layer: (g,).
        base: its bias.
        slope: of LeakyReLU.
        largest: written: (B,).
        positions: written: (B,).

    Returns:
        How many actions were passed.
    """
    place, passed = 0, 0
    for b in range(observed.shape[0]):
        components = np.count_nonzero(lengths[b])
        sizes = lengths[b, :components]
        numbers = 0
        for c in range(components):
            numbers += sizes[c] * widths[c]
        valid = np.empty(counts[b], np.int64)
        count = _list_valid(kept, bits[b], firsts[b], valid)
        largest[b], positions[b], some = _best_of_state(
            observed[b], vectors[place : place + numbers], sizes, inward, starts, widths, index,
            valid[:count], second, bias, last, base, slope,
        )  # fmt: skip
        place += numbers
        passed += some
    return passed


@njit(cache=True)
def _list_valid(kept, begin, first, out):  # type: ignore[no-untyped-def]
    """Write the rows of the index that are valid actions; how many there are."""
    count = 0
    for k in range(out.shape[0]):
        if begin < 0 or kept[begin + (k >> 3)] & (128 >> (k & 7)):
            out[count] = first + k
            count += 1
    return count


@njit(cache=True)
def _best_of_state(  # type: ignore[no-untyped-def]
    observed, vectors, lengths, inward, starts, widths, index, valid, second, bias, last, base,
    slope,
):  # fmt: skip
    width, count = second.shape[0], valid.shape[0]
    parts, firsts = _first_layer(vectors, lengths, inward, starts, widths)
    hidden = np.empty((_TOGETHER, width), np.float32)
    sums = np.empty((_TOGETHER, second.shape[1]), np.float32)
    values = np.empty(_TOGETHER, np.float32)
    best, at = np.float32(-np.inf), 0
    if not pays(lengths, widths, count, width):
        some = np.arange(count)
        for low in range(0, count, _TOGETHER):
            high = min(low + _TOGETHER, count)
            _pass(observed, parts, firsts, index, valid, some[low:high], second, bias, last, base,
                  slope, hidden, sums, values)  # fmt: skip
            best, at = _better(values, some[low:high], best, at)
        return best, at, count
    bounds, constant, rounding, slopes, gaps, onward = upper_bound(
        observed, parts, firsts, lengths, vectors, inward, starts, widths, second, bias, last, slope
    )
    above = np.full(count, constant + base, np.float32)
    for k in range(count):
        rows = index[valid[k]]
        for c in range(lengths.shape[0]):
            above[k] += bounds[firsts[c] + rows[c]]
    tried = min(_TRIED, count)
    some = np.empty(tried, np.int64)
    for i in range(tried):
        some[i] = np.argmax(above)
        above[some[i]] = -np.inf
    _pass(observed, parts, firsts, index, valid, some, second, bias, last, base, slope, hidden,
          sums, values)  # fmt: skip
    best, at = _better(values, some, best, at)
    left = _left(above, best - rounding, observed, parts, firsts, index, valid, slope, slopes, gaps,
                 onward, hidden[0])  # fmt: skip
    left = left[np.argsort(-above[left])]
    for low in range(0, left.shape[0], _TOGETHER):
        if above[left[low]] < best - rounding:
            break
        some = left[low : low + _TOGETHER]
        _pass(observed, parts, firsts, index, valid, some, second, bias, last, base, slope, hidden,
              sums, values)  # fmt: skip
        best, at = _better(values, some, best, at)
        tried += some.shape[0]
    return best, at, tried


@njit(cache=True)
def _first_layer(vectors, lengths, inward, starts, widths):  # type: ignore[no-untyped-def]
    """The first layer's sums over component vectors, and the first rows of each component."""
    width = inward.shape[1]
    parts = np.zeros((lengths.sum(), width), np.float32)
    firsts = np.cumsum(lengths) - lengths
    numbers = np.arange(lengths.max())
    place = 0
    for c in range(lengths.shape[0]):
        size, wide = lengths[c], widths[c]
        table = vectors[place : place + size * wide].reshape(size, wide)
        lines = inward[starts[c] : starts[c] + wide].reshape(1, wide, width)
        into = parts[firsts[c] : firsts[c] + size]
        add_products(into, numbers, size, table, wide, lines, 0)
        place += size * wide
    return parts, firsts


@njit(cache=True)
def _left(  # type: ignore[no-untyped-def]
    above, least, observed, parts, firsts, index, valid, slope, slopes, gaps, onward, hidden
):
    """Actions whose bounds reach `least`, by the second bound, which is written to `above`."""
    assumed = np.float32(0)
    for j in range(gaps.shape[0]):
        assumed += gaps[j] * max(onward[j], np.float32(0))
    crossing = np.flatnonzero(gaps > 0)
    chosen = np.flatnonzero(above >= least)
    count = 0
    for k in chosen:
        rows = index[valid[k]]
        more = above[k] - assumed
        for j in range(hidden.shape[0]):
            hidden[j] = observed[j]
        for c in range(firsts.shape[0]):
            part = parts[firsts[c] + rows[c]]
            for j in range(hidden.shape[0]):
                hidden[j] += part[j]
        for j in crossing:
            more += onward[j] * (max(hidden[j], slope * hidden[j]) - slopes[j] * hidden[j])
        above[k] = more
        if more >= least:
            chosen[count] = k
            count += 1
    return chosen[:count]


@njit(cache=True, fastmath={"contract", "reassoc"})
def _pass(  # type: ignore[no-untyped-def]
    observed, parts, firsts, index, valid, some, second, bias, last, base, slope, hidden, sums, out
):
    """Values of some actions."""
    width, units = second.shape
    for i in range(some.shape[0]):
        rows, into = index[valid[some[i]]], hidden[i]
        part = parts[firsts[0] + rows[0]]
        for j in range(width):
            into[j] = observed[j] + part[j]
        for c in range(1, firsts.shape[0]):
            part = parts[firsts[c] + rows[c]]
            for j in range(width):
                into[j] += part[j]
        for j in range(width):
            into[j] = max(into[j], slope * into[j])
        sums[i] = bias
    table = second.reshape(1, width, units)
    add_products(sums, np.arange(some.shape[0]), some.shape[0], hidden, width, table, 0)
    for i in range(some.shape[0]):
        row = sums[i]
        total = np.float32(0)
        for u in range(units):
            total += last[u] * max(row[u], slope * row[u])
        out[i] = total + base


@njit(cache=True)
def _better(values, some, best, at):  # type: ignore[no-untyped-def]
    """The largest value and the first action that has it, some more being known."""
    for i in range(some.shape[0]):
        if values[i] > best or (values[i] == best and some[i] < at):
            best, at = values[i], some[i]
    return best, at
