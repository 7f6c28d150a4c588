"""Replays: deterministic with turns, resumable, never worse than to hold, late answers counted."""

import time

import numpy as np
import pytest

import lagco
from lagco.core.changes import judge
from lagco.core.events import Event
from lagco.errors import InstanceError, UsageError
from lagco.instances.timelines import Timeline, write_timeline
from lagco.live import LiveResult, Situation
from lagco.live.records import RECORDS
from lagco.problems.max_cut import MaxCut
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic

NETWORK = OSPF.generate(8, seed=4)
DAY = OSPF.draw_timeline(NETWORK, seed=1, until=1500.0, failures=0.3)
ALL = "hold,greedy,solver,agent,portfolio"


def replayed(timeline=DAY, controllers=ALL, turns=4, max_changes=2, **options):
    return lagco.live(
        timeline,
        controllers=controllers,
        turns=turns,
        max_changes=max_changes,
        progress=False,
        **options,
    )


@pytest.mark.parametrize("problem", [OSPF, Traffic, MaxCut])
def test_controllers_keep_to_the_budget_and_are_never_worse_than_to_hold(problem):
    instance = problem.generate(8, seed=4)
    timeline = problem.draw_timeline(instance, seed=1, until=900.0)
    result = replayed(timeline)
    sign = -1.0 if problem.maximise else 1.0
    assert {record.by for record in result.records} == set(ALL.split(","))
    for record in result.records:
        assert record.changes <= 2
        assert sign * record.after <= sign * record.before
        assert bool(record.rows) == (record.changes > 0)
    means = {row.by: row.mean for row in result.table()}
    assert all(sign * means[by] < sign * means["hold"] for by in ("greedy", "solver", "agent"))


def test_replays_with_turns_are_equal_to_the_bit(tmp_path):
    for folder in ("one", "two"):
        replayed(out=tmp_path / folder, rounds=3)
    first, second = ((tmp_path / folder / RECORDS).read_bytes() for folder in ("one", "two"))
    assert first == second
    assert (tmp_path / "one" / "run.json").read_text() == (
        tmp_path / "two" / "run.json"
    ).read_text()


@pytest.mark.parametrize("stop_after", [1, 7, 12])
def test_a_replay_that_was_stopped_goes_on_and_ends_equal(tmp_path, stop_after):
    count = 0

    def stop(decision):
        nonlocal count
        count += 1
        if count == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replayed(out=tmp_path / "stopped", rounds=3, on_decision=stop)
    records = tmp_path / "stopped" / RECORDS
    records.write_bytes(records.read_bytes() + b'{"round": 1, "ti')  # killed within a line
    whole = replayed(out=tmp_path / "whole", rounds=3)
    resumed = replayed(out=tmp_path / "stopped", rounds=3)
    assert records.read_bytes() == (tmp_path / "whole" / RECORDS).read_bytes()
    assert resumed.records == whole.records
    again = LiveResult.read(tmp_path / "stopped")
    assert again.records == whole.records
    assert (tmp_path / "stopped" / "table.csv").exists()
    assert (tmp_path / "stopped" / "day.png").exists()


def test_a_folder_of_another_replay_is_left_alone(tmp_path):
    replayed(controllers="hold", out=tmp_path)
    before = (tmp_path / RECORDS).read_bytes()
    with pytest.raises(UsageError, match="holds a replay with max_changes=2, not 3"):
        replayed(controllers="hold", out=tmp_path, max_changes=3)
    assert (tmp_path / RECORDS).read_bytes() == before


class Scripted:
    """Says what a test wants."""

    name = "scripted"

    def __init__(self, answer):
        self.answer = answer
        self.situations = []

    def decide(self, situation: Situation):
        self.situations.append(situation)
        return self.answer(situation)


def worst(situation):
    """The change of a single link that makes it worst."""
    best, value = None, -np.inf
    for link in range(situation.instance.size):
        weights = np.array(situation.incumbent)
        weights[link] = 5 if weights[link] < 5 else 1
        found = judge(situation.cls, situation.instance, weights).objective
        if found > value:
            best, value = weights, found
    return best


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (worst, "no better than to hold"),
        (lambda s: np.ones(3), "not a configuration of the instance"),
        (lambda s: 6 - np.array(s.incumbent), "changes, at most 2 allowed"),
        (lambda s: np.array(s.incumbent), ""),
        (lambda s: None, ""),
    ],
)
def test_answers_that_are_no_good_change_nothing(answer, reason):
    result = replayed(controllers=[Scripted(answer)])
    for record in result.records:
        assert record.after == record.before
        assert record.rows == ()
        assert reason in record.refused
    assert result.table()[0].refused == (len(result.records) if reason else 0)


