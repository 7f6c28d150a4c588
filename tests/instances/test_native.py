"""Instance files: nothing is lost, damage is noticed, nothing foreign is believed."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import (
    ArrayForm,
    Instance,
    InstanceForm,
    References,
    SolverReference,
    SweepReference,
    read,
    write,
)
from lagco.instances.native import instance_bytes
from lagco.problems import problem_class
from lagco.store.npy import npy_bytes
from tests.store.forging import forged_instance, members_of, packed, put

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


@settings(max_examples=60)
@given(instances())
def test_round_trip(tmp_path, instance):
    path = tmp_path / "instance.npz"
    write(instance, path)
    back = read(path)
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


@settings(max_examples=300)
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
        instance = read(path)
    except InstanceError as error:
        assert str(path) in str(error)
    else:  # a byte that carries nothing, such as a timestamp in the zip directory
        assert instance_bytes(instance) == instance_bytes(example())


def repacked(change):
    """The example's file with its members changed by change(members)."""
    members = members_of(instance_bytes(example()))
    change(members)
    return packed(members)


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
        (
            repacked(edit_meta(format="other")),
            "not an instance file \\(no format 'lagco-instance'\\)",
        ),
        (
            repacked(edit_meta(version=99)),
            "lagco-instance version 99 is not supported, this lagco reads version 2",
        ),
        (repacked(edit_meta(size=6)), "does not match its checksum"),
        (repacked(lambda members: members.update({"meta.json": b"{"})), "damaged, not JSON"),
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
        read(path)
    assert str(path) in str(caught.value)


def test_a_forged_checksum_does_not_help_a_pickle(tmp_path):
    parts = {}
    pickled_array(parts)
    path = tmp_path / "file.npz"
    path.write_bytes(forged_instance(instance_bytes(example()), parts=parts))
    with pytest.raises(InstanceError, match="its header is none that lagco writes"):
        read(path)


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
        read(path)


def test_missing_file(tmp_path):
    with pytest.raises(InstanceError, match="nowhere.npz: no such file"):
        read(tmp_path / "nowhere.npz")


