"""Records: written whole, read with suspicion."""

from __future__ import annotations

import json

import pytest

from lagco.errors import LagcoError
from lagco.study import Ledger
from lagco.study.ledger import significant
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


def test_the_last_of_what_differs_in_circumstances_counts(tmp_path):
    ledger = Ledger(tmp_path)
    for code in "12":
        ledger.write(task(code=code, seed=1), {"value": code}, {})
    ledger.write(task(code="1", seed=2), {"value": "other"}, {})
    assert {record.result["value"] for record in ledger.records("run")} == {"2", "other"}
    assert len(ledger.records(superseded=True)) == 3
    assert ledger.records("policy") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "not JSON"),
        (lambda text: text.replace("1.5", "1.75"), "does not match its checksum"),
        (lambda text: text.replace('"version":2', '"version":3', 1), "record version 3 is not"),
        (lambda text: text.replace('"version":2', '"version":1', 1), "version 1.*remove the file"),
        (lambda text: text.replace("lagco-record", "other"), "not a record"),
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
