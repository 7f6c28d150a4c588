"""Carrying out plans: waves, failures, dead workers, status."""

from __future__ import annotations

import pytest

from lagco.errors import LagcoError
from lagco.study import work
from lagco.study.code import code_version
from lagco.study.driver import carry_out, status_of
from lagco.study.engines import WorkerLost, engine_of
from lagco.study.ledger import Ledger
from lagco.study.task import Task


class Inline:
    """Does everything in this process."""

    workers, children = 1, False

    def map(self, function, given):
        for item in given:
            yield function(item)

    def close(self):
        pass


class Deadly(Inline):
    """Its worker dies over one task, as often as told."""

    def __init__(self, name, times):
        self.name, self.times = name, times

    def map(self, function, given):
        for item in given:
            if item.task.name == self.name and self.times:
                self.times -= 1
                ledger = Ledger(item.root)
                claim = ledger.claims.take(f"{item.task.kind}-{item.task.file_name}")
                path = claim._path
                claim._done.set()
                path.write_text(path.read_text().replace('"born": "', '"born": "0'))
                raise WorkerLost("killed")
            yield function(item)


def double(context):
    """Twice the number, plus what the tasks before it found."""
    if context.spec["number"] < 0:
        raise ValueError("negative")
    before = [context.ledger.find("toy", key).result["value"] for key in context.task.needs]
    return {"value": 2 * context.spec["number"] + sum(before)}, {"noise": id(context)}


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    monkeypatch.setitem(work.KINDS, "toy", f"{__name__}:double")


def toy(number, *needs):
    spec = {"problem": "tsp", "number": number, "code": code_version("tsp")}
    return Task("toy", f"toy{number}", spec, tuple(task.key for task in needs))


def test_tasks_wait_for_what_they_need(tmp_path):
    ledger = Ledger(tmp_path)
    first, second = toy(1), toy(2)
    third = toy(3, first, second)
    seen = []
    assert carry_out(ledger, [third, first, second], Inline(), seen.append) == []
    assert ledger.get(third).result == {"value": 12}
    assert (seen[-1].done, seen[-1].total) == (3, 3)
    before = ledger.get(first).measured
    assert carry_out(ledger, [third, first, second], Inline()) == []
    assert ledger.get(first).measured == before  # nothing is done twice


def test_a_failure_concerns_what_needs_it_alone(tmp_path):
    ledger = Ledger(tmp_path)
    bad, good = toy(-1), toy(1)
    after = toy(2, bad)
    assert carry_out(ledger, [bad, good, after], Inline()) == [bad, after]
    assert ledger.has(good)
    failure = ledger.failure(bad)
    assert failure["error"] == "ValueError: negative"
    assert "Traceback" in failure["traceback"] and failure["attempts"] == 1
    carry_out(ledger, [bad], Inline())
    assert ledger.failure(bad)["attempts"] == 2
    found = status_of(ledger, [bad, good, after])
    assert (found.done, found.waiting, found.total) == (1, 1, 3)
    assert found.failed == [{"name": "toy-1", "error": "ValueError: negative"}]


def test_a_dead_worker_is_survived(tmp_path):
    ledger = Ledger(tmp_path)
    assert carry_out(ledger, [toy(1), toy(2)], Deadly("toy1", 2)) == []
    assert len(ledger.records()) == 2


def test_a_task_that_kills_its_workers_is_given_up(tmp_path):
    ledger = Ledger(tmp_path)
    assert carry_out(ledger, [toy(1), toy(2)], Deadly("toy1", 99)) == [toy(1)]
    assert "3 worker processes died over it" in ledger.failure(toy(1))["error"]
    assert ledger.has(toy(2))


def test_other_code_is_refused(tmp_path):
    ledger = Ledger(tmp_path)
    spec = {"problem": "tsp", "number": 1, "code": {"version": "0", "hash": "0" * 64}}
    assert carry_out(ledger, [Task("toy", "old", spec)], Inline())
    assert "other code" in ledger.failure(Task("toy", "old", spec))["error"]


def test_status_judges_time_by_what_is_closest(tmp_path):
    ledger = Ledger(tmp_path)
    spec = {"code": {}, "problem": "tsp"}
    tasks = [Task("run", f"{m}{i}", {**spec, "method": m, "i": i}) for m in "ab" for i in range(3)]
    assert status_of(ledger, tasks).seconds_left is None
    ledger.write(tasks[0], {}, {"seconds": 10.0})
    ledger.write(tasks[3], {}, {"seconds": 100.0})
    assert status_of(ledger, tasks).seconds_left == pytest.approx(2 * 10 + 2 * 100)
    assert status_of(ledger, tasks, workers=2).seconds_left == pytest.approx(110)
    claim = ledger.claims.take(f"run-{tasks[1].file_name}")
    running = status_of(ledger, tasks).running
    assert [entry["name"] for entry in running] == ["a1"]
    claim.release()


def test_engines_by_name():
    assert engine_of("local", 3).workers == 3
    for arguments, message in (
        (("rai",), "did you mean 'ray'"),
        (("local", 0), "at least 1"),
        (("local", 1, "auto"), "is for --engine ray"),
    ):
        with pytest.raises(LagcoError, match=message):
            engine_of(*arguments)
