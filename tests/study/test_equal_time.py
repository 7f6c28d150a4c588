"""The searches that get an agent's time, by a clock that counts how often it is asked."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.problems import problem_class
from lagco.study.running import equal_time


@pytest.fixture
def counted(monkeypatch):
    """A second is a thousand looks at the clock."""
    count = itertools.count()
    monkeypatch.setattr(equal_time.time, "perf_counter", lambda: next(count) * 1e-3)


def annealed(name, seconds, size=8):
    instance = generate_instance(name, size=size, references=["sweeps"], sweeps=20)
    cls = problem_class(name)
    return equal_time.annealed_value(cls, instance, seconds), instance


@pytest.mark.parametrize("name", ["tsp", "min-vertex", "max-cut"])
def test_annealing_finds_better_solutions_in_more_time(counted, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "simanneal", None)  # it is needed no more
    sign = -1.0 if problem_class(name).maximise else 1.0
    brief, _ = annealed(name, 0.05)
    longer, _ = annealed(name, 4.0)
    assert sign * longer <= sign * brief
    assert np.isfinite(brief)
    assert name != "tsp" or longer < brief


def test_annealing_is_determined_by_its_moves(counted):
    assert annealed("tsp", 0.5)[0] == annealed("tsp", 0.5)[0]


def test_a_worse_state_is_taken_while_it_is_hot(monkeypatch):
    """The rule of Metropolis: by chance, at a temperature that falls to a thousandth."""
    search = object.__new__(equal_time._Annealing)
    search._until, search._hottest = np.inf, 1.0
    search._accept = equal_time.random.Random(1)
    taken = []

    def moved(state):
        taken.append(state.energy)
        return equal_time._State(state.solution, state.energy + 0.5)

    search._moved = moved
    best = search._cooled(equal_time._State(np.zeros(1), 0.0), 1000)
    assert best.energy == 0.0
    rises = np.flatnonzero(np.diff(taken))
    assert len(rises) > 50 and rises.max() < 900
    assert (rises < 300).sum() > 2 * (rises >= 300).sum()
