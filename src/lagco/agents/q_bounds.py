"""Upper bounds on Q over the actions of a state: most of them need no pass through the network.

Over the actions of one state most hidden units keep their sign, so Q is almost linear there. Where
an input of LeakyReLU runs from `low` to `high`, the unit lies below its chord and above the lines
through 0. The first layer's inputs are known for every action. What the second layer is given is a
linear function of them, along the chords, which is a sum over components, and something from 0 to
the gaps below the chords: so much is known of the inputs of its units. A line in place of each of
these, the chord where the last layer's weight is positive and a line through 0 where it is
negative, gives an upper bound on Q that is linear in the first layer's outputs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.agents.compiled_network import transpose
from lagco.agents.q_sums import range_of_sums, weigh_sums
from lagco.embedding.row_sums import add_products

#: rounding errors that are allowed for, over the sum of what is added up
_ROUNDING = np.float32(1e-5)
#: units of the second layer that are multiplied at a time
_UNITS = 16
_ONE = np.zeros(1, dtype=np.int64)


@njit(cache=True)
def ordered(second, bias, last):  # type: ignore[no-untyped-def]
    """The second layer's units in another order, and how many of the first deserve close bounds.

    Units of positive weight come first, those that can change Q most before others; chords need
    bounds on their inputs, lines through 0 none.

    Args:
        second: weights of the second layer: (g, h).
        bias: of the second layer: (g,).
        last: weights of the last layer: (1, g).

    Returns:
        Weights (h, g), bias and last weights (g,) in that order, and that number.
    """
    units, width = second.shape
    reach = np.empty(units, np.float32)
    for u in range(units):
        total = np.float32(0)
        for j in range(width):
            total += second[u, j] * second[u, j]
        reach[u] = -last[0, u] * np.sqrt(total) if last[0, u] > 0 else np.inf
    order = np.argsort(reach, kind="mergesort")
    turned = np.empty((width, units), np.float32)
    transpose(second[order], turned)
    chords = np.count_nonzero(last > 0)
    close = min(max(round(chords / _UNITS), 1) * _UNITS, units)
    return turned, bias[order], last[0][order], close


@njit(cache=True)
def pays(lengths, widths, count, second, close):  # type: ignore[no-untyped-def]
    """Whether bounds cost clearly less than a pass of all actions."""
    width, units = second.shape
    cost = count * width * (lengths.shape[0] + 1)
    for c in range(lengths.shape[0]):
        wide = widths[c]
        cost += close * min(lengths[c] * width, wide * (width + lengths[c]))
    return 3 * cost < 2 * count * width * units


@njit(cache=True, fastmath={"contract", "reassoc"})
def upper_bound(  # type: ignore[no-untyped-def]
    observed, parts, firsts, lengths, rows, count, vectors, inward, starts, widths, second, bias,
    last, close, slope, above,
):  # fmt: skip
    """Add the bounds on Q of a state's actions to `above`, but for the last layer's bias.

    Args:
        observed: the first layer's sums over the observation, with its bias: (h,).
        parts: the first layer's sums over component vectors: (n, h).
        firsts: first rows of the components: (C,).
        lengths: and how many there are: (C,).
        rows: parts of each action, one action behind the other.
        count: number of actions.
        vectors: the component vectors themselves, one behind the other.
        inward: the first layer's weights of action vectors: (d, h).
        starts: first rows of each component in these: (C,).
        widths: of the components' vectors: (C,).
        second: weights of the second layer, units in the order of :func:`ordered`: (h, g).
        bias: of the second layer: (g,).
        last: weights of the last layer: (g,).
        close: so many units get close bounds.
        slope: of LeakyReLU.
        above: bounds are added here: (count,).

    Returns:
        The rounding errors that are allowed for.
    """
    width, units = second.shape
    low, high = np.empty_like(observed), np.empty_like(observed)
    _range(observed, parts, firsts, lengths, rows, count, low, high)
    slopes, gaps = _chords(low, high, slope)
    least, most = np.empty_like(bias), np.empty_like(bias)
    _close_range(
        observed, parts, firsts, lengths, rows, count, vectors, inward, starts, widths,
        second, bias, slopes, gaps, least[:close], most[:close],
    )  # fmt: skip
    middle, sums = np.empty((1, width), np.float32), bias.copy().reshape(1, units)
    for j in range(width):
        low[j], high[j] = max(low[j], slope * low[j]), max(high[j], slope * high[j])
        middle[0, j] = (low[j] + high[j]) / 2
    add_products(sums, _ONE, 1, middle, width, second.reshape(1, width, units), 0)
    for u in range(close, units):
        if last[u] > 0:
            least[u] = most[u] = sums[0, u]
            for j in range(width):
                more = abs(second[j, u]) * (high[j] - middle[0, j])
                least[u] -= more
                most[u] += more
    lines, constant = _lines(sums[0], least, most, last, slope)
    weights = np.empty(width, np.float32)
    size = abs(constant)
    for u in range(units):
        constant += lines[u] * bias[u]
        size += abs(lines[u] * bias[u])
    for j in range(width):
        row, total, reach = second[j], np.float32(0), np.float32(0)
        for u in range(units):
            total += lines[u] * row[u]
            reach += abs(last[u] * row[u])
        weights[j] = total
        size += reach * max(abs(low[j]), abs(high[j]))
    for k in range(count):
        above[k] += constant
    weigh_sums(observed, parts, rows, count, lengths.shape[0], slope, weights, above)
    return _ROUNDING * size


@njit(cache=True)
def _range(base, table, firsts, lengths, rows, count, low, high):  # type: ignore[no-untyped-def]
    """Write bounds on sums over components: their range, or that of all combinations.

    Where half of these are actions, the range over all costs less and is hardly wider.
    """
    combinations = 1
    for c in range(lengths.shape[0]):
        combinations *= lengths[c]
    if combinations > 2 * count or lengths.shape[0] == 1:
        range_of_sums(base, table, rows, count, lengths.shape[0], low, high)
        return
    low[:], high[:] = base, base
    least, most, none = np.empty_like(base), np.empty_like(base), np.zeros_like(base)
    numbers = np.arange(lengths.max())
    for c in range(lengths.shape[0]):
        own = table[firsts[c] : firsts[c] + lengths[c]]
        range_of_sums(none, own, numbers, lengths[c], 1, least, most)
        low += least
        high += most


@njit(cache=True)
def _close_range(  # type: ignore[no-untyped-def]
    observed, parts, firsts, lengths, rows, count, vectors, inward, starts, widths, second, bias,
    slopes, gaps, low, high,
):  # fmt: skip
    """Write bounds on the inputs of the second layer's first units."""
    width, units = second.shape[0], low.shape[0]
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
            add_products(
                through[0], numbers, wide, inward[starts[c] : starts[c] + wide], width, passed, 0
            )
            add_products(into, numbers, size, table, wide, through, 0)
        else:
            own = parts[firsts[c] : firsts[c] + size]
            add_products(into, numbers, size, own, width, passed, 0)
        place += size * wide
    base = bias[:units].copy().reshape(1, units)
    add_products(base, numbers, 1, observed.reshape(1, width), width, passed, 0)
    _range(base[0], linear, firsts, lengths, rows, count, low, high)
    for j in range(width):
        if gaps[j] > 0:
            for u in range(units):
                more = gaps[j] * second[j, u]
                low[u] += min(more, np.float32(0))
                high[u] += max(more, np.float32(0))


@njit(cache=True)
def _chords(low, high, slope):  # type: ignore[no-untyped-def]
    """LeakyReLU of x is slopes x + something from 0 to gaps, where x is from low to high.

    The chord lies above: it is gaps above slopes x where low < 0 < high; slopes is its slope.
    """
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
def _lines(inputs, low, high, last, slope):  # type: ignore[no-untyped-def]
    """Weights and constant of the upper bound over the second layer's inputs.

    Units of negative weight have the line through 0 that is their own at `inputs`.
    """
    weights, gaps = _chords(low, high, slope)
    constant = np.float32(0)
    for u in range(low.shape[0]):
        if last[u] > 0:
            constant += last[u] * gaps[u]
        else:
            weights[u] = 1 if inputs[u] > 0 else slope
        weights[u] *= last[u]
    return weights, constant
