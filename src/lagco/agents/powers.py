"""Powers of e of many numbers at once, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

#: logarithm of the smallest power
_LOWEST = np.float32(-87.0)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
#: 1 / log 2, and log 2 as the sum of a short number and the rest of it
_DOUBLINGS = np.float32(1.44269504)
_SHORT, _REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
#: bits of a float32 behind its exponent, and the exponent of 1
_MANTISSA, _BIAS = np.int32(23), np.int32(127)
#: of the polynomial (of Cephes) for e ** x - 1 - x over x ** 2, where x is at most half a log 2
_C0, _C1 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3)
_C2, _C3 = np.float32(8.3334519073e-3), np.float32(4.1665795894e-2)
_C4, _C5 = np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


@njit(cache=True, fastmath={"contract"})
def write_powers(values, largest, out):  # type: ignore[no-untyped-def]
    """out (n,) = e ** (values - largest), in float32, where `largest` is that of the values.

    The usual function works number by number; these loops do as many as the processor takes. The
    relative error is at most 2e-7; powers below 1e-37 are about that.
    """
    bits = out.view(np.int32)
    rest = np.empty(values.shape[0], np.float32)
    for j in range(values.shape[0]):
        value = max(values[j] - largest, _LOWEST)
        doublings = np.floor(value * _DOUBLINGS + _HALF)
        rest[j] = value - doublings * _SHORT - doublings * _REST
        bits[j] = (np.int32(doublings) + _BIAS) << _MANTISSA  # the power of 2
    for j in range(values.shape[0]):
        x = rest[j]
        curve = ((((_C0 * x + _C1) * x + _C2) * x + _C3) * x + _C4) * x + _C5
        out[j] *= curve * x * x + x + _ONE
