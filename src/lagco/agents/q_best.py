"""The action of the largest Q of each state, compiled; actions that cannot have it are not passed.

What a state's largest value is does not depend on the states that are looked at with it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.agents.compiled_network import transpose
from lagco.agents.halves import widen
from lagco.agents.q_bounds import ordered, pays, upper_bound
from lagco.embedding.row_sums import add_neighbours, add_products

#: actions that are passed together
_TOGETHER = 16
#: those of the largest bounds are passed first, so many: their values are what bounds must reach
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
        vectors: component vectors, state by state and component by component; float32, or halves
            given as their bits.
        lengths: how many there are, 0 where a state has no such component: (B, C).
        first: weights of the first layer, of observations and action vectors: (h, w + d).
        entry: bias of the first layer: (h,).
        starts: first rows of each component among the weights of action vectors: (C,).
        widths: of the components' vectors: (C,).
        index: per declared action the rows of its components: (·, C).
        firsts: where the actions of each state begin there: (B,).
        counts: how many are declared: (B,).
        kept: one bit per declared action, 1 where it is valid, state by state.
        bits: where those of a state begin, -1 where all are valid: (B,).
        second: weights of the second layer: (g, h).
        bias: of the second layer: (g,).
        last: weights of the last layer: (1, g).
        base: its bias: (1,).
        slope: of LeakyReLU.
        largest: written: (B,).
        positions: written: (B,).

    Returns:
        How many actions were passed.
    """
    place, passed = 0, 0
    width = observations.shape[1]
    turned = np.empty((first.shape[1], first.shape[0]), np.float32)
    transpose(first, turned)
    inward, outward = turned[width:], turned[:width].reshape(1, width, first.shape[0])
    second, bias, weights, close = ordered(second, bias, last)
    observed = np.empty((1, first.shape[0]), np.float32)
    rows = np.empty((counts.max() + 1) * lengths.shape[1], np.int64)
    numbers = (lengths * widths).sum(axis=1)
    own = np.empty(numbers.max(), np.float32)
    for b in range(observations.shape[0]):
        observed[0] = entry
        add_products(observed, _ONE, 1, observations[b : b + 1], width, outward, 0)
        sizes = lengths[b, : np.count_nonzero(lengths[b])]
        widen(vectors, place, numbers[b], own)
        count = _list_valid(index[firsts[b] : firsts[b] + counts[b]], kept, bits[b], sizes, rows)
        largest[b], positions[b], some = _best_of_state(
            observed[0], own, sizes, inward, starts, widths, rows, count, second, bias, weights,
            base[0], close, slope,
        )  # fmt: skip
        place += numbers[b]
        passed += some
    return passed


@njit(cache=True)
def _list_valid(index, kept, begin, lengths, out):  # type: ignore[no-untyped-def]
    """Write the component vectors of each valid action, counted over all; how many there are."""
    components = lengths.shape[0]
    first = 0
    for c in range(components):  # invalid ones are overwritten: no branch has to be foreseen
        count = 0
        for k in range(index.shape[0]):
            out[count * components + c] = first + index[k, c]
            count += begin < 0 or (kept[begin + (k >> 3)] >> (7 - (k & 7))) & 1
        first += lengths[c]
    return count


@njit(cache=True)
def _best_of_state(  # type: ignore[no-untyped-def]
    observed, vectors, lengths, inward, starts, widths, rows, count, second, bias, last, base,
    close, slope,
):  # fmt: skip
    parts, firsts = _first_layer(vectors, lengths, inward, starts, widths)
    components = lengths.shape[0]
    hidden = np.empty((_TOGETHER, second.shape[0]), np.float32)
    sums = np.empty((_TOGETHER, second.shape[1]), np.float32)
    values = np.empty(_TOGETHER, np.float32)
    best, at, tried = np.float32(-np.inf), 0, 0
    above, least = np.full(count, np.inf, np.float32), np.float32(0)
    if pays(lengths, widths, count, second, close):
        above[:] = base
        least = upper_bound(
            observed, parts, firsts, lengths, rows, count, vectors, inward, starts, widths, second,
            bias, last, close, slope, above,
        )  # fmt: skip
        some = _first_few(above, min(_TRIED, count))
        tried = some.shape[0]
        _pass(observed, parts, rows, components, some, second, bias, last, base, slope, hidden,
              sums, values)  # fmt: skip
        best, at = _better(values, some, best, at)
        above[some] = -np.inf
    some, number = np.empty(_TOGETHER, np.int64), 0
    for k in range(count):
        if above[k] >= best - least:
            some[number] = k
            number += 1
        if number == _TOGETHER or (number and k == count - 1):
            _pass(observed, parts, rows, components, some[:number], second, bias, last, base,
                  slope, hidden, sums, values)  # fmt: skip
            best, at = _better(values, some[:number], best, at)
            tried += number
            number = 0
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
def _pass(  # type: ignore[no-untyped-def]
    observed, parts, rows, components, some, second, bias, last, base, slope, hidden, sums, out
):
    """Values of some actions."""
    width, units = second.shape
    number = some.shape[0]
    for i in range(number):
        into = hidden[i]
        for j in range(width):
            into[j] = observed[j]
        add_neighbours(hidden, i, parts, rows, some[i] * components, (some[i] + 1) * components)
        for j in range(width):
            into[j] = max(into[j], slope * into[j])
        sums[i] = bias
    table = second.reshape(1, width, units)
    add_products(sums, np.arange(number), number, hidden, width, table, 0)
    for i in range(number):
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
