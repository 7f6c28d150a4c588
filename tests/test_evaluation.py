"""Evaluation: seeds, scales, best of several, summaries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.agents.agent import Agent
from lagco.agents.shipped import default_agent
from lagco.commands.evaluate import episode_seeds, evaluate, solver_evaluation
from lagco.commands.generate import generate_instance
from lagco.errors import UnknownName, UsageError
from lagco.instances import References
from lagco.problems import problem_class
from lagco.results.statistics import bootstrap_interval, interquartile_mean


@pytest.fixture(scope="module")
def instances():
    return [
        generate_instance("tsp", size=9, index=i, references=("sweeps", "solver"), sweeps=50)
        for i in range(4)
    ]


def test_the_papers_test_seeds():
    assert episode_seeds(6) == [42, 100, 123, 200, 400, 500]
    assert episode_seeds(2) == [42, 100]


def test_unfinished_tours_are_not_completed_in_every_step(instances, monkeypatch):
    cls, values = problem_class("tsp"), []
    objective = cls.objective
    monkeypatch.setattr(cls, "objective", lambda env: values.append(objective(env)) or values[-1])
    plain = evaluate("greedy", [replace(instances[0], references=References())], episodes=1)
    assert len(values) < 5
    (episode,) = plain.results[0].episodes
    assert episode.episode_return == pytest.approx((values[0] - values[-1]) / values[0])


def test_scores_agree_with_the_references(instances):
    evaluation = evaluate("greedy", instances, episodes=3)
    for result, instance in zip(evaluation.results, instances, strict=True):
        sweeps, solver = instance.references.sweeps, instance.references.solver
        for episode in result.episodes:
            expected = (sweeps.worst - episode.objective) / (sweeps.worst - sweeps.best)
            assert episode.score == pytest.approx(expected)
            expected = (sweeps.worst - episode.objective) / (sweeps.worst - solver.value)
            assert episode.solver_score == pytest.approx(expected)
            assert episode.gap == pytest.approx(100 * (episode.objective / solver.value - 1))
            assert episode.gap >= -1e-9
        assert result.best("gap") == min(episode.gap for episode in result.episodes)
        assert result.best("score") == max(episode.score for episode in result.episodes)
        assert result.first("score") == result.episodes[0].score


def test_evaluation_repeats_exactly(instances):
    assert evaluate("random", instances).as_dict() == evaluate("random", instances).as_dict()


def test_greedy_beats_random_and_the_solver_beats_both(instances):
    scores = [
        e.summary()["solver_score/best"].iqm
        for e in (
            evaluate("random", instances),
            evaluate("greedy", instances),
            solver_evaluation(instances),
        )
    ]
    assert scores == sorted(scores)
    assert scores[-1] == pytest.approx(1.0)
    assert scores[0] < scores[1]


def test_without_references_there_are_objectives_only():
    evaluation = evaluate("random", [generate_instance("max-cut", size=6)], episodes=2)
    assert evaluation.summary()["score/best"] is None
    assert evaluation.results[0].episodes[0].objective > 0
    assert solver_evaluation([generate_instance("max-cut", size=6)]) is None


class FirstValid:
    """A policy of one's own, without a name."""

    def act(self, env, rng, explore=True):
        return env.valid_actions()[0]


def test_a_policy_of_ones_own_needs_no_name(instances):
    assert evaluate(FirstValid(), instances, episodes=1).policy == "FirstValid"
    named = FirstValid()
    named.name = "first"
    assert evaluate(named, instances, episodes=1).policy == "first"
    for wrong in (FirstValid, object(), 3):
        with pytest.raises(UsageError, match=r"act\(env, rng, explore\) or predict\(obs"):
            evaluate(wrong, instances)
    with pytest.raises(UsageError, match="FirstValid does not decode points"):
        evaluate(FirstValid(), instances, decoder="preview")


class Cover(problem_class("min-vertex")):
    """A problem of a user's own."""

    name = "cover"


def test_an_agent_brings_its_problem():
    shipped = default_agent("min-vertex")
    agent = Agent(Cover, shipped.method, shipped.weights, shipped.description, shipped.space)
    instance = replace(generate_instance("min-vertex", size=10), problem="cover")
    evaluation = evaluate(agent, [instance], episodes=1)
    assert evaluation.problem == "cover" and evaluation.results[0].episodes[0].feasible
    with pytest.raises(UsageError, match="problem='tsp': the agent decides on 'cover'"):
        evaluate(agent, [instance], problem="tsp")


def test_the_agent_that_comes_with_lagco_is_called_default(instances, tmp_path):
    found = evaluate("default", instances, episodes=1)
    assert found == evaluate(default_agent("tsp"), instances, episodes=1)
    assert found.policy == "taught-projection"
    with pytest.raises(UnknownName, match="default agent"):
        evaluate("default", [replace(instances[0], problem="mine")], problem=Mine, episodes=1)


class Mine(problem_class("tsp")):
    name = "mine"


def test_mistakes_are_named(instances):
    with pytest.raises(UnknownName, match="unknown policy 'gredy': did you mean 'greedy'"):
        evaluate("gredy", instances)
    with pytest.raises(UsageError, match="episodes=0"):
        evaluate("greedy", instances, episodes=0)
    with pytest.raises(UsageError, match="no instance"):
        evaluate("greedy", [])


def test_a_file_cannot_name_code_to_import(tmp_path):
    stranger = lagco.instances.Instance("os:system", "stranger", 1, {})
    with pytest.raises(lagco.errors.LagcoError, match="not one of lagco's; say which class"):
        evaluate("random", [stranger])


def test_interquartile_mean_cuts_a_quarter_at_each_end():
    assert interquartile_mean([0, 1, 2, 3, 4, 5, 6, 100]) == pytest.approx(3.5)
    assert interquartile_mean([1, 2, 3]) == pytest.approx(2.0)


def test_bootstrap_interval_covers_the_truth():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(60):
        low, high = bootstrap_interval(rng.normal(size=40), np.mean, resamples=400, seed=trial)
        covered += low <= 0.0 <= high
    assert covered >= 50
