"""Sums of scaled rows, the inner loops of compiled networks, held in registers.

The plain loop over the columns of ``out[i] += factor * table[row]`` reads and writes `out` once per
row. These functions walk over all rows for a block of columns at a time, which the compiler does
not find by itself. Every column is still summed from the first row to the last, so the bits are
those of the plain loop, whatever the block. Arrays are contiguous; indices are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.np.arrayobj import make_array

#: The context that numba adds to the arguments is none of the caller's.
intrinsic: Any = extending.intrinsic
#: Columns that are summed at a time, as many as are left.
_BLOCKS = (128, 64, 32, 16, 8, 4, 2, 1)
#: Rows that are summed at a time where they share a table.
_TOGETHER = 4
_FUSED = ("contract",)
_INDEX = ir.IntType(64)
_ZERO = ir.FloatType()(0.0)
_TRUE = ir.IntType(1)(1)


@intrinsic
def add_products(typingctx, out, rows, number, factors, count, table, t):  # type: ignore[no-untyped-def]
    """out[i] += sum of factors[i, k] * table[t, k] over k < `count`, for i in rows[:number].

    float32: out (·, d), factors (·, ≥ count), table (·, ≥ count, d); integers, all different: rows.
    """
    index = types.intp
    signature = _checked(types.void(out, rows, index, factors, index, table, index))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        sums, chosen, scales, lines = (_Array(context, builder, sig, args, a) for a in (0, 1, 3, 5))
        number, count = args[2], args[4]
        first, width = lines.row(args[6]), sums.shape[-1]
        done = cgutils.alloca_once_value(builder, _INDEX(0))
        for together in (_TOGETHER, 1):
            left = builder.sub(number, builder.load(done))
            with cgutils.for_range(builder, builder.sdiv(left, _INDEX(together))):
                at = builder.load(done)
                each = [chosen.item(builder.add(at, _INDEX(q))) for q in range(together)]
                scale = [scales.row(i) for i in each]

                def term(k: Any, scale: list[Any] = scale) -> tuple[list[Any], Any]:
                    row = builder.gep(first, [builder.mul(k, width)])
                    return [builder.load(builder.gep(factor, [k])) for factor in scale], row

                _add_rows(builder, [sums.row(i) for i in each], width, count, term)
                builder.store(builder.add(at, _INDEX(together)), done)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_columns(typingctx, out, i, values, e, table):  # type: ignore[no-untyped-def]
    """out[i] += sum of values[k, e] * table[k] over the rows k of `values`.

    float32: out (·, d), values (c, ·), table (≥ c, d).
    """
    index = types.intp
    signature = _checked(types.void(out, index, values, index, table))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        sums = _Array(context, builder, sig, args, 0)
        scales = _Array(context, builder, sig, args, 2)
        rows = _Array(context, builder, sig, args, 4)

        def term(k: Any) -> tuple[list[Any], Any]:
            return [builder.load(builder.gep(scales.row(k), [args[3]]))], rows.row(k)

        _add_rows(builder, [sums.row(args[1])], sums.shape[-1], scales.shape[0], term)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_messages(typingctx, out, i, factors, f, table, sources, rows, low, high):  # type: ignore[no-untyped-def]
    """out[i] += sum of factors[f, sources[m]] * table[rows[m]] over low <= m < high.

    float32: out, table, of which the columns that both have, and factors, many of which may be 0;
    integers: sources, rows (≥ high,).
    """
    index = types.intp
    signature = _checked(types.void(out, index, factors, index, table, sources, rows, index, index))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        sums = _Array(context, builder, sig, args, 0)
        scales = _Array(context, builder, sig, args, 2).row(args[3])
        lines = _Array(context, builder, sig, args, 4)
        source = _Array(context, builder, sig, args, 5)
        row = _Array(context, builder, sig, args, 6)
        low, high = args[7:]

        def term(k: Any) -> tuple[list[Any], Any]:
            m = builder.add(low, k)
            return [builder.load(builder.gep(scales, [source.item(m)]))], lines.row(row.item(m))

        width = sums.common_width(lines)
        _add_rows(builder, [sums.row(args[1])], width, builder.sub(high, low), term, sparse=True)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_neighbours(typingctx, out, i, table, rows, low, high):  # type: ignore[no-untyped-def]
    """out[i] += sum of table[rows[m]] over low <= m < high; arrays as above."""
    index = types.intp
    signature = _checked(types.void(out, index, table, rows, index, index))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        sums = _Array(context, builder, sig, args, 0)
        lines = _Array(context, builder, sig, args, 2)
        row = _Array(context, builder, sig, args, 3)
        low, high = args[4:]

        def term(k: Any) -> tuple[list[Any], Any]:
            return [], lines.row(row.item(builder.add(low, k)))

        width = sums.common_width(lines)
        _add_rows(builder, [sums.row(args[1])], width, builder.sub(high, low), term)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def pool_columns(typingctx, rows, weights, elements, count, start, sums, highest, lowest):  # type: ignore[no-untyped-def]
    """Sum, maximum and minimum of rows (·, d), written from place `start` on.

    Row k < `count` is rows[elements[k]], or rows[k] without elements (0,). It counts weights[k]
    times, once without weights (0,), and not at all where that is not positive. Where no row counts
    the sum is 0, the other two are infinite.
    """
    index = types.intp
    signature = _checked(types.void(rows, weights, elements, index, index, sums, highest, lowest))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        lines, weight, element = (_Array(context, builder, sig, args, a) for a in range(3))
        places = [
            builder.gep(_Array(context, builder, sig, args, a).row(_INDEX(0)), [args[4]])
            for a in (5, 6, 7)
        ]
        once = cgutils.alloca_once_value(builder, ir.DoubleType()(1.0))
        weighted = builder.icmp_signed(">", weight.shape[0], _INDEX(0))
        chosen = builder.icmp_signed(">", element.shape[0], _INDEX(0))
        count, width = args[3], lines.shape[-1]
        done = cgutils.alloca_once_value(builder, _INDEX(0))
        for block in _BLOCKS[1:]:
            kind = ir.VectorType(ir.FloatType(), block)
            found = [cgutils.alloca_once(builder, kind) for _ in places]
            left = builder.sub(width, builder.load(done))
            with cgutils.for_range(builder, builder.sdiv(left, _INDEX(block))):
                at = builder.load(done)
                for total, begin in zip(found, (0.0, -math.inf, math.inf), strict=True):
                    builder.store(_spread(builder, ir.FloatType()(begin), kind), total)
                with cgutils.for_range(builder, count, intp=_INDEX) as loop:
                    k = loop.index
                    number = cgutils.alloca_once(builder, _INDEX)
                    builder.store(k, number)
                    with builder.if_then(chosen):
                        builder.store(element.item(k), number)
                    times = builder.load(builder.select(weighted, weight.row(k), once))
                    with builder.if_then(builder.fcmp_ordered(">", times, ir.DoubleType()(0.0))):
                        row = lines.row(builder.load(number))
                        line = builder.load(_block(builder, row, at, kind), align=4)
                        factor = _spread(builder, builder.fptrunc(times, ir.FloatType()), kind)
                        total, high, low = (builder.load(each) for each in found)
                        above = builder.fcmp_ordered(">", line, high)
                        below = builder.fcmp_ordered("<", line, low)
                        builder.store(builder.fadd(total, builder.fmul(factor, line)), found[0])
                        builder.store(builder.select(above, line, high), found[1])
                        builder.store(builder.select(below, line, low), found[2])
                for place, total in zip(places, found, strict=True):
                    target = _block(builder, place, at, kind)
                    builder.store(builder.load(total), target, align=4)
                builder.store(builder.add(at, _INDEX(block)), done)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def write_standardised(typingctx, out, i, at, table, t, mean, factor, start):  # type: ignore[no-untyped-def]
    """out[i, at + c] = (table[t, c] - mean[start + c]) * factor[start + c] for all columns c."""
    index = types.intp
    signature = _checked(types.void(out, index, index, table, index, mean, factor, index))

    def generate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        target, lines, means, factors = (
            _Array(context, builder, sig, args, a) for a in (0, 3, 5, 6)
        )
        to = builder.gep(target.row(args[1]), [args[2]])
        row = lines.row(args[4])
        middle, scale = means.row(args[7]), factors.row(args[7])
        done = cgutils.alloca_once_value(builder, _INDEX(0))
        for block in _BLOCKS[1:]:
            kind = ir.VectorType(ir.FloatType(), block)
            left = builder.sub(lines.shape[-1], builder.load(done))
            with cgutils.for_range(builder, builder.sdiv(left, _INDEX(block))):
                at = builder.load(done)
                value, shift, width = (
                    builder.load(_block(builder, each, at, kind), align=4)
                    for each in (row, middle, scale)
                )
                found = builder.fmul(builder.fsub(value, shift), width)
                builder.store(found, _block(builder, to, at, kind), align=4)
                builder.store(builder.add(at, _INDEX(block)), done)
        return context.get_dummy_value()

    return signature, generate


def _checked(signature: Any) -> Any:
    """The signature, whose arrays must be contiguous."""
    for kind in signature.args:
        if isinstance(kind, types.Array) and kind.layout != "C":
            raise TypingError(f"{kind} is not contiguous")
    return signature


class _Array:
    """Addresses within an array that was handed to an intrinsic."""

    def __init__(self, context: Any, builder: ir.IRBuilder, sig: Any, args: Any, at: int) -> None:
        array = make_array(sig.args[at])(context, builder, args[at])
        self._builder = builder
        self._data = array.data
        self.shape = cgutils.unpack_tuple(builder, array.shape)

    def row(self, i: Any) -> Any:
        """Address of [i, 0, …]."""
        offset = i
        for size in self.shape[1:]:
            offset = self._builder.mul(offset, size)
        return self._builder.gep(self._data, [offset])

    def common_width(self, other: _Array) -> Any:
        """Columns that both have."""
        mine, others = self.shape[-1], other.shape[-1]
        return self._builder.select(self._builder.icmp_signed("<", mine, others), mine, others)

    def item(self, i: Any) -> Any:
        """Value of [i], an integer."""
        value = self._builder.load(self._builder.gep(self._data, [i]))
        return value if value.type == _INDEX else self._builder.sext(value, _INDEX)


def _add_rows(
    builder: ir.IRBuilder,
    sums: Sequence[Any],
    width: Any,
    count: Any,
    term: Callable[[Any], tuple[Sequence[Any], Any]],
    *,
    sparse: bool = False,
) -> None:
    """Add factor * row to every one of `sums`, columns up to `width`, for each k < count.

    term: factors, one for each of `sums` (none: all are 1), and the address of the row.
    sparse: pass over rows whose first factor is 0.
    """
    done = cgutils.alloca_once_value(builder, _INDEX(0))
    for block in _BLOCKS:
        if block * len(sums) > _BLOCKS[0]:
            continue
        kind = ir.VectorType(ir.FloatType(), block)
        totals = [cgutils.alloca_once(builder, kind) for _ in sums]
        left = builder.sub(width, builder.load(done))
        with cgutils.for_range(builder, builder.sdiv(left, _INDEX(block))):
            at = builder.load(done)
            places = [_block(builder, row, at, kind) for row in sums]
            for place, total in zip(places, totals, strict=True):
                builder.store(builder.load(place, align=4), total)
            with cgutils.for_range(builder, count, intp=_INDEX) as loop:
                factors, row = term(loop.index)
                counts = builder.fcmp_unordered("!=", factors[0], _ZERO) if sparse else _TRUE
                with builder.if_then(counts):
                    line = builder.load(_block(builder, row, at, kind), align=4)
                    parts = [
                        builder.fmul(_spread(builder, factor, kind), line, flags=_FUSED)
                        for factor in factors
                    ]
                    for total, part in zip(totals, parts or [line], strict=True):
                        found = builder.fadd(builder.load(total), part, flags=_FUSED)
                        builder.store(found, total)
            for place, total in zip(places, totals, strict=True):
                builder.store(builder.load(total), place, align=4)
            builder.store(builder.add(at, _INDEX(block)), done)


def _block(builder: ir.IRBuilder, row: Any, at: Any, kind: ir.VectorType) -> Any:
    return builder.bitcast(builder.gep(row, [at]), kind.as_pointer())


def _spread(builder: ir.IRBuilder, value: Any, kind: ir.VectorType) -> Any:
    """The value in every place of a vector."""
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), places)
