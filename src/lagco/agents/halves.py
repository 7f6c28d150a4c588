"""Numbers of half precision, given as their bits, from and to single precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import njit
from numba.core import cgutils, types

from lagco.embedding.row_sums import _INDEX, _Array, _block, _checked, intrinsic

#: numbers that are converted at a time, as many as are left
_BLOCKS = (16, 1)
_BITS = ir.IntType(32)


@intrinsic
def widen(typingctx, numbers, first, count, out):  # type: ignore[no-untyped-def]
    """out[i] = numbers[first + i] for i < `count`.

    uint16, the bits of halves, or float32: numbers; float32: out (≥ count,).
    """
    index = types.intp
    signature = _checked(types.void(numbers, index, index, out))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        given, found = (_Array(context, builder, sig, args, a) for a in (0, 3))
        same = sig.args[0].dtype == types.float32
        change = (lambda _, value, size: value) if same else _widened
        _convert(builder, given.row(args[1]), found.row(_INDEX(0)), args[2], change)
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True)
def narrow(numbers, out):  # type: ignore[no-untyped-def]
    """Write the bits (uint16) of the halves that are nearest to numbers (float32)."""
    _narrow(numbers, out)


@intrinsic
def _narrow(typingctx, numbers, out):  # type: ignore[no-untyped-def]
    signature = _checked(types.void(numbers, out))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        given, found = (_Array(context, builder, sig, args, a) for a in (0, 1))
        ends = given.row(_INDEX(0)), found.row(_INDEX(0))
        _convert(builder, *ends, given.shape[0], _narrowed)
        return context.get_dummy_value()

    return signature, generate


def _convert(
    builder: ir.IRBuilder, given: Any, found: Any, count: Any, change: Callable[..., Any]
) -> None:
    """Write what `change` makes of `count` numbers, from one address to another."""
    done = cgutils.alloca_once_value(builder, _INDEX(0))
    for size in _BLOCKS:
        kinds = [ir.VectorType(each.type.pointee, size) for each in (given, found)]
        left = builder.sub(count, builder.load(done))
        with cgutils.for_range(builder, builder.sdiv(left, _INDEX(size))):
            at = builder.load(done)
            value = builder.load(_block(builder, given, at, kinds[0]), align=2)
            into = _block(builder, found, at, kinds[1])
            builder.store(change(builder, value, size), into, align=2)
            builder.store(builder.add(at, _INDEX(size)), done)


def _widened(builder: ir.IRBuilder, halves: Any, size: int) -> Any:
    """The numbers whose bits are these integers of 16 bits."""
    wide = ir.VectorType(_BITS, size)
    floats = ir.VectorType(ir.FloatType(), size)

    def each(value: int) -> Any:
        return ir.Constant(wide, [value] * size)

    bits = builder.zext(halves, wide)
    moved = builder.bitcast(builder.shl(builder.and_(bits, each(0x7FFF)), each(13)), floats)
    # the difference of the exponents' offsets
    scaled = builder.fmul(moved, ir.Constant(floats, [2.0**112] * size))
    exponent = each(0x7C00)
    infinite = builder.icmp_unsigned("==", builder.and_(bits, exponent), exponent)
    sign = builder.shl(builder.and_(bits, each(0x8000)), each(16))
    found = builder.or_(builder.bitcast(scaled, wide), sign)
    found = builder.or_(found, builder.select(infinite, each(0x7F800000), each(0)))
    return builder.bitcast(found, floats)


def _narrowed(builder: ir.IRBuilder, numbers: Any, size: int) -> Any:
    """Bits (16) of the nearest halves."""
    wide = ir.VectorType(_BITS, size)

    def each(value: int) -> Any:
        return ir.Constant(wide, [value] * size)

    bits = builder.bitcast(numbers, wide)
    sign = builder.and_(bits, each(0x80000000))
    bits = builder.xor(bits, sign)
    # usual numbers: another offset of the exponent, and what rounds the last 13 bits away
    odd = builder.and_(builder.lshr(bits, each(13)), each(1))
    usual = builder.add(builder.add(bits, each(0xC8000FFF)), odd)
    found = builder.lshr(usual, each(13))
    # the least ones: added to 1/2 their bits are where they belong, rounded
    half = ir.Constant(numbers.type, [0.5] * size)
    added = builder.fadd(builder.bitcast(bits, numbers.type), half)
    least = builder.sub(builder.bitcast(added, wide), each(0x3F000000))
    small = builder.icmp_unsigned("<", bits, each(113 << 23))
    found = builder.select(small, least, found)
    nothing = builder.icmp_unsigned(">", bits, each(0x7F800000))
    beyond = builder.select(nothing, each(0x7E00), each(0x7C00))
    large = builder.icmp_unsigned(">=", bits, each(0x47800000))
    found = builder.select(large, beyond, found)
    found = builder.or_(found, builder.lshr(sign, each(16)))
    return builder.trunc(found, ir.VectorType(ir.IntType(16), size))
