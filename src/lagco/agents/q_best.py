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
_ONE = np.zeros(1, dtype=np.int64)


@njit(cache=True)
def best_actions(  # type: ignore[no-untyped-def]
    observations, vectors, lengths, first, entry, starts, widths, index, firsts, counts, kept, bits,
    second, bias, last, base, slope, largest, positions,
):  # fmt: skip
    """Write the largest value of each of B states, and the first of its actions that has it.

    Args:
        observations: (B, w)
        vectors: component vectors, state by state and component by component.
        lengths: how many there are, 0 where a state has no such component: (B, C).
        first: weights of the first layer, of observations and action vectors: (w + d, h).
        entry: bias of the first layer: (h,).
        starts: first rows of each component among the weights of action vectors: (C,).
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
    width = observations.shape[1]
    inward, outward = first[width:], first[:width].reshape(1, width, first.shape[1])
    observed = np.empty((1, first.shape[1]), np.float32)
    for b in range(observations.shape[0]):
        observed[0] = entry
        add_products(observed, _ONE, 1, observations[b : b + 1], width, outward, 0)
        components = np.count_nonzero(lengths[b])
        sizes = lengths[b, :components]
        numbers = 0
        for c in range(components):
            numbers += sizes[c] * widths[c]
        rows = np.empty((components, counts[b]), np.int32)
        count = _list_valid(index[firsts[b] : firsts[b] + counts[b]], kept, bits[b], sizes, rows)
        largest[b], positions[b], some = _best_of_state(
            observed[0], vectors[place : place + numbers], sizes, inward, starts, widths, rows,
            count, second, bias, last, base, slope,
        )  # fmt: skip
        place += numbers
        passed += some
    return passed


@njit(cache=True)
def _list_valid(index, kept, begin, lengths, out):  # type: ignore[no-untyped-def]
    """Write the component vectors (C, k) of valid actions, counted over all; how many there are."""
    count = 0
    for k in range(index.shape[0]):
        if begin < 0 or kept[begin + (k >> 3)] & (128 >> (k & 7)):
            first = 0
            for c in range(out.shape[0]):
                out[c, count] = first + index[k, c]
                first += lengths[c]
            count += 1
    return count


@njit(cache=True)
def _best_of_state(  # type: ignore[no-untyped-def]
    observed, vectors, lengths, inward, starts, widths, rows, count, second, bias, last, base,
    slope,
):  # fmt: skip
    width = second.shape[0]
    parts, firsts = _first_layer(vectors, lengths, inward, starts, widths)
    hidden = np.empty((_TOGETHER, width), np.float32)
    sums = np.empty((_TOGETHER, second.shape[1]), np.float32)
    values = np.empty(_TOGETHER, np.float32)
    best, at = np.float32(-np.inf), 0
    if not pays(lengths, widths, count, width):
        some = np.arange(count)
        for low in range(0, count, _TOGETHER):
            high = min(low + _TOGETHER, count)
            _pass(observed, parts, rows, some[low:high], second, bias, last, base,
                  slope, hidden, sums, values)  # fmt: skip
            best, at = _better(values, some[low:high], best, at)
        return best, at, count
    bounds, constant, rounding, slopes, gaps, onward = upper_bound(
        observed, parts, firsts, lengths, vectors, inward, starts, widths, second, bias, last, slope
    )
    above = np.full(count, constant + base, np.float32)
    for c in range(lengths.shape[0]):
        chosen = rows[c]
        for k in range(count):
            above[k] += bounds[chosen[k]]
    some = _first_few(above, min(_TRIED, count))
    tried = some.shape[0]
    _pass(observed, parts, rows, some, second, bias, last, base, slope, hidden,
          sums, values)  # fmt: skip
    best, at = _better(values, some, best, at)
    above[some] = -np.inf
    left = _left(above, best - rounding, observed, parts, rows, slope, slopes, gaps, onward)
    left = left[np.argsort(-above[left])]
    for low in range(0, left.shape[0], _TOGETHER):
        if above[left[low]] < best - rounding:
            break
        some = left[low : low + _TOGETHER]
        _pass(observed, parts, rows, some, second, bias, last, base, slope, hidden,
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
def _first_few(above, few):  # type: ignore[no-untyped-def]
    """The actions of the largest bounds, the largest first."""
    found = np.zeros(few, np.int64)
    known = np.full(few, -np.inf, np.float32)
    for k in range(above.shape[0]):
        if above[k] > known[few - 1]:
            i = few - 1
            while i > 0 and above[k] > known[i - 1]:
                known[i], found[i] = known[i - 1], found[i - 1]
                i -= 1
            known[i], found[i] = above[k], k
    return found


@njit(cache=True, fastmath={"contract", "reassoc"})
def _left(above, least, observed, parts, rows, slope, slopes, gaps, onward):  # type: ignore[no-untyped-def]
    """Actions whose bounds reach `least`, by the second bound, which is written to `above`."""
    crossing = np.flatnonzero(gaps > 0)  # other units are on their lines
    width = crossing.shape[0]
    own, weight, line = observed[crossing], onward[crossing], slopes[crossing]
    of_parts = np.empty((parts.shape[0], width), np.float32)
    assumed = np.float32(0)
    for j in range(width):
        assumed += gaps[crossing[j]] * max(weight[j], np.float32(0))
        for r in range(parts.shape[0]):
            of_parts[r, j] = parts[r, crossing[j]]
    hidden = np.empty(width, np.float32)
    chosen = np.flatnonzero(above >= least)
    count = 0
    for k in chosen:
        hidden[:] = own
        for c in range(rows.shape[0]):
            part = of_parts[rows[c, k]]
            for j in range(width):
                hidden[j] += part[j]
        more = np.float32(0)
        for j in range(width):
            more += weight[j] * (max(hidden[j], slope * hidden[j]) - line[j] * hidden[j])
        above[k] += more - assumed
        if above[k] >= least:
            chosen[count] = k
            count += 1
    return chosen[:count]


@njit(cache=True, fastmath={"contract", "reassoc"})
def _pass(  # type: ignore[no-untyped-def]
    observed, parts, rows, some, second, bias, last, base, slope, hidden, sums, out
):
    """Values of some actions."""
    width, units = second.shape
    for i in range(some.shape[0]):
        k, into = some[i], hidden[i]
        part = parts[rows[0, k]]
        for j in range(width):
            into[j] = observed[j] + part[j]
        for c in range(1, rows.shape[0]):
            part = parts[rows[c, k]]
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
