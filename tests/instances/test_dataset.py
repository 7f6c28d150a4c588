"""Data sets: manifest, verification, errors that name the file."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence

import pytest

import lagco
from lagco.errors import InstanceError
from lagco.instances import DataSet
from lagco.instances.dataset import DATA_SET
from tests.store.forging import forge, put


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "tsp"
    lagco.generate("tsp", 3, out=folder, sizes="6,8", sweeps=5, workers=1, progress=False)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "copy")


def test_a_data_set_lists_and_reads_its_instances(folder):
    data = DataSet.load(folder)
    assert [instance.size for instance in data] == [6, 8, 6]
    assert data.extents == {"nodes": 8, "edges": 56, "actions": 8}
    assert data.problem == "tsp"
    assert data[1].checksum == data.entries[1].checksum
    assert lagco.info(folder)["instances"] == 3


def test_a_changed_instance_is_noticed(folder):
    shutil.copy(folder / "0000.npz", folder / "0001.npz")
    with pytest.raises(InstanceError, match=r"0001\.npz: differs from what .*manifest\.json lists"):
        list(DataSet.load(folder))


def test_a_missing_instance_is_noticed(folder):
    (folder / "0002.npz").unlink()
    with pytest.raises(InstanceError, match=r"0002\.npz: no such file; .*manifest\.json lists it"):
        lagco.info(folder)


def edited(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def test_a_changed_manifest_is_noticed(folder):
    with pytest.raises(InstanceError, match="does not match its checksum"):
        DataSet.load(edited(folder, problem="max-cut"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(version=7), "version 7 is not supported"),
        (dict(format="x"), "not the manifest of a data set"),
    ],
)
def test_other_manifests_are_refused(folder, changes, message):
    with pytest.raises(InstanceError, match=message):
        DataSet.load(edited(folder, **changes))


def test_a_path_out_of_the_folder_is_refused(folder):
    forge(DATA_SET, folder, put("instances", 0, "file", value="../secret.npz"))
    with pytest.raises(InstanceError, match=r"'\.\./secret\.npz' is outside the folder"):
        DataSet.load(folder)


def test_an_instance_file_is_a_data_set_of_one(folder):
    data = DataSet.load(folder / "0000.npz")
    assert (len(data), data.problem) == (1, "tsp")
    assert data[0].checksum == DataSet.load(folder)[0].checksum


def test_what_is_not_a_data_set(tmp_path, folder):
    with pytest.raises(InstanceError, match="no such folder"):
        DataSet.load(tmp_path / "nowhere")
    with pytest.raises(InstanceError, match=r"holds no manifest\.json"):
        DataSet.load(tmp_path)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(InstanceError, match=r"manifest\.json: damaged, not JSON"):
        DataSet.load(folder)


def test_a_data_set_is_a_sequence(folder):
    data = DataSet.load(folder)
    assert isinstance(data, Sequence) and len(data) == 3
    assert data[-1].checksum == data.entries[2].checksum
    assert [instance.size for instance in data[:2]] == [6, 8]
    assert [instance.size for instance in reversed(data)] == [6, 8, 6]
    assert isinstance(data[1:], DataSet) and data[1:].folder == data.folder
    assert data[1:][0].checksum == data[1].checksum
    assert data[1:].extents == data.extents and data[:1].extents["nodes"] == 6
    assert len(data[3:]) == 0 and list(data[3:]) == []
    assert data[:3].checksum == data.checksum != data[:2].checksum


def test_instances_are_found_in_a_data_set_by_their_content(folder):
    data = DataSet.load(folder)
    assert data[1] in data and data[1] not in data[2:] and "a name" not in data
    assert [data.index(instance) for instance in data] == [0, 1, 2]
    assert data.index(data[2], 1) == 2 and data.count(data[0]) == 1
    with pytest.raises(ValueError, match="has no such instance"):
        data.index(data[0], 1)


@pytest.mark.parametrize("number", [3, 99, -4])
def test_an_instance_that_is_not_there_is_named(folder, number):
    data = DataSet.load(folder)
    message = f"{folder}: there is no instance {number}, the data set has 3; give -3 to 2"
    with pytest.raises(IndexError, match=re.escape(message)):
        data[number]
    with pytest.raises(IndexError, match="there is no instance 0, the data set is empty"):
        data[:0][0]


def linked(path):
    kept = path.with_name("kept.npz")
    path.rename(kept)
    path.symlink_to(kept)


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def sparse(path):
    with path.open("wb") as stream:
        stream.truncate(3 << 30)


@pytest.mark.parametrize(
    ("change", "message"),
    [(linked, "it is a link"), (pipe, "not a plain file"), (sparse, "3221225472 bytes")],
)
def test_entries_are_plain_files_of_the_folder(folder, change, message):
    change(folder / "0001.npz")
    with pytest.raises(InstanceError, match=rf"0001\.npz: cannot be read .*{message}") as caught:
        list(DataSet.load(folder))
    assert "manifest.json lists it" in str(caught.value)


def test_a_linked_manifest_is_refused(folder):
    linked(folder / "manifest.json")
    with pytest.raises(InstanceError, match=r"manifest\.json: cannot be read \(it is a link"):
        DataSet.load(folder)
