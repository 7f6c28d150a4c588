"""Stochastic problems: the course of events is drawn anew, and means over the draws count."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from typer.testing import CliRunner

import lagco
from examples.admission import REQUESTS, Admission
from examples.depots import Depots
from lagco.cli import app
from lagco.core.adapter import adapted
from lagco.errors import SpecError, UsageError
from lagco.heuristics import Search
from lagco.results.measures import counted
from lagco.study.tasks.data import data_task

BY_NAME = "examples.admission:Admission"


def played(instance, seed):
    """Capacities, and the prices that arrive, in an episode that rejects everything."""
    env = adapted(Admission)(instance)
    env.reset(seed=seed)
    core, prices = env._core, []
    capacities = core.free.tolist()
    for _ in range(10):
        env.step(len(core.free))
        prices.append(core.price)
    return capacities, prices


def test_episodes_of_an_instance_share_the_instance_and_nothing_else():
    instance = adapted(Admission).instance_of(5)
    capacities, prices = played(instance, 1)
    assert played(instance, 1) == (capacities, prices), "the same seed, the same events"
    again, others = played(instance, 2)
    assert again == capacities
    assert not set(prices) & set(others)
    assert played(adapted(Admission).instance_of(6), 1)[0] != capacities


def test_a_deterministic_environment_keeps_its_draws():
    class Replayed(Admission):
        stochastic = False

    cls = adapted(Replayed)
    found = []
    for seed in (1, 2):
        env = cls(cls.instance_of(5))
        env.reset(seed=seed)
        env.step(len(env._core.free))
        found.append(env._core.price)
    assert found[0] == found[1]


def test_the_example_passes_the_check():
    assert lagco.check(BY_NAME, episodes=1, max_steps=20) == []


def test_the_mean_over_fresh_draws_counts():
    found = lagco.evaluate("greedy", seeds=[0, 1, 2], problem=Admission, episodes=4, progress=False)
    assert found.stochastic
    summary = found.summary()
    assert {key.rpartition("/")[2] for key in summary} == {"mean"}
    returns = [[e.episode_return for e in result.episodes] for result in found.results]
    assert all(len(set(row)) == 4 for row in returns), "every episode has its own events"
    assert len({e.seed for result in found.results for e in result.episodes}) == 12
    assert summary["episode_return/mean"].mean == pytest.approx(np.mean(returns))
    assert found.values("episode_return") == pytest.approx(np.mean(returns, axis=1).tolist())
    assert all(e.steps == REQUESTS for result in found.results for e in result.episodes)
    assert found.facts()["episode_return/mean"] == f"{np.mean(returns):.4g}"
    assert found.as_dict()["stochastic"]
    best = max(max(row) for row in returns)
    assert summary["episode_return/mean"].mean < best


def test_the_interval_of_one_instance_is_over_its_draws():
    options = {"problem": Admission, "progress": False}
    found = lagco.evaluate("greedy", seeds=[0], episodes=6, **options)
    summary = found.summary()["episode_return/mean"]
    low, high = summary.mean_interval
    assert low < summary.mean < high and summary.count == 6


def test_policies_take_their_mode_and_meet_the_same_events():
    class Noting:
        explored = ()

        def act(self, env, rng, explore=True):
            self.explored = (*self.explored, explore)
            self.prices = (*getattr(self, "prices", ()), env._core.price)
            return len(env._core.free)

    first, second = Noting(), Noting()
    for policy in (first, second):
        lagco.evaluate(policy, seeds=[3], problem=Admission, episodes=2, progress=False)
    assert not any(first.explored)
    assert first.prices == second.prices


def test_the_command_shows_means(tmp_path):
    lagco.generate(Admission, seeds=[1, 2], out=tmp_path / "data", progress=False)
    words = ["evaluate", "--data", str(tmp_path / "data"), "--problem", BY_NAME]
    words += ["--policy", "greedy", "--episodes", "2"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "return: mean of 2" in shown.output and "best of" not in shown.output
    as_json = CliRunner().invoke(app, [*words, "--json"])
    [found] = json.loads(as_json.stdout)
    assert list(found["summary"]["episode_return/mean"]) and found["stochastic"]


def test_what_would_pick_the_best_draw_is_refused():
    with pytest.raises(UsageError, match="admission is stochastic.*compare policies by evaluate"):
        lagco.solve(3, problem=Admission, seconds=1)
    with pytest.raises(UsageError, match="a search would see what happens before it does"):
        Search(adapted(Admission)(adapted(Admission).instance_of(0)))
    with pytest.raises(UsageError, match="is stochastic, and studies compare the best"):
        data_task(BY_NAME, 3)


def test_a_problem_with_instances_may_be_stochastic():
    class Failing(Depots):
        """Every opened depot may fail to open."""

        stochastic = True

        def _apply(self, action):
            if self.np_random.random() < 0.5:
                super()._apply(action)

    data = [Depots.generate(16, index=i) for i in range(2)]
    found = lagco.evaluate("greedy", data, problem=Failing, episodes=5, progress=False)
    assert any(len({e.steps for e in result.episodes}) > 1 for result in found.results)


def test_instances_that_were_not_solved_count_in_means():
    assert counted([1.0, None], "score", "mean") == [0.5]
    assert counted([3.0, 1.0], "score", "mean") == [2.0]
    assert counted([], "score", "mean") == [0.0]


def test_rejecting_is_an_ordinary_action():
    env = Admission()
    env.reset(seed=0)
    n = len(env.free)
    assert env.action_space == gym.spaces.Discrete(n + 1)
    env.view.set_node("able", slice(0, n), 0)
    assert env.valid_actions().tolist() == [n]
    assert env.step(n)[1] == 0.0


class Endless(Admission):
    """Requests that never end, of which 30 count."""

    horizon = 30

    def step(self, action):
        seen, reward, _, _, info = super().step(action)
        return seen, reward, False, False, info


def test_tasks_without_an_end_are_measured_by_the_average_reward_over_their_horizon():
    found = lagco.evaluate("greedy", seeds=[3], problem=Endless, episodes=2, progress=False)
    (result,) = found.results
    assert found.endless
    assert [episode.steps for episode in result.episodes] == [30, 30]
    for episode in result.episodes:
        assert episode.episode_return == pytest.approx(episode.objective / 30)


@pytest.mark.parametrize("wrong", [0, 1.5, True, "long"])
def test_a_horizon_that_is_no_number_of_steps_is_refused(wrong):
    kind = type("Wrong", (Admission,), {"horizon": wrong})
    with pytest.raises(SpecError, match=r"Wrong.horizon is .*; give a number of steps"):
        adapted(kind)
