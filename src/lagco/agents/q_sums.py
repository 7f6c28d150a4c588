"""Sums of one row per component, over many actions, held in registers.

The sum of action k is base + table[rows[k C]] + … + table[rows[k C + C - 1]], C components. Nothing
of it is written down: thousands of actions cost the reading of rows that stay in the cache. Arrays
are contiguous; indices are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba.core import cgutils, types

from lagco.embedding.row_sums import _INDEX, _Array, _block, _checked, _spread, intrinsic

#: columns that are summed at a time, as many as are left
_BLOCKS = (128, 64, 32, 16, 8, 4, 2, 1)


@intrinsic
def range_of_sums(typingctx, base, table, rows, count, components, lowest, highest):  # type: ignore[no-untyped-def]
    """Write the least and the largest of the sums of `count` actions, column by column.

    float32: base, lowest, highest (d,), table (·, d); int64: rows (≥ count · components,).
    """
    index = types.intp
    signature = _checked(types.void(base, table, rows, index, index, lowest, highest))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        start, lines, chosen, low, high = (
            _Array(context, builder, sig, args, a) for a in (0, 1, 2, 5, 6)
        )
        count, components = args[3], args[4]

        def block(at: Any, kind: ir.VectorType) -> None:
            found = [cgutils.alloca_once(builder, kind) for _ in range(2)]
            for place, begin in zip(found, (math.inf, -math.inf), strict=True):
                builder.store(_spread(builder, ir.FloatType()(begin), kind), place)
            with cgutils.for_range(builder, count, intp=_INDEX) as loop:
                total = _sum(builder, start, lines, chosen, loop.index, components, at, kind)
                for place, sign in zip(found, "<>", strict=True):
                    known = builder.load(place)
                    better = builder.fcmp_ordered(sign, total, known)
                    builder.store(builder.select(better, total, known), place)
            for place, out in zip(found, (low, high), strict=True):
                target = _block(builder, out.row(_INDEX(0)), at, kind)
                builder.store(builder.load(place), target, align=4)

        _walk(builder, lines.shape[-1], _BLOCKS[1:], block)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def weigh_sums(typingctx, base, table, rows, count, components, slope, weights, out):  # type: ignore[no-untyped-def]
    """out[k] += weights · LeakyReLU of the sum of action k < `count`.

    float32: base, weights (d,), table (·, d), slope, out (≥ count,); int64: rows.
    """
    index = types.intp
    signature = _checked(types.void(base, table, rows, index, index, types.float32, weights, out))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        start, lines, chosen, factors, found = (
            _Array(context, builder, sig, args, a) for a in (0, 1, 2, 6, 7)
        )
        count, components, slope = args[3], args[4], args[5]

        def block(at: Any, kind: ir.VectorType) -> None:
            factor = builder.load(_block(builder, factors.row(_INDEX(0)), at, kind), align=4)
            down = _spread(builder, slope, kind)
            with cgutils.for_range(builder, count, intp=_INDEX) as loop:
                total = _sum(builder, start, lines, chosen, loop.index, components, at, kind)
                scaled = builder.fmul(total, down)
                above = builder.fcmp_ordered(">", total, scaled)
                product = builder.fmul(builder.select(above, total, scaled), factor)
                place = builder.gep(found.row(_INDEX(0)), [loop.index])
                added = builder.fadd(builder.load(place), _reduced(builder, product))
                builder.store(added, place)

        _walk(builder, lines.shape[-1], _BLOCKS, block)
        return context.get_dummy_value()

    return signature, generate


def _walk(builder: ir.IRBuilder, width: Any, sizes: Sequence[int], block: Any) -> None:
    """Call `block` for all columns, block by block."""
    done = cgutils.alloca_once_value(builder, _INDEX(0))
    for size in sizes:
        kind = ir.VectorType(ir.FloatType(), size)
        left = builder.sub(width, builder.load(done))
        with cgutils.for_range(builder, builder.sdiv(left, _INDEX(size))):
            at = builder.load(done)
            block(at, kind)
            builder.store(builder.add(at, _INDEX(size)), done)


def _sum(
    builder: ir.IRBuilder,
    start: _Array,
    lines: _Array,
    chosen: _Array,
    k: Any,
    components: Any,
    at: Any,
    kind: ir.VectorType,
) -> Any:
    """A block of columns of the sum of action k."""
    total = cgutils.alloca_once(builder, kind)
    builder.store(builder.load(_block(builder, start.row(_INDEX(0)), at, kind), align=4), total)
    first = builder.mul(k, components)
    with cgutils.for_range(builder, components, intp=_INDEX) as loop:
        row = lines.row(chosen.item(builder.add(first, loop.index)))
        line = builder.load(_block(builder, row, at, kind), align=4)
        builder.store(builder.fadd(builder.load(total), line), total)
    return builder.load(total)


def _reduced(builder: ir.IRBuilder, vector: Any) -> Any:
    """Sum of the places of a vector, halves first."""
    size = vector.type.count
    while size > 1:
        size //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        places = ir.VectorType(ir.IntType(32), size)
        halves = [
            builder.shuffle_vector(
                vector, undefined, ir.Constant(places, list(range(low, low + size)))
            )
            for low in (0, size)
        ]
        vector = builder.fadd(*halves)
    return builder.extract_element(vector, ir.IntType(32)(0))
