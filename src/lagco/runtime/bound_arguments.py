"""Arguments of compiled functions that stay the same from call to call, read once.

Numba reads every array that a compiled function is given from its Python object, and finds out its
type, in every call: microseconds where there are fifty of them. Here both are done once. Where the
arrays are is then kept in one structure of numba's own, and a call hands over that alone::

    @njit(cache=True)
    def add(arguments, times):
        terms, total = opened(arguments)
        ...

    call = bind(add, (terms, total), types.int64)
    call(2)

The danger: the structure knows addresses, and does not count as a reference to the arrays (numba
would count up and down for every array in every function: ten microseconds in the encoder). What
:func:`bind` returns keeps them as long as it can be called itself, and numpy moves no array, so an
address holds as long as it can be used; no other function makes or hands out such a structure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import carray, farray, njit, typeof, types  # type: ignore[attr-defined, unused-ignore]
from numba.experimental import structref
from numba.extending import overload
from numba.np.numpy_support import as_dtype
from numpy.lib.stride_tricks import as_strided


@structref.register
class BoundType(types.StructRef):  # type: ignore[misc, unused-ignore]
    """Type of :class:`Bound`, by that of its field `values`."""

    def preprocess_fields(self, fields: Any) -> Any:
        """A number is held as any number of its type: compiled code may not depend on it."""
        return tuple([(name, types.unliteral(kind)) for name, kind in fields])


class Bound(structref.StructRefProxy):  # type: ignore[misc, unused-ignore]
    """A tuple in memory of numba's, which compiled code is given as one address.

    Args:
        values: arrays, numbers, and tuples of such.
    """

    def __new__(cls, values: tuple[Any, ...]) -> Bound:
        """The base class compiles its constructor anew in every process; this one is kept."""
        bound: Bound = _holding(values)
        return bound


structref.define_proxy(Bound, BoundType, ["values"])


@njit(types.voidptr(types.voidptr), cache=True)
def _address(pointer):  # type: ignore[no-untyped-def]
    """The address behind ``array.ctypes``, which numba converts for functions with a signature."""
    return pointer


def _uncounted(value):  # type: ignore[no-untyped-def]
    """A value, or a tuple of such, whose arrays are not counted as references."""
    raise NotImplementedError("for compiled functions")


@overload(_uncounted)
def _compile_uncounted(value):  # type: ignore[no-untyped-def]
    """Write `_uncounted` for values of a type."""
    if isinstance(value, types.Array):
        dtype, one = as_dtype(value.dtype), (1,) * value.ndim
        if value.layout == "C":
            return lambda value: carray(_address(value.ctypes), value.shape, dtype)
        if value.layout == "F":
            return lambda value: farray(_address(value.ctypes), value.shape, dtype)
        return lambda value: as_strided(
            carray(_address(value.ctypes), one, dtype), value.shape, value.strides
        )
    if isinstance(value, types.BaseTuple):  # numba has no loop over parts of different types
        parts = "".join(f"_uncounted(value[{place}]), " for place in range(len(value)))
        source: dict[str, Any] = {"_uncounted": _uncounted}
        exec(f"def uncounted(value): return ({parts})", source)
        return source["uncounted"]
    return lambda value: value


@njit(cache=True)
def _holding(values):  # type: ignore[no-untyped-def]
    return Bound(_uncounted(values))


@njit(inline="always")
def opened(arguments):  # type: ignore[no-untyped-def]
    """The tuple of arguments that :func:`bind` was given; for compiled functions."""
    return arguments.values


def bind(function: Any, arguments: tuple[Any, ...], *more: types.Type) -> Callable[..., Any]:
    """A compiled function of bound arguments as a function without these.

    Args:
        function: compiled, its first argument is :func:`opened`.
        arguments: arrays, numbers, and tuples and named tuples of such; kept as long as what is
            returned is. Arrays may change in place, numbers stay as they are.
        more: types of the other arguments of `function`, which are not checked when it is called:
            numba takes as long for that as for a short function.
    """
    classes: list[type] = []
    bound = Bound(_plain(arguments, classes))
    key = function, typeof(bound), *classes, *more
    if key not in _compiled:
        named = BoundType([("values", typeof(arguments))])
        _compiled[key] = function.compile((named, *more))
    call = _Call(_compiled[key], bound)
    call.made_of = function, arguments, *more
    return call


#: functions compiled for arguments of some types, by these without names, the classes that have
#: them, and the types of other arguments: numba takes long to find its own
_compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}


def _plain(value: tuple[Any, ...], classes: list[type]) -> tuple[Any, ...]:
    """Tuples without the names of their parts; `classes` are those met.

    Named or not, the parts have the same places in memory, so that `function` may know them by
    names. :class:`Bound` must not: all programs share its compiled code, whose index would name the
    classes of one program, and could not be read by another that lacks them.
    """
    classes.append(type(value))
    return tuple([_plain(part, classes) if isinstance(part, tuple) else part for part in value])


class _Call(partial[Any]):
    """A compiled function with what it holds; a copy holds copies."""

    made_of: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return bind, self.made_of
