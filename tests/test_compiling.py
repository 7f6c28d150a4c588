"""What compiling takes does not count as time of a search."""

from time import perf_counter

import pytest
from numba import njit
from numba.core import event

import lagco
from lagco.problems import problem_class
from lagco.problems.tsp import TSP
from lagco.runtime import compiling
from lagco.runtime.compiling import working_time
from lagco.solving.portfolio import Limit


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when it is told to: ``clock[0] += seconds``."""
    now, own = [perf_counter()], compiling.Compilations()
    monkeypatch.setattr(compiling, "perf_counter", lambda: now[0])
    usual = compiling.compilations
    monkeypatch.setattr(compiling, "compilations", own)
    event.unregister("numba:compile", usual)
    with event.install_listener("numba:compile", own):
        yield now
    event.register("numba:compile", usual)


def compile_for(clock, seconds):
    with event.trigger_event("numba:compile"):
        clock[0] += seconds / 2
        with event.trigger_event("numba:compile"):  # a function within another
            clock[0] += seconds / 2


def test_the_clock_stands_still_while_code_is_compiled(clock):
    began = working_time()
    compile_for(clock, 100.0)
    assert working_time() == began
    clock[0] += 3.0
    with event.trigger_event("numba:compile"):
        clock[0] += 10.0
        assert working_time() == pytest.approx(began + 3.0)


def test_a_moment_before_has_the_time_of_then(clock):
    before, began = clock[0], working_time()
    clock[0] += 1.0
    compile_for(clock, 100.0)
    assert working_time(before) == began
    assert working_time(before + 51.0) == pytest.approx(began + 1.0)


def test_limits_do_not_count_it(clock):
    limit = Limit(2.0)
    compile_for(clock, 100.0)
    assert limit.left() == pytest.approx(2.0)
    clock[0] += 2.5
    assert limit.over()


def test_numba_tells_when_it_compiles():
    @njit
    def total(values):
        found = 0.0
        for value in values:
            found += value
        return found

    before = compiling.compilations.until(perf_counter())
    began = perf_counter()
    assert total((1.0, 2.0)) == 3.0
    took = perf_counter() - began
    gained = compiling.compilations.until(perf_counter()) - before
    assert 0.0 < gained <= took
    assert total((1.0, 2.0)) == 3.0
    assert compiling.compilations.until(perf_counter()) - before == gained


def test_answers_say_how_long_code_was_compiled(monkeypatch):
    improve, instance = TSP.improve, problem_class("tsp").generate(8)

    def compiled(*given, **named):
        with event.trigger_event("numba:compile"):
            end = perf_counter() + 0.05
            while perf_counter() < end:
                pass
        return improve(*given, **named)

    monkeypatch.setattr(TSP, "improve", staticmethod(compiled))
    answer = lagco.solve(instance, by="solver", turns=2, progress=False)
    assert answer.compiling >= 0.05
    assert answer.as_dict()["compiling"] == round(answer.compiling, 3)
