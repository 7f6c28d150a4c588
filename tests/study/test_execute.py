"""Execution of plans: waves, failures, dead workers, status."""

from __future__ import annotations

import pytest

from lagco.errors import LagcoError
from lagco.study import tasks
from lagco.study.planning.estimate import status_of
from lagco.study.records.ledger import Ledger
from lagco.study.running.code import code_version
from lagco.study.running.engines import WorkerLost, engine_of
from lagco.study.running.execute import execute
from lagco.study.task import Plan, Task


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
                claim = ledger.claims.take(item.task.claim)
                path = claim._path
                claim._done.set()
                path.write_text(path.read_text().replace('"born": "', '"born": "0'))
                raise WorkerLost("killed")
            yield function(item)


def do(context):
    """Twice the number, plus what the tasks before it found."""
    if context.spec["number"] < 0:
        raise ValueError("negative")
    before = [context.ledger.find("toy", key).result["value"] for key in context.task.needs]
    return {"value": 2 * context.spec["number"] + sum(before)}, {"noise": id(context)}


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    monkeypatch.setitem(tasks.KINDS, "toy", __name__)


def toy(number, *needs):
    spec = {
        "problem": "tsp",
        "number": number,
        "code": code_version("tsp", ("lagco.commands.generate",)),
    }
    return Task("toy", f"toy{number}", spec, tuple(task.key for task in needs))


def test_tasks_wait_for_what_they_need(tmp_path):
    ledger = Ledger(tmp_path)
    first, second = toy(1), toy(2)
    third = toy(3, first, second)
    seen = []
    assert execute(ledger, [third, first, second], Inline(), seen.append) == []
    assert ledger.get(third).result == {"value": 12}
    assert (seen[-1].done, seen[-1].total) == (3, 3)
    before = ledger.get(first).measured
    assert execute(ledger, [third, first, second], Inline()) == []
    assert ledger.get(first).measured == before  # nothing is done twice


def test_a_failure_concerns_what_needs_it_alone(tmp_path):
    ledger = Ledger(tmp_path)
    bad, good = toy(-1), toy(1)
    after = toy(2, bad)
    assert execute(ledger, [bad, good, after], Inline()) == [bad, after]
    assert ledger.has(good)
    failure = ledger.failure(bad)
    assert failure["error"] == "ValueError: negative"
    assert "Traceback" in failure["traceback"] and failure["attempts"] == 1
    execute(ledger, [bad], Inline())
    assert ledger.failure(bad)["attempts"] == 2
    found = status_of(ledger, Plan([bad, good, after]))
    assert (found.done, found.waiting, found.total) == (1, 1, 3)
    assert found.failed == [{"name": "toy-1", "error": "ValueError: negative"}]


def test_a_dead_worker_is_survived(tmp_path):
    ledger = Ledger(tmp_path)
    assert execute(ledger, [toy(1), toy(2)], Deadly("toy1", 2)) == []
    assert len(ledger.records()) == 2


def test_a_task_that_kills_its_workers_is_given_up(tmp_path):
    ledger = Ledger(tmp_path)
    assert execute(ledger, [toy(1), toy(2)], Deadly("toy1", 99)) == [toy(1)]
    assert "3 worker processes died over it" in ledger.failure(toy(1))["error"]
    assert ledger.has(toy(2))


def test_other_code_is_refused(tmp_path):
    ledger = Ledger(tmp_path)
    spec = {
        "problem": "tsp",
        "number": 1,
        "code": {"version": "0", "method": None, "modules": [], "hash": "0" * 64},
    }
    assert execute(ledger, [Task("toy", "old", spec)], Inline())
    assert "other code" in ledger.failure(Task("toy", "old", spec))["error"]


def test_status_judges_time_by_what_is_closest(tmp_path):
    ledger = Ledger(tmp_path)
    spec = {"code": {}, "problem": "tsp"}
    listed = [Task("run", f"{m}{i}", {**spec, "method": m, "i": i}) for m in "ab" for i in range(3)]
    plan = Plan(listed)
    assert status_of(ledger, plan).seconds_left is None
    ledger.write(listed[0], {}, {"seconds": 10.0})
    ledger.write(listed[3], {}, {"seconds": 100.0})
    assert status_of(ledger, plan).seconds_left == pytest.approx(2 * 10 + 2 * 100)
    assert status_of(ledger, plan, workers=2).seconds_left == pytest.approx(110)
    claim = ledger.claims.take(listed[1].claim)
    running = status_of(ledger, plan).running
    assert [entry["name"] for entry in running] == ["a1"]
    claim.release()
    waiting = status_of(ledger, Plan(listed, {"run": 3}))
    assert (waiting.waiting, waiting.total) == (4 + 3, 6 + 3)


def test_engines_by_name():
    assert engine_of("local", 3).workers == 3
    for arguments, message in (
        (("rai",), "did you mean 'ray'"),
        (("local", 0), "at least 1"),
        (("local", 1, "auto"), "is for --engine ray"),
    ):
        with pytest.raises(LagcoError, match=message):
            engine_of(*arguments)
