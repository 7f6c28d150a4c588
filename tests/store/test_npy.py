"""Arrays of numpy's format, read by a grammar of our own."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lagco.store.npy import npy_bytes, parse_npy

#: texts that files may hold: surrogates are no characters, and numpy drops zeros at the end
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
KINDS = ["?", "i1", "<i8", ">i4", "u2", "f2", "f4", ">f8", "<U3", "S5"]


@settings(max_examples=200)
@given(st.sampled_from(KINDS), st.data())
def test_round_trip(kind, data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    elements = st.text(LETTERS, max_size=3) if kind == "<U3" else None
    array = data.draw(hnp.arrays(np.dtype(kind), shape, elements=elements))
    content = npy_bytes(array)
    back = parse_npy(content)
    assert back.dtype == array.dtype.newbyteorder("<") and not back.flags.writeable
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(np.load(io.BytesIO(content), allow_pickle=False), array)


def forged(header, body=b"", version=b"\x01\x00"):
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + body


def header(descr="<f8", shape="(2,)"):
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}   \n".encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an array"),
        (forged(header(), bytes(16), version=b"\x02\x00"), "not an array in numpy's format 1.0"),
        (forged(b"(" * 30_000), "header is none"),
        (forged(b"{'descr': '''"), "header is none"),
        (forged(header(shape="(" * 500)), "header is none"),
        (forged(header(shape="(1e3,)"), bytes(16)), "header is none"),
        (forged(header(shape="(-2,)"), bytes(16)), "header is none"),
        (forged(header("|O"), bytes(16)), "header is none"),
        (forged(header("<c8"), bytes(16)), "header is none"),
        (forged(header("<f3"), bytes(6)), "type <f3"),
        (forged(header("<f16"), bytes(32)), "type <f16"),
        (forged(header("|f8"), bytes(16)), r"type \|f8"),
        (forged(header(shape="(1000000000000,)"), bytes(16)), "is not that of the 16 bytes"),
        (forged(header(shape=f"({'9' * 18}, {'9' * 18})"), bytes(16)), "not that of the 16 bytes"),
        (forged(header(shape=f"(0, {'9' * 18})")), "is too large"),
        (forged(header(), bytes(17)), "17 bytes"),
        (forged(header("|b1"), b"\x02\x00"), "neither 0 nor 1"),
        (forged(header("<U1"), b"\xff\xff\xff\xff" * 2), "no characters"),
        (forged(header("<U1"), (0xD800).to_bytes(4, "little") * 2), "no characters"),
        (forged(header("<U999999999"), bytes(16)), "is not that of the 16 bytes"),
    ],
)
def test_other_files_are_refused(content, message):
    with pytest.raises(ValueError, match=message):
        parse_npy(content)
