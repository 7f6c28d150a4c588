"""Arrays in safetensors files, taken by name and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.store.text import compact_json, parse_json, shown

#: the types of numbers that are read, by the names of safetensors
_TYPES = {
    "BOOL": np.bool_,
    "I8": np.int8,
    "U8": np.uint8,
    "I16": np.int16,
    "U16": np.uint16,
    "I32": np.int32,
    "U32": np.uint32,
    "I64": np.int64,
    "U64": np.uint64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_HEADER = "lagco"


#: weights and scales beyond it are refused, as numbers of instances are
MAX_WEIGHT = 1e15
#: bytes of the header of a safetensors file
_MOST_HEADER = 100_000_000
#: bytes that are written at a time of arrays one behind the other
_PIECE = 1 << 20


class JoinedRows:
    """Arrays one behind the other along their first axis, written as one array without a copy.

    Args:
        parts: of one type, and of one shape but for the first axis; at least one.
    """

    def __init__(self, parts: Sequence[Array]) -> None:
        self.parts = parts
        self.dtype = parts[0].dtype
        self.shape = sum(len(part) for part in parts), *parts[0].shape[1:]
        self.nbytes = sum(part.nbytes for part in parts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.concatenate(self.parts).astype(dtype or self.dtype, copy=False)


class Tensors(Mapping[str, Array]):
    """Arrays of one file by name; dtype and shape are checked when an array is taken.

    Args:
        path: of the file, for messages.
        arrays: what it holds.
        error: class of the errors.
    """

    def __init__(self, path: Path, arrays: Mapping[str, Array], error: type[LagcoError]) -> None:
        self.path = path
        self._arrays = dict(arrays)
        self._error = error
        self._taken: set[str] = set()

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def take(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtype: Any = np.float32,
        low: float | None = None,
    ) -> Array:
        """The array of that name, of exactly that shape (None: any length) and type.

        Args:
            name: of the array.
            shape: length of every axis.
            dtype: type of the numbers.
            low: no number is smaller.
        """
        array = self._arrays.get(name)
        if array is None:
            raise self.refused(f"tensor {name!r} is missing")
        fits = len(shape) == array.ndim and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = str(tuple(shape)).replace("None", "any")
            raise self.refused(f"tensor {name!r} has shape {array.shape}, it must have {wanted}")
        if array.dtype != dtype:
            raise self.refused(
                f"tensor {name!r} has the type {array.dtype}, it must have {np.dtype(dtype)}"
            )
        if low is not None and array.size and array.min() < low:
            raise self.refused(f"tensor {name!r} holds {array.min()}, less than {low:g}")
        self._taken.add(name)
        return array

    def refuse_others(self) -> None:
        """Refuse the file if it holds arrays that were not taken."""
        others = sorted(self._arrays.keys() - self._taken)
        if others:
            raise self.refused(f"holds tensors that belong nowhere: {', '.join(others[:5])}")

    def refused(self, reason: str) -> LagcoError:
        """The error to raise about this file."""
        return self._error(f"{self.path}: {reason}")


def pieces(array: Array | JoinedRows) -> Iterator[memoryview]:
    """The bytes of an array, little-endian, without a copy of all of it."""
    parts = array.parts if isinstance(array, JoinedRows) else [np.asarray(array)]
    some: list[Array] = []
    size = 0
    for part in parts:
        little = np.asarray(part, part.dtype.newbyteorder("<"), order="C")
        some.append(little.reshape(-1).view(np.uint8))
        size += little.nbytes
        if size >= _PIECE:
            yield (some[0] if len(some) == 1 else np.concatenate(some)).data
            some, size = [], 0
    if size:
        yield np.concatenate(some).data


def tensor_chunks(
    arrays: Mapping[str, Array | JoinedRows], header: str | None = None
) -> Iterator[bytes | memoryview]:
    """A safetensors file of `arrays` in pieces, without copies; `header` may travel with them."""
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # aligned
    described: dict[str, Any] = {} if header is None else {"__metadata__": {_HEADER: header}}
    end = 0
    for name in names:
        array, begin = arrays[name], end
        end += array.nbytes
        described[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("=")],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = compact_json(described).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield from pieces(arrays[name])


def unpack_tensors(
    path: Path,
    content: bytes,
    error: type[LagcoError],
    *,
    finite: bool = True,
    largest: float | None = None,
) -> Tensors:
    """The arrays of a safetensors file.

    Args:
        path: of the file, for messages.
        content: its bytes.
        error: class of the errors.
        finite: refuse numbers that are not finite.
        largest: refuse numbers that are further from 0.
    """
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(content)
    except (SafetensorError, ValueError, TypeError, OverflowError) as damage:
        raise error(
            f"{path}: damaged, not a safetensors file ({damage}); copy it again, or make it again"
        ) from damage
    arrays: dict[str, Array] = {}
    for name, entry in entries:
        kind = _TYPES.get(entry["dtype"])
        if kind is None:
            known = ", ".join(_TYPES)
            raise error(
                f"{path}: tensor {shown(name)} is of type {entry['dtype']}; read are {known}"
            )
        try:
            array = np.frombuffer(entry["data"], dtype=kind).reshape(entry["shape"])
        except (ValueError, OverflowError, MemoryError) as damage:
            raise error(f"{path}: tensor {shown(name)} has no possible shape ({damage})") from None
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise error(f"{path}: tensor {shown(name)} holds numbers that are not finite")
        if largest is not None and array.dtype.kind == "f" and array.size:
            found = max(-float(array.min()), float(array.max()))
            if found > largest:
                raise error(
                    f"{path}: tensor {shown(name)} holds numbers as large as {found:g}, they reach "
                    f"{largest:g}"
                )
        if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise error(f"{path}: tensor {shown(name)} holds flags that are neither 0 nor 1")
        arrays[name] = array
    return Tensors(path, arrays, error)


def check_extent(stream: BinaryIO, size: int) -> None:
    """Refuse a file whose tensors do not fill it, before all of it is read.

    What is no safetensors file at all is left to :func:`unpack_tensors`, but for one of zeros.

    Raises:
        ValueError: the tensors end elsewhere.
    """
    length = int.from_bytes(stream.read(8), "little")
    if 0 < length <= min(size - 8, _MOST_HEADER):
        try:
            header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name[:2] != "__"]
            end = 8 + length + max(ends, default=0)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            end = size
        if end != size:
            raise ValueError(f"it has {size} bytes, its tensors end at byte {shown(end)}")
    elif size > _MOST_HEADER:
        raise ValueError(f"its header of {length} bytes is none of a safetensors file")
    stream.seek(0)


def header_of(content: bytes) -> str:
    """The text that travels with the tensors of a file.

    Raises:
        ValueError: there is none.
    """
    length = int.from_bytes(content[:8], "little")
    if not 2 <= length <= len(content) - 8:
        raise ValueError("it is not a safetensors file")
    header = parse_json(content[8 : 8 + length])
    extra = header.get("__metadata__") if isinstance(header, dict) else None
    text = extra.get(_HEADER) if isinstance(extra, dict) else None
    if not isinstance(text, str):
        raise ValueError("its header says nothing about lagco")
    return text
