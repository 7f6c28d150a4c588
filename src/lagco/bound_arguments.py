"""Arguments of compiled functions that stay the same from call to call, read once.

Numba reads every array that a compiled function is given from its Python object, and finds out its
type, in every call: microseconds where there are fifty of them. Here both are done once. The arrays
are then kept as the processor sees them, and a call hands over a single address::

    @njit(cache=True)
    def add(arguments):
        terms, total = opened(arguments)
        ...

    call = bind(add, (terms, total))
    call()
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import extending, njit, typeof, types
from numba.core import cgutils
from numba.core.errors import TypingError

intrinsic: Any = extending.intrinsic
_ADDRESS = ir.IntType(64)
#: functions compiled for arguments of some types, by their dispatcher and what tells these apart,
#: those that are not bound among them
_compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}


class BoundType(types.Type):  # type: ignore[misc, unused-ignore]
    """The address of arguments that were written by :func:`bind`.

    Args:
        arguments: type of their tuple.
    """

    def __init__(self, arguments: types.BaseTuple) -> None:
        self.arguments = arguments
        super().__init__(name=f"Bound({arguments})")


@extending.register_model(BoundType)
class _BoundModel(extending.models.PrimitiveModel):  # type: ignore[misc, name-defined, unused-ignore]
    def __init__(self, manager: Any, kind: BoundType) -> None:
        super().__init__(manager, kind, _ADDRESS)


@extending.unbox(BoundType)
def _unbox(kind: BoundType, number: Any, context: Any) -> Any:
    return extending.NativeValue(context.pyapi.long_as_longlong(number))


@intrinsic
def opened(typingctx, arguments):  # type: ignore[no-untyped-def]
    """The tuple of arguments that :func:`bind` was given."""
    if not isinstance(arguments, BoundType):
        raise TypingError(f"opened({arguments}): only bound arguments can be opened")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(arguments.arguments)
        return builder.load(builder.inttoptr(args[0], kind.as_pointer()))

    return arguments.arguments(arguments), generate


def bind(function: Any, arguments: tuple[Any, ...], *more: types.Type) -> Callable[..., Any]:
    """A compiled function of bound arguments as a function without these.

    Args:
        function: compiled, its first argument is :func:`opened`.
        arguments: arrays, numbers, and tuples of such; kept as long as what is returned is. Arrays
            may change in place, numbers stay as they are.
        more: types of the other arguments of `function`, which are not checked when it is called.
    """
    kinds: list[type] = []
    written, code = _write(_plain(arguments, kinds))
    key = function, code, *kinds, *more
    if key not in _compiled:
        _compiled[key] = function.compile((BoundType(typeof(arguments)), *more))
    call = _Call(_compiled[key], written.ctypes.data)
    call.kept = written, function, arguments, *more
    return call


def _plain(value: tuple[Any, ...], kinds: list[type]) -> tuple[Any, ...]:
    """Tuples without the names of their parts, by which compiled code is not to be found again.

    They look the same to the processor; `kinds` are those met.
    """
    kinds.append(type(value))
    return tuple([_plain(part, kinds) if isinstance(part, tuple) else part for part in value])


class _Call(partial[Any]):
    """A function with the address of its arguments, which a copy has of its own."""

    kept: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return bind, self.kept[1:]


@njit(cache=True)
def _write(arguments):  # type: ignore[no-untyped-def]
    """Arguments as bytes, and a code of their types."""
    written = np.empty(_size_of(arguments), np.uint8)
    _store(arguments, written)
    return written, _code_of(arguments)


@intrinsic
def _size_of(typingctx, arguments):  # type: ignore[no-untyped-def]
    """Bytes that arguments take."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = context.get_abi_sizeof(context.get_value_type(arguments))
        return context.get_constant(types.intp, size)

    return types.intp(arguments), generate


@intrinsic
def _code_of(typingctx, arguments):  # type: ignore[no-untyped-def]
    """A number that tells types of arguments apart."""
    code = int.from_bytes(hashlib.sha256(str(arguments).encode()).digest()[:7], "little")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(types.int64, code)

    return types.int64(arguments), generate


@intrinsic
def _store(typingctx, arguments, written):  # type: ignore[no-untyped-def]
    """Write arguments to an array of bytes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(arguments)
        array = cgutils.create_struct_proxy(written)(context, builder, value=args[1])
        place = builder.bitcast(array.data, kind.as_pointer())
        builder.store(_unowned(context, builder, arguments, args[0]), place)
        return context.get_dummy_value()

    return types.void(arguments, written), generate


def _unowned(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A value whose arrays are not counted as references: Python keeps them."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for place, part in enumerate(parts):
            inner = builder.extract_value(value, place)
            value = builder.insert_value(value, _unowned(context, builder, part, inner), place)
        return value
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if isinstance(kind, types.Number | types.Boolean):
        return value
    raise TypingError(f"bind() takes arrays, numbers and tuples of these, not {kind}")