def test_controllers_see_the_configuration_in_force_and_the_budget():
    def raised(situation):
        weights = np.array(situation.incumbent)
        weights[situation.number] += 1
        return weights

    controller = Scripted(raised)
    result = replayed(controllers=[controller])
    in_force = np.ones(NETWORK.size)
    for situation, record in zip(controller.situations, result.records, strict=True):
        assert situation.max_changes == 2
        if len(situation.incumbent) != len(in_force):
            break  # a link has failed
        np.testing.assert_array_equal(situation.incumbent, in_force)
        in_force = record.apply_to(in_force)


def slow(situation):
    if situation.number % 2 == 0 and situation.limit.timed:
        time.sleep(1.0)
    return


def test_late_answers_count_as_to_hold_and_are_counted():
    result = lagco.live(
        DAY, controllers=[Scripted(slow)], deadline="300ms", rounds=3, progress=False
    )
    assert [record.late for record in result.records] == [True, False, True]
    row = result.table()[0]
    assert row.late == 2
    assert row.slowest >= 299.0
    assert all(record.after == record.before for record in result.records)


def busy(situation):
    ended = time.process_time() + 0.4
    while situation.number == 1 and situation.limit.timed and time.process_time() < ended:
        pass


@pytest.mark.parametrize(("decide", "late"), [(slow, [False] * 3), (busy, [False, True, False])])
def test_a_deadline_may_count_processor_time_alone(decide, late):
    result = lagco.live(
        DAY,
        controllers=[Scripted(decide)],
        deadline="300ms",
        clock="processor",
        rounds=3,
        progress=False,
    )
    assert [record.late for record in result.records] == late
    searched = lagco.live(
        DAY, controllers="solver", deadline="50ms", clock="processor", rounds=2, progress=False
    )
    assert searched.of("solver")[0].changes


def test_processor_time_goes_with_deadlines_alone():
    with pytest.raises(UsageError, match="turns"):
        lagco.live(DAY, turns=3, clock="processor")


def failing(situation):
    raise InstanceError("too large for me")


def test_a_controller_that_gives_up_is_told_of_and_the_replay_goes_on():
    result = replayed(controllers=["hold", Scripted(failing)])
    assert {r.refused for r in result.of("scripted")} == {"too large for me"}
    assert len(result.of("hold")) == len(result.of("scripted"))


def test_decisions_on_the_previous_events_are_judged_on_the_next():
    now = replayed(controllers="hold,greedy")
    later = replayed(controllers="hold,greedy", decide_on="previous")
    assert now.records == later.records
    records = later.of("greedy")
    times, values = later.course("greedy")
    assert times.tolist() == [record.time for record in records[1:]]
    assert values.tolist() == [record.before for record in records[1:]]
    assert now.course("greedy")[1].tolist() == [record.after for record in records]


def test_regret_is_measured_against_hindsight():
    result = replayed(controllers="hold,greedy", hindsight="1s")
    assert result.controllers == ["hold", "greedy"]
    assert len(result.of("hindsight")) == len(result.of("hold"))
    assert all(row.regret >= 0.0 for row in result.table())


def test_events_that_cannot_happen_are_named_with_their_line(tmp_path):
    names = [str(v + 1) for v in range(8)]
    moments = [(0.0, Event("node-down", node=names[0])), (5.0, Event("node-down", node=names[0]))]
    write_timeline(Timeline.of(NETWORK, moments), tmp_path / "t.jsonl")
    with pytest.raises(InstanceError, match=r"t.jsonl, line 3: .*the node '1' is down already"):
        replayed(tmp_path / "t.jsonl", controllers="hold", out=tmp_path / "run")
    assert len(LiveResult.read(tmp_path / "run").records) == 1  # what was decided is kept


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controllers": "hold,greddy"}, "did you mean 'greedy'"),
        ({"controllers": "hold,hold"}, "two are called 'hold'"),
        ({"controllers": ","}, "name at least one"),
        ({"deadline": "20ms"}, "give turns=4 or a deadline"),
        ({"turns": None, "deadline": "fast"}, "deadline='fast': give a time such as 20ms"),
        ({"decide_on": "next"}, "decide_on"),
        ({"max_changes": -1}, "give 0 or more"),
        ({"rounds": 0}, "give a positive number"),
        ({"series": "x.tgz"}, "the source is a timeline"),
        ({"colour": 1}, "unknown option 'colour'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        replayed(**{"controllers": "hold", **options})


def test_an_instance_alone_is_not_enough_and_problems_without_configurations_are_named():
    with pytest.raises(UsageError, match="give series=, synthetic="):
        replayed(NETWORK)


def test_a_synthetic_day_from_an_instance():
    result = replayed(NETWORK, controllers="hold", synthetic=600.0)
    assert [record.time for record in result.records] == [0.0, 300.0, 600.0]
    assert "generator" in result.settings["origin"]
