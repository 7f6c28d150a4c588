"""A study as one file: the same page, deterministic bytes, nothing of a place, read with suspicion."""

from __future__ import annotations

import json
import lzma
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lagco.report
from lagco.cli import app
from lagco.errors import LagcoError
from lagco.study import Ledger, Snapshot, export, generalization, import_records
from lagco.study.records.archive import without_folders
from lagco.study.task import Task
from tests.report.fabricated import Extent, Writer, write_ledger
from tests.study.small import InProcess

BRIEF = Extent(
    problems=("tsp",), methods=("projection", "iterative"), strategies=("varied",), instances=6
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_ledger(tmp_path_factory.mktemp("brief") / "study", BRIEF)


@pytest.fixture(scope="module")
def packed(study):
    return export(study, study.parent / "records.jsonl.xz")


def tables(page):
    return {path.name: path.read_bytes() for path in page.with_suffix(".tables").iterdir()}


def test_the_page_of_the_file_is_that_of_the_folder(study, packed, tmp_path):
    ours = lagco.report.build(packed, tmp_path / "file.html")
    theirs = lagco.report.build(study, tmp_path / "folder.html", episodes=False)
    assert ours.read_bytes() == theirs.read_bytes()
    assert tables(ours) == tables(theirs)


def test_the_file_holds_what_the_folder_holds(study, packed, tmp_path):
    file, folder = Snapshot(packed), Ledger(study)
    assert file.equals(folder) and len(file.records()) == len(folder.records())
    assert file.settings() == folder.settings()
    (failure,) = file.failures()
    assert failure["error"] == folder.failures()[0]["error"]
    record = file.records("run")[0]
    assert file.find("run", record.key) is record
    copy = shutil.copytree(study, tmp_path / "study")
    assert export(copy, tmp_path / "again.jsonl.xz").read_bytes() == packed.read_bytes()


def test_no_place_is_told(tmp_path):
    writer = Writer(tmp_path / "study")
    here = {"host": socket.gethostname(), "pid": 4242, "cpu": "CPU"}
    spec = {"problem": "tsp", "policy": "random", "data": "0" * 64, "code": {"hash": "0"}}
    for number, host in enumerate((socket.gethostname(), "another-host")):
        measured = here | {"host": host}
        writer.write("policy", f"tsp-{number}", spec | {"episodes": number}, {}, measured)
    text = lzma.decompress(export(tmp_path / "study", tmp_path / "r.jsonl.xz").read_bytes())
    first, second = (json.loads(line)["measured"] for line in text.splitlines()[1:])
    assert (first["host"], second["host"]) == ("machine 1", "machine 2")
    assert first["cores"] >= 1 and first["memory_gib"] >= 0 and first["cpu"] == "CPU"
    assert "cores" not in second, "what is known of this machine is not said of another"
    assert b"another-host" not in text and b"4242" not in text


def test_texts_keep_only_the_last_part_of_paths():
    text = 'File "/home/me/lagco/study/x.py", line 3: no file C:\\data\\a.npz; 1/2 of a/b'
    assert without_folders(text) == 'File "…/x.py", line 3: no file …/a.npz; 1/2 of a/b'
    assert without_folders(without_folders(text)) == without_folders(text)


def damaged(packed):
    text = lzma.decompress(packed.read_bytes())
    head, *lines = text.splitlines(keepends=True)
    foreign = json.loads(head) | {"format": "other"}
    return {
        "no compression": text,
        "half of it": packed.read_bytes()[:-200],
        "something behind it": packed.read_bytes() + b"more",
        "one record less": lzma.compress(b"".join([head, *lines[:-1]])),
        "a changed record": lzma.compress(
            text.replace(b'"score_best":[', b'"score_best":[9.5,', 1)
        ),
        "a line that is no JSON": lzma.compress(b"".join([head, *lines[:-1], b"{\n"])),
        "another format": lzma.compress(json.dumps(foreign).encode() + b"\n"),
        "nothing": lzma.compress(b""),
    }


@pytest.mark.parametrize(
    "how",
    [
        "no compression",
        "half of it",
        "something behind it",
        "one record less",
        "a changed record",
        "a line that is no JSON",
        "another format",
        "nothing",
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(packed, tmp_path, how):
    path = tmp_path / "broken.jsonl.xz"
    path.write_bytes(damaged(packed)[how])
    with pytest.raises(LagcoError, match="broken.jsonl.xz"):
        Snapshot(path)


def test_a_small_file_cannot_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("lagco.study.records.archive._MOST_TEXT", 1 << 20)
    path = tmp_path / "bomb.jsonl.xz"
    path.write_bytes(lzma.compress(b"0" * (1 << 21)))
    with pytest.raises(LagcoError, match=r"bomb.jsonl.xz: damaged"):
        Snapshot(path)


def test_nothing_is_added_to_a_file_and_nothing_comes_from_nowhere(packed, tmp_path):
    file = Snapshot(packed)
    with pytest.raises(LagcoError, match="studies are run in folders"):
        file.write(Task("run", "tsp-a", {"problem": "tsp"}), {}, {})
    with pytest.raises(LagcoError, match="nowhere: no such folder or file"):
        Snapshot(tmp_path / "nowhere")
    with pytest.raises(LagcoError, match="holds no record"):
        export(tmp_path, tmp_path / "r.jsonl.xz")


def test_the_commands_export_and_report(study, tmp_path):
    file, page = str(tmp_path / "r.jsonl.xz"), str(tmp_path / "r.html")
    made = CliRunner().invoke(app, ["study", "export", str(study), "--out", file, "--name", "mine"])
    assert made.exit_code == 0 and "r.jsonl.xz (0." in made.output
    shown = CliRunner().invoke(app, ["report", file, "--out", page])
    assert shown.exit_code == 0 and "<h1>Study report: mine</h1>" in Path(page).read_text()


def test_a_study_goes_on_from_a_file(tmp_path):
    options = dict(
        preset="tiny",
        problems=["tsp"],
        strategies=["small"],
        policies=["random"],
        engine=InProcess(),
        progress=False,
    )
    whole = generalization(tmp_path / "whole", methods=["projection", "g-discrete"], **options)
    first = generalization(tmp_path / "first", methods=["projection"], **options)
    file = export(first.root, tmp_path / "records.jsonl.xz")
    out = tmp_path / "second"
    assert import_records(file, out) == len(first.records())
    assert Ledger(out).equals(first) and Ledger(out).settings() == first.settings()
    assert import_records(file, out) == 0
    generalization(out, methods=["projection", "g-discrete"], **options)
    assert Ledger(out).equals(whole)  # data and encoder, which are not in the file, are made again
    assert not list((out / "agents").glob("tsp-projection-*"))  # the run, which is, is not


@pytest.mark.parametrize("change", [{"kind": "../../outside"}, {"spec": {"problem": "tsp"}}])
def test_a_record_that_would_stand_for_another_task_is_not_imported(study, tmp_path, change):
    record = Ledger(study).records("run")[0]
    with pytest.raises(LagcoError, match="no record of a task of lagco's"):
        Ledger(tmp_path / "out").adopt(replace(record, **change))
    assert not list(tmp_path.rglob("*.json"))


def test_the_command_imports(packed, tmp_path):
    arguments = ["study", "import", str(packed), "--out", str(tmp_path / "study")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and "records added to" in done.output
    assert Ledger(tmp_path / "study").equals(Snapshot(packed))
    refused = CliRunner().invoke(app, ["study", "import", str(tmp_path / "study"), "--out", "x"])
    assert refused.exit_code != 0
