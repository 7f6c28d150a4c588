"""A small random generator inside compiled code: SplitMix64, its state a one-element array.

Numba's own generator belongs to the thread, so its stream would depend on what ran there before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / (1 << 53)


def random_stream(seed: int) -> npt.NDArray[np.uint64]:
    """The state of a new stream."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)


@njit(cache=True, inline="always")
def next_word(stream):  # type: ignore[no-untyped-def]
    stream[0] += _GOLDEN
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@njit(cache=True, inline="always")
def next_float(stream):  # type: ignore[no-untyped-def]
    """Uniform in [0, 1)."""
    return np.float64(next_word(stream) >> np.uint64(11)) * _UNIT


@njit(cache=True, inline="always")
def next_below(stream, bound):  # type: ignore[no-untyped-def]
    """Uniform in 0 … bound-1 (bound far below 2^32: the bias is out of sight)."""
    high = next_word(stream) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True)
def shuffle(stream, items):  # type: ignore[no-untyped-def]
    """Put `items` in uniformly random order, in place."""
    for i in range(items.shape[0] - 1, 0, -1):
        j = next_below(stream, i + 1)
        items[i], items[j] = items[j], items[i]


@njit(cache=True)
def choose_in_proportion(stream, weights, count):  # type: ignore[no-untyped-def]
    """Index of one of the first `count` weights, drawn in proportion; -1 if all are 0."""
    total = 0.0
    for i in range(count):
        total += weights[i]
    if total <= 0.0:
        return -1
    target = next_float(stream) * total
    chosen = -1
    for i in range(count):
        if weights[i] > 0.0:
            chosen = i
            target -= weights[i]
            if target < 0.0:
                break
    return chosen
