"""Numbers of half precision, given as their bits, in single precision."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba.core import cgutils, types

from lagco.embedding.row_sums import _INDEX, _Array, _block, _checked, intrinsic

#: numbers that are widened at a time, as many as are left
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
        begin = given.row(args[1])
        done = cgutils.alloca_once_value(builder, _INDEX(0))
        for size in _BLOCKS:
            left = builder.sub(args[2], builder.load(done))
            with cgutils.for_range(builder, builder.sdiv(left, _INDEX(size))):
                at = builder.load(done)
                kind = ir.VectorType(begin.type.pointee, size)
                value = builder.load(_block(builder, begin, at, kind), align=2)
                if sig.args[0].dtype != types.float32:
                    value = _widened(builder, value, size)
                into = ir.VectorType(ir.FloatType(), size)
                target = _block(builder, found.row(_INDEX(0)), at, into)
                builder.store(value, target, align=4)
                builder.store(builder.add(at, _INDEX(size)), done)
        return context.get_dummy_value()

    return signature, generate


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
