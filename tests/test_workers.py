"""Several processes that look for solutions of one instance."""

import multiprocessing
import pickle
import subprocess
import sys

import pytest

import lagco
from lagco.errors import UsageError
from lagco.problems import problem_class
from lagco.solving.portfolio import Limit, Record, Task
from lagco.solving.request import Request
from lagco.solving.workers import Crew


def test_turns_decide_alone_however_many_processes_there_are():
    instance = problem_class("max-cut").generate(40)
    first, again = (lagco.solve(instance, workers=2, turns=12) for _ in range(2))
    assert first.solution.tolist() == again.solution.tolist()
    assert first.by == again.by
    assert first.shares == again.shares
    assert sum(first.shares.values()) == 24
    assert first.episodes == again.episodes


def test_several_are_no_worse_than_the_first_of_them():
    instance = problem_class("tsp").generate(80)
    alone = lagco.solve(instance, by="solver", turns=4)
    both = lagco.solve(instance, by="solver", turns=4, workers=3)
    assert both.valid
    assert both.objective <= alone.objective


def test_whoever_fails_in_another_process_is_noted(monkeypatch):
    def broken(name, instance):
        raise lagco.errors.LagcoError("the bundle is damaged")

    monkeypatch.setattr("lagco.agents.shipped.default_agent", broken)
    answer = lagco.solve(problem_class("max-cut").generate(12), workers=2, turns=12)
    assert answer.valid
    assert answer.notes == ("the bundle is damaged",)


def test_an_interruption_stops_all_and_keeps_the_best():
    def stop(found):
        raise KeyboardInterrupt

    instance = problem_class("max-cut").generate(60)
    before = set(multiprocessing.active_children())  # of other tests
    answer = lagco.solve(instance, workers=2, seconds=1e6, on_improvement=stop)
    assert answer.interrupted
    assert answer.valid
    for process in set(multiprocessing.active_children()) - before:
        process.join(600)
    assert set(multiprocessing.active_children()) <= before


def test_an_interruption_while_another_is_dealt_with_keeps_the_best(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Crew, "listen", interrupted)
    answer = lagco.solve(problem_class("max-cut").generate(20), turns=3, progress=False)
    assert answer.interrupted
    assert answer.valid


def test_no_process_at_all_is_refused():
    with pytest.raises(UsageError, match="workers=0"):
        lagco.solve(problem_class("tsp").generate(8), workers=0)


def test_a_task_can_be_sent_to_a_process_that_shares_no_memory():
    cls = problem_class("tsp")
    limit = Limit(turns=3)
    task = Task(cls, cls.generate(8), Record(cls, limit).apart(limit), limit, 5)
    sent = pickle.loads(pickle.dumps((Request(), task)))
    assert sent[0] == Request()
    assert sent[1].instance.name == task.instance.name


@pytest.mark.skipif(sys.platform == "win32", reason="a killed process has no signal there")
def test_no_process_outlives_one_that_is_killed():
    script = (
        "import lagco; from lagco.problems import problem_class\n"
        "instance = problem_class('max-cut').generate(60)\n"
        "lagco.solve(instance, workers=3, seconds=1e6, progress=False,\n"
        "            on_improvement=lambda found: print('found', flush=True))"
    )
    killed = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert killed.stdout is not None
    assert killed.stdout.readline() == b"found\n"
    killed.kill()
    killed.communicate(timeout=300)  # to the end of all that could write there
