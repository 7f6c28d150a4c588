"""Instance files: nothing is lost, damage is noticed, nothing foreign is believed."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lagco import (
    Instance,
    InstanceError,
    References,
    SolverReference,
    SweepReference,
    read_instance,
    write_instance,
)
from lagco.instances.native import instance_bytes

NAMES = st.text("abcdefgh_", min_size=1, max_size=6)
ARRAYS = hnp.arrays(
    st.sampled_from([np.int8, np.int64, np.float32, np.float64]),
    hnp.array_shapes(max_dims=2, max_side=4, min_side=0),
)
JSON = st.one_of(
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.booleans(),
    st.none(),
)


@st.composite
def instances(draw):
    number = st.floats(-1e9, 1e9)
    optional = st.one_of(st.none(), ARRAYS)
    sweeps = st.builds(
        SweepReference,
        number,
        number,
        optional,
        optional,
        st.integers(0, 99),
        st.dictionaries(NAMES, st.tuples(number, number), max_size=2),
    )
    solver = st.builds(
        SolverReference,
        number,
        st.sampled_from(["optimal", "best-known", "bound"]),
        st.text(max_size=5),
        optional,
    )
    return Instance(
        problem=draw(NAMES),
        name=draw(st.text(max_size=8)),
        size=draw(st.integers(0, 99)),
        arrays=draw(st.dictionaries(NAMES, ARRAYS, max_size=3)),
        params=draw(st.dictionaries(NAMES, JSON, max_size=3)),
        references=References(
            draw(st.one_of(st.none(), sweeps)), draw(st.one_of(st.none(), solver))
        ),
        origin=draw(st.dictionaries(NAMES, JSON, max_size=2)),
    )


@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)
@given(instances())
def test_round_trip(tmp_path, instance):
    path = tmp_path / "instance.npz"
    write_instance(instance, path)
    back = read_instance(path)
    assert instance_bytes(back) == instance_bytes(instance)
    assert back.checksum == instance.checksum
    assert back.params == instance.params
    for name, array in instance.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(back.arrays[name], array)
    for kind in ("sweeps", "solver"):
        assert (getattr(back.references, kind) is None) == (
            getattr(instance.references, kind) is None
        )


def example(**changes):
    fields = dict(
        problem="tsp",
        name="five",
        size=5,
        arrays={"coordinates": np.arange(10.0).reshape(5, 2)},
        params={"metric": "euclidean"},
    )
    return Instance(**(fields | changes))


def test_identity_is_the_data_alone():
    assert example(name="other", origin={"seed": 1}).checksum == example().checksum
    assert example(params={"metric": "att"}).checksum != example().checksum
    assert example(arrays={"coordinates": np.zeros((5, 2))}).checksum != example().checksum


def test_arrays_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        example().arrays["coordinates"][0, 0] = 1.0


def test_objects_are_refused():
    with pytest.raises(InstanceError, match="array 'names' holds Python objects"):
        example(arrays={"names": np.array([{}], dtype=object)})


@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300
)
@given(st.data())
def test_any_damage_is_noticed(tmp_path, data):
    content = bytearray(instance_bytes(example()))
    path = tmp_path / "damaged.npz"
    how = data.draw(st.sampled_from(["flip", "cut", "insert"]))
    place = data.draw(st.integers(0, len(content) - 1))
    if how == "flip":
        content[place] ^= data.draw(st.integers(1, 255))
    elif how == "cut":
        del content[place:]
    else:
        content[place:place] = data.draw(st.binary(min_size=1, max_size=9))
    path.write_bytes(content)
    try:
        instance = read_instance(path)
    except InstanceError as error:
        assert str(path) in str(error)
    else:  # a byte that carries nothing, such as a timestamp in the zip directory
        assert instance_bytes(instance) == instance_bytes(example())


def repacked(change):
    """The example's file with its members changed by change(members)."""
    with zipfile.ZipFile(io.BytesIO(instance_bytes(example()))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def edit_meta(**changes):
    def change(members):
        members["meta.json"] = json.dumps(json.loads(members["meta.json"]) | changes).encode()

    return change


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def pickled_array(members):
    stream = io.BytesIO()
    header = {"descr": "|O", "fortran_order": False, "shape": ()}
    np.lib.format.write_array_header_1_0(stream, header)
    members["data/coordinates.npy"] = stream.getvalue() + pickle.dumps(Bomb())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable lagco instance"),
        (b"NAME : berlin52\nTYPE : TSP\n", "not a readable lagco instance"),
        (pickle.dumps(Bomb()), "not a readable lagco instance"),
        (repacked(lambda members: members.pop("meta.json")), "holds no meta.json"),
        (repacked(edit_meta(format="other")), "format 'other', expected 'lagco-instance'"),
        (
            repacked(edit_meta(version=99)),
            "version 99 is not supported by this lagco, which reads version 1",
        ),
        (repacked(edit_meta(size=6)), "does not match its checksum"),
        (repacked(lambda members: members.update({"meta.json": b"{"})), "meta.json is not JSON"),
        (
            repacked(lambda members: members.update({"data/more.npy": b"x"})),
            "does not match its checksum",
        ),
        (repacked(pickled_array), "does not match its checksum"),
    ],
)
def test_foreign_and_forged_files_are_refused(tmp_path, content, message):
    path = tmp_path / "file.npz"
    path.write_bytes(content)
    with pytest.raises(InstanceError, match=message) as caught:
        read_instance(path)
    assert str(path) in str(caught.value)


def test_a_forged_checksum_does_not_help_a_pickle(tmp_path):
    from lagco.instances.native import _content_digest

    def forge(members):
        pickled_array(members)
        meta = json.loads(members.pop("meta.json"))
        meta.pop("sha256")
        meta["sha256"] = _content_digest(meta, members)
        members["meta.json"] = json.dumps(meta).encode()

    path = tmp_path / "file.npz"
    path.write_bytes(repacked(forge))
    with pytest.raises(InstanceError, match="allow_pickle=False"):
        read_instance(path)


def test_a_file_that_declares_too_much_is_refused_before_unpacking(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("meta.json", "{}")
        archive.writestr("data/x.npy", b"0" * 1000)
    content = buffer.getvalue()
    size = (1000).to_bytes(4, "little")
    path = tmp_path / "file.npz"
    path.write_bytes(content.replace(size, (2**31).to_bytes(4, "little")))
    with pytest.raises(InstanceError, match="more than it can hold"):
        read_instance(path)


def test_missing_file(tmp_path):
    with pytest.raises(InstanceError, match="nowhere.npz: no such file"):
        read_instance(tmp_path / "nowhere.npz")


def test_an_instance_leaves_the_given_arrays_as_they_are():
    given = np.zeros((3, 2))
    instance = Instance(problem="tsp", name="t", size=3, arrays={"coordinates": given})
    given[0] = 1.0
    assert instance.arrays["coordinates"][0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        instance.arrays["coordinates"][0] = 1.0
    assert replace(instance, name="u").arrays["coordinates"] is instance.arrays["coordinates"]
