"""Described files: what is written is read, and nothing that decides changes unnoticed."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
from jsonschema import Draft202012Validator

from lagco.agents.bundle import AGENT
from lagco.agents.training.checkpoint import CHECKPOINT_KIND
from lagco.agents.training.trainer import RUN_KIND
from lagco.embedding.storage import ENCODER
from lagco.errors import LagcoError, WriteError
from lagco.instances.dataset import DATA_SET, TIMES
from lagco.instances.native import INSTANCE
from lagco.latent.files import SPACE
from lagco.problems import list_problems
from lagco.store import Kind, Mismatch, check, check_writable, parse_json
from lagco.store.tensors import header_of, tensor_chunks
from lagco.study.records.ledger import FAILURE, NOTE, RECORD
from lagco.study.running.claims import CLAIM

KINDS = (
    *(AGENT, CHECKPOINT_KIND, CLAIM, DATA_SET, ENCODER, FAILURE, INSTANCE, NOTE, RECORD),
    *(RUN_KIND, SPACE, TIMES),
)
TOY = Kind(
    format="lagco-toy",
    version=3,
    noun="a toy",
    remedy="make another",
    description="toy.json",
    tensors="toy.safetensors",
    schema={
        "required": ["name"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string"}, "count": {"type": "integer", "minimum": 0}},
    },
)
ARRAYS = {
    "flags": np.array([True, False]),
    "whole": np.arange(6, dtype=np.int64).reshape(2, 3),
    "scalar": np.array(3, dtype=np.int64),
    "real": np.linspace(0, 1, 4, dtype=np.float32),
    "none": np.zeros((0, 3), np.float16),
}


@pytest.fixture
def folder(tmp_path):
    TOY.write(tmp_path, {"name": "x", "count": 2}, ARRAYS, {"seconds": 1.5})
    return tmp_path


def test_round_trip(folder):
    found = TOY.read(folder)
    assert found.content == {"name": "x", "count": 2} and found.measured == {"seconds": 1.5}
    assert found.tensors.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found.tensors[name].dtype == array.dtype and found.tensors[name].shape == array.shape
        np.testing.assert_array_equal(found.tensors[name], array)
    assert TOY.read(folder, found.checksum).checksum == found.checksum
    with pytest.raises(LagcoError, match="another one than it belongs to"):
        TOY.read(folder, "0" * 64)


def test_one_file_may_carry_its_description(tmp_path):
    path = tmp_path / "toy"
    checksum = TOY.write_with_header(path, {"name": "x"}, ARRAYS)
    found = TOY.read_with_header(path)
    assert found.checksum == checksum and found.content == {"name": "x"}
    np.testing.assert_array_equal(found.tensors["whole"], ARRAYS["whole"])
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(LagcoError, match="checksum|not finite"):
        TOY.read_with_header(path)


def test_equal_content_is_equal_but_for_the_measurements(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    same = TOY.write(
        other, {"name": "x", "count": 2}, dict(reversed(ARRAYS.items())), {"seconds": 2}
    )
    assert same == TOY.read(folder).checksum
    assert (folder / "toy.safetensors").read_bytes() == (other / "toy.safetensors").read_bytes()
    for change in (
        {"content": {"name": "y", "count": 2}},
        {"content": {"count": 2, "name": "x"}},
        {"tensors": ARRAYS | {"real": ARRAYS["real"] + 1}},
        {"tensors": ARRAYS | {"whole": ARRAYS["whole"].reshape(3, 2)}},
        {"tensors": ARRAYS | {"whole": ARRAYS["whole"].view(np.uint64)}},
        {"tensors": {("r" if name == "real" else name): a for name, a in ARRAYS.items()}},
    ):
        given = {"content": {"name": "x", "count": 2}, "tensors": ARRAYS} | change
        assert TOY.write(other, **given) != same


def edited(folder, **changes):
    path = folder / "toy.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "z"}, "toy.json: damaged, .* does not match its checksum; make another"),
        ({"more": 1}, "does not match its checksum"),
        ({"sha256": None}, "does not match its checksum"),
        ({"version": 2}, "lagco-toy version 2 is not supported, .* reads version 3; make another"),
        ({"version": 4}, "version 4 is not supported.*install the lagco that wrote it"),
        ({"version": True}, "version True is not supported"),
        ({"format": "other"}, "not a toy"),
        ({"measured": []}, r"measured: is \[\], it must be an object"),
    ],
)
def test_changes_are_noticed(folder, changes, message):
    with pytest.raises(LagcoError, match=message) as caught:
        TOY.read(edited(folder, **changes))
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "the whole: has no 'name'"),
        ({"name": 3}, "name: is 3, it must be a string"),
        ({"name": "x", "count": 1.0}, "count: is 1.0, it must be an integer"),
        ({"name": "x", "count": True}, "count: is True, it must be an integer"),
        ({"name": "x", "count": -1}, "count: is -1, it must be at least 0"),
        ({"name": "x", "cuont": 1}, "unknown field 'cuont': did you mean 'count'"),
        ({"name": float("nan")}, "not JSON compliant"),
    ],
)
def test_what_does_not_fit_is_not_written(tmp_path, content, message):
    with pytest.raises(LagcoError, match=message):
        TOY.write(tmp_path, content)
    assert not list(tmp_path.iterdir())


def test_places_that_are_no_plain_files(tmp_path, folder):
    with pytest.raises(LagcoError, match="no such folder; is this a toy"):
        TOY.read(tmp_path / "nowhere")
    (folder / "toy.safetensors").unlink()
    (folder / "toy.safetensors").mkdir()
    with pytest.raises(
        LagcoError, match=r"toy\.safetensors: cannot be read \(it is a folder, not a file"
    ):
        TOY.read(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e999", "'1e999' is too large for a number"),
        ("-1e999", "too large"),
        ("NaN", "NaN is not a number"),
        ("-Infinity", "-Infinity is not a number"),
        ("9" * 41, "has 41 digits"),
        ('{"a": 1, "a": 2}', "the key 'a' stands there twice"),
        ('"\\ud800"', "not Unicode"),
        (b'"\xff"', "not Unicode"),
        ("[" * 65 + "]" * 65, "nested too deep"),
        ("[" * 100_000, "nested too deep"),
        ("[1,", "Expecting value"),
    ],
)
def test_json_is_read_strictly(text, message):
    with pytest.raises(ValueError, match=message):
        parse_json(text)


def test_json_that_is_sound():
    assert parse_json('{"a": [1, -2.5e3, true, null, "ü\\u00e4"]}') == {
        "a": [1, -2500.0, True, None, "üä"]
    }
    assert parse_json(str(2**127)) == 2**127


def test_mismatches_say_where():
    schema = {"properties": {"a": {"items": {"properties": {"b": {"enum": [1, 2]}}}}}}
    with pytest.raises(Mismatch, match=r"a\[1\]\.b: is 3, it must be one of 1, 2"):
        check({"a": [{"b": 1}, {"b": 3}]}, schema)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.format)
def test_schemas_are_schemas(kind):
    Draft202012Validator.check_schema(dict(kind.schema))
    assert kind.schema["additionalProperties"] is False


def test_forms_of_instances_are_schemas():
    for entry in list_problems():
        Draft202012Validator.check_schema(dict(entry.load().form.params))


def test_formats_are_told_apart():
    assert len({kind.format for kind in KINDS}) == len(KINDS)


def test_the_largest_size_allowed_is_not_reserved(folder):
    tracemalloc.start()
    try:
        replace(TOY, most_bytes=1 << 50).read(folder)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_files_that_are_too_large_are_not_opened(folder):
    with pytest.raises(LagcoError, match="10 are the most that is read"):
        replace(TOY, most_bytes=10).read(folder)


@pytest.mark.parametrize("header", [None, "a text, ünd more"])
def test_tensors_are_written_as_safetensors_reads_them(header):
    arrays = {
        "b": np.arange(6, dtype=np.float16).reshape(2, 3),
        "a": np.array([True, False]),
        "c": np.arange(4, dtype=">f8")[::2],
        "none": np.zeros((0, 3), np.float32),
        "one": np.asarray(np.int64(-5)),
    }
    content = b"".join(tensor_chunks(arrays, header))
    found = safetensors.numpy.load(content)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].shape == array.shape and np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
    if header is not None:
        assert header_of(content) == header


def test_whether_a_file_could_be_written(tmp_path):
    check_writable(tmp_path / "new" / "deeper" / "x.json")
    assert not any(tmp_path.iterdir())  # nothing is left behind
    (tmp_path / "taken").write_text("as it was")
    check_writable(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "as it was"
    for path in (tmp_path, tmp_path / "taken" / "x.json", tmp_path / ("x" * 300)):
        with pytest.raises(WriteError, match="cannot be written"):
            check_writable(path)
