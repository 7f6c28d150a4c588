"""Arrays as ``numpy.save`` writes them, read by a strict parser that runs no code.

numpy parses the header as Python source; this one is a fixed text, and as many bytes follow it as
it says.
"""

from __future__ import annotations

import io
import math
import re

import numpy as np

from lagco.arrays import Array

#: kinds of numbers and texts that are written and read
KINDS = "biufUS"
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<|])([biufUS])([0-9]{1,9})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}, ){0,31}[0-9]{1,18},?)?\), \} *\n"
)
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
_LAST_CHARACTER = 0x10FFFF


def npy_bytes(array: Array) -> bytes:
    """The ``.npy`` file of an array, in rows and with the lowest byte first."""
    stream = io.BytesIO()
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    np.lib.format.write_array(stream, ordered, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def parse_npy(content: bytes) -> Array:
    """The array of a ``.npy`` file, read-only.

    Raises:
        ValueError: says what is wrong.
    """
    if not content.startswith(_MAGIC):
        raise ValueError("it is not an array in numpy's format 1.0")
    begin = len(_MAGIC) + 2
    length = int.from_bytes(content[len(_MAGIC) : begin], "little")
    found = _HEADER.fullmatch(content[begin : begin + length])
    if found is None:
        raise ValueError("its header is none that lagco writes")
    order, kind, digits = (found[i].decode() for i in (1, 2, 3))
    size = int(digits)
    bytewise = kind == "S" or (kind != "U" and size == 1)
    if size not in _SIZES.get(kind, (size,)) or (order == "|") != bytewise:
        raise ValueError(f"its type {order}{kind}{size} is none that lagco writes")
    shape = tuple(int(part) for part in re.findall(rb"[0-9]+", found[4] or b""))
    width = 4 * size if kind == "U" else size
    body = memoryview(content)[begin + length :]
    if math.prod(shape) * width != len(body):
        raise ValueError(f"its shape {shape} is not that of the {len(body)} bytes it has")
    if not len(body):
        if max(shape, default=0) > 1 << 31:
            raise ValueError(f"its shape {shape} is too large")
        return _frozen(np.zeros(shape, dtype=f"{order}{kind}{size}"))
    array = np.frombuffer(body, dtype=f"{order}{kind}{size}").reshape(shape)
    if kind == "b" and np.frombuffer(body, np.uint8).max() > 1:
        raise ValueError("its flags are neither 0 nor 1")
    if kind == "U":
        letters = np.frombuffer(body, "<u4")
        if letters.max() > _LAST_CHARACTER or ((letters >> 11) == 0xD800 >> 11).any():
            raise ValueError("its texts hold numbers that are no characters")
    return _frozen(array)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
