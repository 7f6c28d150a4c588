"""Progress: lines at a steady pace where there is no terminal, nothing where it is not wanted."""

from __future__ import annotations

import errno
import inspect
import sys
import threading

import pytest

import lagco
from lagco.problems import problem_class
from lagco.runtime.progress import Progress, silence


class Lines:
    """A log that says when a line with the awaited words came."""

    def __init__(self, awaited=""):
        self.lines, self.awaited, self.came = [], awaited, threading.Event()

    def write(self, text):
        self.lines.append(text)
        if self.awaited in text:
            self.came.set()

    def flush(self):
        pass

    def isatty(self):
        return False


def test_lines_come_at_a_pace_without_a_terminal(monkeypatch):
    log = Lines("work: 3 of 10, going well, after ")
    monkeypatch.setattr("sys.stderr", log)
    with Progress("work", 10, pace=0.01) as shown:
        shown.update(3, text="going well")
        assert log.came.wait(600)


@pytest.mark.parametrize("silent", [True, False])
def test_nothing_is_shown_where_it_is_not_wanted(monkeypatch, silent):
    log = Lines()
    monkeypatch.setattr("sys.stderr", log)
    silence(silent)
    try:
        before = set(threading.enumerate())  # some of other tests may be about to end
        with Progress("work", 10, show=silent, pace=0.001) as shown:
            assert list(shown.over("abc")) == ["a", "b", "c"]
            assert set(threading.enumerate()) <= before
    finally:
        silence(False)
    assert not log.lines


def test_work_goes_on_where_the_terminal_is_gone(monkeypatch):
    class Gone(Lines):
        encoding = "utf-8"

        def write(self, text):
            raise OSError(errno.EIO, "Input/output error")

        def isatty(self):
            return True

    printed = sys.stdout
    monkeypatch.setattr("sys.stderr", Gone())
    with Progress("work", 10) as shown:
        for _ in shown.over(range(10)):
            shown.say("going well")
    assert sys.stdout is printed


def test_solving_tells_the_best_so_far(monkeypatch):
    said = []
    monkeypatch.setattr(Progress, "say", lambda self, text: said.append(text))
    instance = problem_class("tsp").generate(8)
    answer = lagco.solve(instance, by="solver", turns=2)
    assert len(said) == len(answer.curve)
    assert said[-1].startswith(f"best {answer.objective:.6g} by solver")


@pytest.mark.parametrize("name", ["generate", "pretrain", "embed", "train", "evaluate", "solve"])
def test_every_function_that_may_take_long_has_the_same_option(name):
    parameter = inspect.signature(getattr(lagco, name)).parameters["progress"]
    assert parameter.default is True
    assert "run_study" in dir(lagco.study)
    assert inspect.signature(lagco.study.run_study).parameters["progress"].default is True


def test_embed_says_what_it_does(monkeypatch):
    """It takes long after its pre-training, too."""
    said = []

    class Recorded(Progress):
        def update(self, done, total=None, text=""):
            said.append((self._name, done))
            super().update(done, total, text)

        def say(self, text):
            said.append((self._name, text))
            super().say(text)

    monkeypatch.setattr("lagco.commands.pretrain.Progress", Recorded)
    tsp = problem_class("tsp")
    instances = [tsp.generate(6, index=index) for index in range(2)]
    lagco.embed("tsp", instances, agent="default", progress=False)
    assert said == [("action spaces of tsp", part) for part in ("measuring", 0, 1)]
