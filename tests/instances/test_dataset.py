"""Data sets: manifest, verification, errors that name the file."""

from __future__ import annotations

import json
import shutil

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
    with pytest.raises(
        InstanceError, match=r"0002\.npz: listed in manifest\.json but not readable"
    ):
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
