"""Records: written whole, read with suspicion."""

from __future__ import annotations

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from lagco.errors import LagcoError
from lagco.study import Ledger
from lagco.study.records import ledger as module
from lagco.study.records.ledger import significant
from lagco.study.task import Task


def task(name="tsp-a", code="1", **spec):
    return Task("run", name, {"problem": "tsp", "code": code, "data": code, **spec})


def test_key_is_everything_that_determines():
    assert task().key == task().key
    others = [task(code="2"), task(seed=1), Task("policy", "tsp-a", task().spec)]
    assert len({task().key, *(other.key for other in others)}) == 4
    assert task("another name").key == task().key


def test_names_are_fit_for_files(tmp_path):
    strange = task("../mine:Über/x <b>")
    ledger = Ledger(tmp_path / "ledger")
    ledger.write(strange, {"a": 1}, {})
    (path,) = (tmp_path / "ledger" / "records" / "run").iterdir()
    assert set(path.name) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"
    )
    assert ledger.get(strange).name == strange.name


def test_measurements_do_not_count(tmp_path):
    first, second = Ledger(tmp_path / "a"), Ledger(tmp_path / "b")
    first.write(task(), {"value": 1.5}, {"seconds": 1})
    second.write(task(), {"value": 1.5}, {"seconds": 2})
    assert first.equals(second)
    second.write(task(), {"value": 1.25}, {"seconds": 2})
    assert not first.equals(second)


@pytest.fixture(params=["stands still", "goes back"])
def clock(request, monkeypatch):
    """A clock that cannot be relied on."""
    times = itertools.count(0, 0 if request.param == "stands still" else -3600)

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromtimestamp(1.7e9 + next(times), tz)

    monkeypatch.setattr(module, "datetime", Clock)


@pytest.mark.parametrize("codes", ["12", "21", "4213", "3124"])
def test_the_last_of_what_differs_in_circumstances_counts(tmp_path, clock, codes):
    ledger = Ledger(tmp_path)
    for code in codes:
        ledger.write(task(code=code, seed=1), {"value": code}, {})
    ledger.write(task(code="1", seed=2), {"value": "other"}, {})
    ledger.write(task("tsp-a-b", code="1", seed=3), {"value": "third"}, {})
    found = {record.result["value"]: record.revision for record in ledger.records("run")}
    assert found == {codes[-1]: len(codes), "other": 1, "third": 1}
    assert len(ledger.records(superseded=True)) == len(codes) + 2
    assert ledger.records("policy") == []
    ledger.write(task(code=codes[0], seed=1), {"value": "again"}, {})
    assert {record.result["value"] for record in ledger.records("run")} >= {"again"}


def test_processes_that_write_at_once_get_revisions_of_their_own(tmp_path):
    def write(code):
        Ledger(tmp_path).write(task(code=str(code)), {"value": code}, {})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    found = [record.revision for record in Ledger(tmp_path).records(superseded=True)]
    assert sorted(found) == list(range(1, 25))


def test_a_damaged_record_keeps_no_other_from_being_written(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(task(code="1"), {}, {})
    (path,) = tmp_path.glob("records/run/*.json")
    path.write_text("{")
    assert ledger.write(task(code="2"), {}, {}).revision == 1


def test_settings_are_noted(tmp_path):
    ledger = Ledger(tmp_path)
    assert ledger.settings() == {}
    ledger.write_settings("tune", {"problems": ["tsp"], "trials": 3})
    (tmp_path / "studies" / "other.json").write_text("[]")
    assert ledger.settings() == {"tune": {"problems": ["tsp"], "trials": 3}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "not JSON"),
        (lambda text: text.replace("1.5", "1.75"), "does not match its checksum"),
        (lambda text: text.replace('"version":3', '"version":4', 1), "record version 4 is not"),
        (lambda text: text.replace('"version":3', '"version":1', 1), "version 1.*remove the file"),
        (lambda text: text.replace("lagco-record", "other"), "not a record"),
        (lambda text: text.replace('"revision":1', '"revision":7'), "does not match its checksum"),
        (lambda text: "[]", "not a record"),
        (lambda text: "[" * 100_000, "not JSON"),
        (lambda text: json.dumps(json.loads(text) | {"measured": 3}), "measured: is 3"),
        (lambda text: text.replace("1.5", "1e999"), "too large for a number"),
    ],
)
def test_damaged_records_are_named(tmp_path, change, message):
    ledger = Ledger(tmp_path)
    ledger.write(task(), {"value": 1.5}, {})
    (path,) = tmp_path.glob("records/run/*.json")
    path.write_text(change(path.read_text()))
    with pytest.raises(LagcoError, match=message) as caught:
        ledger.records()
    assert str(path) in str(caught.value)


def test_numbers():
    assert significant(0.123456789) == 0.123457
    assert significant(1234567.0) == 1234570.0
    assert [significant(v) for v in (None, float("nan"), float("inf"))] == [None] * 3
