"""Evaluations: refusals, infeasible results, seen and unseen instances."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from lagco.cli.answers.evaluate import print_instances, print_refusals, print_scores
from lagco.commands.evaluate import evaluate, solver_evaluation
from lagco.commands.generate import generate_instance
from lagco.errors import TooLarge
from lagco.policies import GreedyPolicy
from lagco.results.evaluation import Evaluation, InstanceResult, by_training
from lagco.results.statistics import interquartile_mean, summarise, train_test_gap


@pytest.fixture(scope="module")
def instances():
    return [
        generate_instance("tsp", size=n, index=n, references=("sweeps", "solver"), sweeps=20)
        for n in (6, 7, 8, 9)
    ]


class Padded(GreedyPolicy):
    """Refuses what is larger than seven cities; trained on the first instance."""

    name = "padded"

    def __init__(self, trained_on=()):
        self.trained_on = frozenset(trained_on)

    def act(self, env, rng, explore=True):
        if env.instance.size > 7:
            raise TooLarge(f"{env.instance.name}: {env.instance.size} cities, room for 7")
        return super().act(env, rng, explore)


class Stuck:
    """Goes nowhere: chooses the city that it is in."""

    def act(self, env, rng, explore=True):
        return int(np.flatnonzero(~env.action_mask())[0])


@pytest.fixture(scope="module")
def evaluations(instances):
    policies = (Padded([instances[0].checksum]), "greedy", Stuck())
    return [evaluate(policy, instances, episodes=2) for policy in policies]


def test_refused_instances_count_as_worst(evaluations):
    padded, greedy, _ = evaluations
    assert (padded.refused, greedy.refused) == (2, 0)
    assert padded.values("score")[:2] == greedy.values("score")[:2]
    assert padded.values("score")[2:] == [0.0, 0.0]
    assert padded.values("gap")[2:] == [math.inf, math.inf]
    for evaluation in evaluations:  # whatever was refused, the same instances
        assert all(entry.count == 4 for entry in evaluation.summary().values())
    assert padded.summary()["score/best"].mean < greedy.summary()["score/best"].mean
    assert padded.summary()["gap/best"].iqm == math.inf


def test_a_policy_that_finds_no_solution_is_counted(evaluations):
    stuck = evaluations[2]
    assert (stuck.policy, stuck.infeasible, stuck.refused) == ("Stuck", 4, 0)
    assert stuck.values("score") == [0.0] * 4
    assert stuck.values("gap", "first") == [math.inf] * 4
    assert evaluations[1].infeasible == 0


def test_without_a_reference_a_refusal_counts_in_the_return_alone():
    bare = generate_instance("tsp", size=9)
    evaluation = evaluate(Padded(), [bare])
    assert evaluation.refused == 1
    summary = evaluation.summary()
    returns = [summary.pop(f"episode_return/{which}") for which in ("first", "best")]
    assert not any(summary.values())
    for entry in returns:
        assert (entry.count, entry.mean, entry.p16, entry.p84) == (1, *[-math.inf] * 3)
        assert entry.mean_interval == entry.iqm_interval == (-math.inf, -math.inf)


def test_seen_and_unseen_are_apart_and_over_the_same_instances(evaluations, instances):
    parts = by_training(evaluations)
    names = {p: [[r.instance for r in e.results] for e in part] for p, part in parts.items()}
    assert names["seen"] == [[instances[0].name]] * 3
    assert names["unseen"] == [[i.name for i in instances[1:]]] * 3
    assert set(by_training(evaluations[1:])) == {"unseen"}
    padded = evaluations[0]
    assert padded.summary(seen=True)["score/best"].count == 1
    assert padded.summary(seen=False)["score/best"].count == 3
    expected = interquartile_mean(padded.values("score")[1:]) - padded.values("score")[0]
    assert padded.train_test_gap("score") == pytest.approx(expected)
    assert evaluations[1].train_test_gap("score") is None


def test_tables_mark_refusals_and_keep_seen_instances_apart(evaluations, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    print_scores(("tsp, ", ", here"), evaluations, 2, agents=True)
    print_refusals(evaluations)
    text = capsys.readouterr().out
    unseen, seen = text.split("tsp, 1 seen instance, here")
    rows = {row.split()[1]: row for row in unseen.splitlines() if row.count("│") > 3}
    assert "tsp, 3 unseen instances, here" in unseen
    assert "1/3" in rows["padded"] and "inf" in rows["padded"]
    assert "3/3" in rows["greedy"] and "inf" not in rows["greedy"]
    assert rows["Stuck"].count("3/3") == 2  # decided on all, and found no solution of any
    assert "1/1" in seen
    assert "counts as score 0, gap infinite" in text
    assert "padded refused 2 of 4 instances: tsp-42-0008: 8 cities, room for 7" in text


def test_a_refused_instance_makes_a_return_as_low_as_can_be(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    refused = InstanceResult("a", 8, "0", (), ("episode_return",), False, "too large")
    print_scores(("roads, ", ""), [Evaluation("padded", "roads", (refused,))], 2, agents=False)
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if "padded" in line)
    assert row.count("-inf") == row.count("inf") == 4  # first, best, and its interval
    assert "counts as return -inf" in text


def test_every_instance_has_its_rows(evaluations, instances, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    print_instances(("tsp, ", ", here"), evaluations, 2, maximise=False)
    text = capsys.readouterr().out
    assert all(text.count(instance.name) == 3 for instance in instances)
    assert text.count("refused") == 2
    assert sum("│ seen" in row for row in text.splitlines()[3:]) == 1
    assert text.count("0/2") == 4


def test_json_has_everything_and_no_infinity(evaluations):
    found = json.loads(json.dumps(evaluations[0].as_dict(), allow_nan=False))
    assert (found["refused"], found["infeasible"]) == (2, 0)
    assert found["seen"]["score/best"]["count"] == 1
    assert found["unseen"]["score/best"]["count"] == 3
    assert found["summary"]["gap/best"]["iqm"] is None
    assert found["train_test_gap"]["score"] is not None
    assert [row["seen"] for row in found["instances"]] == [True, False, False, False]
    assert found["instances"][2]["refused"].startswith("tsp-42-0008: 8 cities")


def test_the_best_of_objectives_depends_on_the_problem(evaluations):
    result = evaluations[1].results[0]
    objectives = [episode.objective for episode in result.episodes]
    assert result.best("objective", maximise=True) == max(objectives)
    assert result.best("objective", maximise=False) == min(objectives)


def test_the_solver_is_evaluated_like_a_policy(instances):
    solver = solver_evaluation(instances)
    assert isinstance(solver, Evaluation) and isinstance(solver.results[0], InstanceResult)
    assert solver.values("gap") == [0.0] * 4
    assert solver.values("solver_score") == pytest.approx([1.0] * 4)


def test_infinite_values_are_summed_up_without_warnings(recwarn):
    summary = summarise([1.0, 2.0, 3.0, math.inf])
    assert (summary.iqm, summary.mean) == (2.5, math.inf)
    assert summary.iqm_interval[1] == math.inf and not math.isnan(summary.iqm_interval[0])
    assert summary.shapiro_p is None
    assert not recwarn.list


def test_the_train_test_gap_needs_both_sides():
    assert train_test_gap([1.0, 3.0], [0.5]) == 1.5
    assert train_test_gap([], [0.5]) is None
    assert train_test_gap([1.0], []) is None
