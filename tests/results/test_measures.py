"""Gaps, and which of several episodes count."""

from __future__ import annotations

import math

import pytest

from lagco.commands.generate import generate_instance
from lagco.core.problem import Problem
from lagco.problems import problem_class
from lagco.results.measures import MEASURES, gap, improvement, maximised, selected, worst


def test_gaps_are_in_percent_of_the_reference():
    assert gap(110.0, 100.0, maximise=False) == pytest.approx(10.0)
    assert gap(110.0, 100.0, maximise=True) == pytest.approx(-10.0)
    assert gap(-90.0, -100.0, maximise=False) == pytest.approx(10.0)
    assert gap(0.0, 0.0, maximise=False) == 0.0
    assert gap(1.0, 0.0, maximise=False) is None
    assert improvement(3.0, 2.0, maximise=True) == 1.0 == improvement(2.0, 3.0, maximise=False)


@pytest.mark.parametrize("maximise", [False, True])
def test_no_gap_is_a_plain_zero(maximise):
    assert str(gap(44.0, 44.0, maximise=maximise)) == "0.0"


def test_a_problem_measures_by_the_same_gap():
    instance = generate_instance("tsp", size=7, references=("sweeps", "solver"), sweeps=10)
    env: Problem = problem_class("tsp")(instance)
    env.reset(seed=0)
    best = instance.references.solver.value
    assert env.gap(1.5 * best) == gap(1.5 * best, best, maximise=False) == pytest.approx(50.0)


def test_first_best_and_all():
    values = [None, 2.0, 5.0]
    assert selected(values, "first", maximise=True) == []
    assert selected(values, "best", maximise=True) == [5.0]
    assert selected(values, "best", maximise=False) == [2.0]
    assert selected(values, "all", maximise=True) == [2.0, 5.0]
    assert selected([], "best", maximise=True) == []


def test_every_measure_has_a_worst_value():
    assert [worst(m) for m in MEASURES] == [0.0, 0.0, 0.0, 0.0, math.inf]
    assert [maximised(m) for m in MEASURES] == [True, True, True, True, False]
