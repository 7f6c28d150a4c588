"""What answers say and do at the edges: ties without weights, no time, faults that are mended."""

import time
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import lagco
from lagco.core.changes import FIXED
from lagco.errors import UsageError
from lagco.instances import read
from lagco.policies import plain_policy
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from lagco.problems.tsp import TSP
from lagco.rollout import SideBySide
from lagco.runtime.stopping import stopping
from lagco.solving.answer import Trade
from lagco.solving.changes.trade_off import trade_off
from lagco.solving.episodes import Episodes
from lagco.solving.options import SolveOptions
from lagco.solving.portfolio import Found, Limit, Record, Task
from lagco.solving.request import Request


@pytest.fixture(scope="module")
def islands(tmp_path_factory):
    return read(lagco.sample("archipelago", tmp_path_factory.mktemp("islands")), "ospf")


@pytest.fixture
def metro(tmp_path):
    topology = lagco.sample("metro", tmp_path)
    return read(topology, "ospf", demands=topology.with_name("metro-morning.csv"))


def test_weights_that_gain_nothing_over_unit_weights_are_unit_weights(islands):
    answer = lagco.solve(islands, turns=4, progress=False)
    ones = np.ones(islands.size, dtype=np.int64)
    assert answer.objective == OSPF.evaluate_solution(islands, ones)
    assert answer.by == "default start"
    assert np.array_equal(answer.solution, ones)


def test_an_incumbent_is_searched_from_even_if_the_time_is_over(metro, monkeypatch):
    monkeypatch.setattr("lagco.solving.instance._LEAST", 60.0)  # which one turn never takes
    answer = lagco.solve(metro, by="solver", since=time.perf_counter() - 10.0, progress=False)
    assert sum(answer.shares.values()) > 0.0
    assert answer.objective < answer.before


def test_a_trade_off_takes_no_turns_after_the_time(metro, monkeypatch):
    limit = Limit(1.0, clock=lambda: 0.0, since=-5.0)
    record = Record(OSPF, limit, judge=None)
    task = Task(OSPF, metro, record, limit, 1)
    solution = metro.array("weights")
    record.best = Found(OSPF.evaluate_solution(metro, solution), solution, "incumbent")
    record.verdict = lagco.core.changes.judge(OSPF, metro, solution)
    monkeypatch.setattr(Request, "members", lambda *_: pytest.fail("nobody has time"))
    assert [trade.changes for trade in trade_off(task, Request(), limit, lambda: False)] == [0]


def test_what_the_incumbent_broke_is_named(tmp_path):
    cities = TSP.generate(8, seed=3)
    instance = TSP.with_present(cities, np.arange(8))
    names = TSP.element_names(instance)
    assert "1-2" in names
    given = replace(instance, arrays={**instance.arrays, "fixed_edges": np.array([[0], [4]])})
    answer = lagco.solve(given, by="solver", turns=4, progress=False)
    assert any("not allowed before, mended" in note and "1-5" in note for note in answer.notes)
    kept = replace(instance, arrays={**instance.arrays, FIXED: np.ones(8, dtype=np.int8)})
    assert not lagco.solve(kept, by="solver", turns=2, progress=False).notes


def test_failures_that_are_neither_links_nor_a_table_are_refused(metro):
    with pytest.raises(UsageError, match="failures='link': give links, or a table"):
        lagco.solve(metro, failures="link", turns=1, progress=False)


def test_greedy_ends_its_look_with_the_time():
    env = Traffic(Traffic.generate(8, seed=1), start="default")
    env.reset(seed=1)
    chunks = np.array_split(env.valid_actions(), 3)
    env.valid_chunks = lambda: iter(chunks)
    looked = []

    def preview(actions):
        looked.append(len(actions))
        return np.zeros(len(actions))

    env.preview = preview
    greedy, rng = plain_policy("greedy"), np.random.default_rng(0)
    with stopping() as stop:
        greedy.act(env, rng)
        assert len(looked) == 3
        looked.clear()
        stop.flag[0] = 1
        assert greedy.act(env, rng) is not None
        assert len(looked) == 1


def test_episodes_begin_no_step_that_would_come_too_late(metro, monkeypatch):
    now = [0.0]
    limit = Limit(10.0, since=0.0, clock=lambda: now[0])
    record = Record(OSPF, limit)
    task = Task(OSPF, metro, record, limit, 1)
    episodes = Request(SolveOptions(by="greedy")).episodes(task, alone=True)
    assert isinstance(episodes, Episodes)
    for _ in range(4):  # loads the policy, and takes steps
        assert episodes.turn()
    assert record.best is not None
    step = SideBySide.step

    def slow(running):
        now[0] += 4.0
        return step(running)

    monkeypatch.setattr(SideBySide, "step", slow)
    turns = 0
    while episodes.ready() and turns < 10:
        episodes.turn()
        turns += 1
    assert limit.elapsed() == 8.0  # a third step would end after 12 seconds


def test_labels_of_a_trade_off_do_not_overlap(islands):
    answer = lagco.solve(islands, turns=2, progress=False)
    trades = tuple(Trade(n, 14.0 - n, answer.solution) for n in (0, 1, 2, 3, 40))
    figure = Figure()
    axes = figure.subplots()
    replace(answer, trade_off=trades)._draw_trade_off(axes)
    assert [label.get_text() for label in axes.texts] == ["14", "12", "-26"]
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