def test_an_instance_leaves_the_given_arrays_as_they_are():
    given = np.zeros((3, 2))
    instance = Instance(problem="tsp", name="t", size=3, arrays={"coordinates": given})
    given[0] = 1.0
    assert instance.arrays["coordinates"][0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        instance.arrays["coordinates"][0] = 1.0
    assert replace(instance, name="u").arrays["coordinates"] is instance.arrays["coordinates"]


def problem_bytes(problem, size=6):
    return instance_bytes(
        generate_instance(problem, size=size, references=("sweeps", "solver"), sweeps=5)
    )


def npy(array):
    return npy_bytes(np.asarray(array))


WRONG = {
    "nodes is a list": ("ospf", put("params", "nodes", value=[3]), {}, r"params\.nodes is \[3\]"),
    "too many nodes": ("ospf", put("params", "nodes", value=10**12), {}, r"params\.nodes is 10000"),
    "nodes missing": ("traffic", lambda m: m["params"].pop("nodes"), {}, "has no 'nodes'"),
    "hops are a text": (
        "traffic", put("params", "max_path_len", value="x"), {}, r"params\.max_path_len is 'x'",
    ),
    "too many hops": ("traffic", put("params", "max_path_len", value=10**9), {}, "max_path_len is"),
    "splitting is a text": ("ospf", put("params", "ecmp", value="yes"), {}, r"params\.ecmp is 'yes'"),
    "weights without end": ("ospf", put("params", "max_weight", value=10**12), {}, "max_weight is"),
    "start is a list": ("cyber-path", put("params", "start", value=[]), {}, r"params\.start is \[\]"),
    "metric is a number": ("tsp", put("params", "metric", value=3), {}, r"params\.metric is 3"),
    "size is a text": ("tsp", put("size", value="6"), {}, "size: is '6', it must be an integer"),
    "size without end": ("min-vertex", put("size", value=10**12), {}, "declares the size 1000000000000"),
    "size is wrong": ("tsp", put("size", value=7), {}, r"coordinates has shape \(6, 2\), expected \(7, 2\)"),
    "name is a list": ("tsp", put("name", value=[1]), {}, r"name: is \[1\], it must be a string"),
    "an unknown field": ("tsp", put("more", value=1), {}, "unknown field 'more'"),
    "a best that is none": ("tsp", put("references", "sweeps", "best", value="x"), {}, "best: is 'x'"),
    "bounds of one end": (
        "placement", put("references", "sweeps", "bounds", "energy", value=[1]), {}, "has 1 entry",
    ),
    "another status": ("tsp", put("references", "solver", "status", value="x"), {}, "status: is 'x'"),
    "a solution of another shape": (
        "tsp", None, {"sweeps/best_solution.npy": npy([0, 1])}, r"best solution .* shape \(2,\)",
    ),
    "a solution of texts": (
        "placement", None, {"sweeps/worst_solution.npy": npy(list("abcdef"))}, "worst solution .* <U1",
    ),
    "a solution out of range": (
        "placement", None, {"sweeps/worst_solution.npy": npy([99] * 6)}, "worst solution .* holds 99",
    ),
    "paths of another shape": (
        "traffic", None, {"sweeps/worst_solution.npy": npy([1, 2])}, "worst solution .* shape",
    ),
    "capacities without end": (
        "placement", None, {"data/pm_idle.npy": npy([1e308, 1e308])}, "pm_idle",
    ),
    "edges that are no numbers": ("max-cut", None, {"data/edges.npy": npy([["a"], ["b"]])}, "edges holds <U1"),
    "edges out of range": ("max-cut", None, {"data/edges.npy": npy([[0], [77]])}, "edges|weights"),
    "tenants without end": (
        "placement", None, {"data/tenants.npy": npy([2**40] * 6)}, "tenants holds 1099511627776",
    ),
    "broken texts": (
        "cyber-path",
        None,
        {"data/vulns.npy": npy([["abc"]] * 6).replace("abc".encode("utf-32-le"), b"\xff" * 12)},
        "no characters",
    ),
    "an array that belongs nowhere": ("tsp", None, {"other/x.npy": npy([1])}, "belongs nowhere"),
}  # fmt: skip


@pytest.mark.parametrize("how", WRONG)
def test_what_a_problem_declares_is_checked_when_reading(tmp_path, how):
    problem, change, parts, message = WRONG[how]
    path = tmp_path / "file.npz"
    path.write_bytes(forged_instance(problem_bytes(problem), change, parts))
    with pytest.raises(InstanceError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("value", ["1e999", "NaN", "-Infinity"])
def test_objectives_are_finite(tmp_path, value):
    members = members_of(problem_bytes("tsp"))
    text = members["meta.json"].decode()
    best = json.loads(text)["references"]["sweeps"]["best"]
    members["meta.json"] = text.replace(f'"best":{best}', f'"best":{value}').encode()
    path = tmp_path / "file.npz"
    path.write_bytes(packed(members))
    with pytest.raises(InstanceError, match="number") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_an_instance_that_is_not_finite_is_not_written(tmp_path):
    worst = SweepReference(1.0, float("inf"), None, None, 3)
    with pytest.raises(InstanceError, match="must be JSON values and finite"):
        write(example(references=References(worst)), tmp_path / "x.npz")


class Declared(problem_class("tsp")):
    """A problem of one's own says what its instances hold."""

    name = "declared"
    form = InstanceForm(
        arrays={"coordinates": ArrayForm("number", ("size", 2))},
        params={"required": ["depth"], "properties": {"depth": {"type": "integer"}}},
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"params": {}}, "params has no 'depth'"),
        ({"params": {"depth": 1.5}}, "params.depth is 1.5, it must be an integer"),
        ({"params": {"depth": 1}, "size": 4}, r"expected \(4, 2\)"),
    ],
)
def test_own_problems_may_declare_their_instances(tmp_path, changes, message):
    given = example(problem="declared", **changes)
    with pytest.raises(InstanceError, match=message):
        Declared(given)
    path = tmp_path / "own.npz"
    write(given, path)  # a reader that does not know the problem lets it pass
    assert read(path).params == changes["params"]
    with pytest.raises(InstanceError, match=message) as caught:
        Declared(path)
    assert str(path) in str(caught.value)
