"""A plain environment goes everywhere that a problem goes."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO

import lagco
from examples.facility import Facility
from lagco.bench.decisions import bench_latency
from lagco.core.adapter import EnvProblem
from lagco.core.data import instances_from
from lagco.core.hooks import kebab
from lagco.errors import UsageError
from lagco.problems import problem_class
from tests.core.toy import IndependentSet
from tests.mistaken import Unranked
from tests.study.small import InProcess

METHODS = (
    "p-discrete",
    "p-discrete-m",
    "g-discrete",
    "g-discrete-m",
    "iterative",
    "projection",
    "soft-projection",
)
BRIEF = lagco.embedding.PretrainConfig(max_steps=3, states=16)


@pytest.fixture(scope="module")
def encoder():
    return lagco.pretrain(Facility, seeds=range(3), training=BRIEF, progress=False)


@pytest.fixture
def facility():
    cls = problem_class(Facility)
    return cls(cls.instance_of(3))


# -- the class


def test_the_same_source_gives_the_same_class():
    assert problem_class(Facility) is problem_class(Facility)
    assert problem_class("examples.facility:Facility") is problem_class(Facility)
    assert problem_class(Facility).name == "facility"


def test_names_in_files():
    assert [kebab(n) for n in ("FacilityLocation", "TSPEnv", "Env2D", "my_env")] == [
        "facility-location",
        "tsp-env",
        "env2-d",
        "my-env",
    ]
    named = type("Named", (Facility,), {"name": "served"})
    assert problem_class(named).name == "served"


def test_a_name_of_lagco_is_refused():
    with pytest.raises(UsageError, match="'tsp'.*another name"):
        problem_class(type("Tsp", (Facility,), {}))


def test_instances_are_what_reset_is_called_with():
    cls = problem_class(Facility)
    several = instances_from(cls, [{"clients": 9}, {"clients": np.int64(12)}])
    assert [dict(i.params) for i in several] == [
        {"seed": 0, "options": {"clients": 9}},
        {"seed": 1, "options": {"clients": 12}},
    ]
    assert [i.size for i in several] == [12, 16]
    crossed = instances_from(cls, {"clients": 9}, seeds=(4, 5))
    assert [i.params["seed"] for i in crossed] == [4, 5]
    assert crossed[0].checksum != crossed[1].checksum
    assert instances_from(cls, None, seeds=np.int64(4))[0].params["seed"] == 4


def test_what_is_no_data_is_said():
    cls, tsp = problem_class(Facility), problem_class("tsp")
    with pytest.raises(UsageError, match="not with instances"):
        instances_from(cls, iter([{"clients": 9}]), seeds=[1])
    mixed = [tsp.generate(6), problem_class("max-cut").generate(6)]
    with pytest.raises(UsageError, match=r"data\[0\] is for 'tsp' and data\[1\] for 'max-cut'"):
        instances_from(tsp, mixed)


# -- the episode


def test_rewards_and_actions_are_the_environment_s(facility):
    env = Facility()
    env.reset(seed=3)
    facility.reset(seed=99)  # the instance has its own seed
    rng = np.random.default_rng(0)
    total, ended = 0.0, False
    while not ended:
        action = env.sample_valid_action(rng)
        _, reward, ended, _, _ = env.step(action)
        _, same, over, _, info = facility.step(action)
        assert same == pytest.approx(reward)
        assert over == ended
        total += reward
        assert info["objective"] == pytest.approx(total)
    assert info["score"] is None
    assert info["feasible"] and info["reason"] == "complete"
    assert facility.best_objective == pytest.approx(total)
    assert type(facility).evaluate_solution(
        facility.instance, facility.solution()
    ) == pytest.approx(total)


def test_an_unfinished_episode_is_no_solution(facility):
    facility.reset(seed=0)
    facility.step(facility.sample_valid_action(np.random.default_rng(0)))
    assert facility.best_objective is None


@pytest.mark.parametrize("action", [[0, 4], [12, 0], [-1, 0]])
def test_what_is_outside_the_action_space_is_invalid(facility, action):
    facility.reset(seed=0)
    assert not facility.is_valid_action(np.array(action))


def test_an_invalid_action_leaves_the_state_and_costs(facility):
    facility.reset(seed=0)
    facility.step(np.array([2, 1]))
    _, reward, ended, _, _ = facility.step(np.array([2, 1]))
    assert reward == pytest.approx(-10 / facility.episode_length)
    assert not ended
    assert facility.solution().tolist() == [[2, 1]]


class Endless(IndependentSet):
    """Never ends by itself, and nothing is ever used up."""

    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        self.picked[:] = 0
        return observation, reward, False, False, info


class Blocked(IndependentSet):
    """Has no valid action after two, without saying that it is over."""

    def is_valid_action(self, action):
        return self.picked.sum() < 2 and super().is_valid_action(action)

    def sample_valid_action(self):
        valid = [v for v in range(self.n) if self.is_valid_action(v)]
        return int(valid[self.np_random.integers(len(valid))]) if valid else None

    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


def _ending(source):
    cls = problem_class(source)
    env = cls(cls.instance_of(0))
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for step in range(1, 2001):
        _, _, terminated, truncated, info = env.step(env.sample_valid_action(rng))
        if terminated or truncated:
            return step, info["reason"], info["feasible"]
    return None


def test_endless_episodes_are_cut():
    assert _ending(Endless) == (1000, "episode length", True)


def test_a_dead_end_ends_the_episode():
    assert _ending(Blocked) == (2, "no valid action", True)


def test_a_wrapped_environment_keeps_its_time_limit():
    assert _ending(partial(_limited, 7)) == (7, "truncated", True)


def _limited(steps):
    return gym.wrappers.TimeLimit(Endless(), steps)


def test_sampling_leaves_the_environment_s_own_stream():
    env = IndependentSet()
    env.reset(seed=0)
    before = env.np_random.bit_generator.state["state"]
    first = lagco.core.env.draw_valid_action(env, np.random.default_rng(5))
    assert env.np_random.bit_generator.state["state"] == before
    assert first == lagco.core.env.draw_valid_action(env, np.random.default_rng(5))


# -- everywhere


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_is_saved_and_evaluated(method, encoder, tmp_path):
    brief = {} if method == "iterative" else {"rollout": 128, "envs": 2}
    given = None if method.startswith("p-") else encoder
    options = [{"clients": 6}, {"clients": 9}]
    agent = lagco.train(
        Facility, options, tmp_path / "agent", encoder=given, method=method, steps=256, **brief
    )
    found = lagco.evaluate(agent, [{"clients": 6}, {"clients": 15}], episodes=2)
    small, large = found.results
    assert small.measures == ("episode_return",)
    assert all(episode.episode_return < 0 for episode in small.episodes)
    assert (large.refused is not None) == agent.method.padded
    loaded = lagco.load(tmp_path / "agent", Facility)
    again = lagco.evaluate(loaded, [{"clients": 6}], episodes=2)
    assert again.results[0].episodes == small.episodes


def test_a_folder_of_another_s_environment_imports_nothing(encoder, tmp_path):
    lagco.train(Facility, seeds=[0], out=tmp_path / "a", encoder=encoder, steps=64, rollout=64,
                envs=1)  # fmt: skip
    with pytest.raises(lagco.errors.LagcoError, match="'facility'.*problem='module:Class'"):
        lagco.load(tmp_path / "a")


def test_embed_bench_and_solve(encoder):
    assert lagco.embed(Facility, seeds=range(2), encoder=encoder)["actions"] <= 48
    [record] = bench_latency(problem_class(Facility), [9], decisions=5)
    assert record["decision_us"] > 0
    answer = lagco.solve(5, problem=Facility, by="random", seconds=0.2)
    assert answer.valid and answer.gap is None and answer.score is None
    assert answer.solution.shape == (12, 2)


def test_a_latent_space_is_saved_and_loaded(encoder, tmp_path):
    env = Facility()
    space = lagco.latent.space.LatentSpace.fit(encoder, [env], states=8)
    space.save(tmp_path)
    latent = lagco.wrap(Facility(), lagco.latent.space.LatentSpace.load(tmp_path))
    observation, _ = latent.reset(seed=1)
    same, _ = lagco.wrap(Facility(), space).reset(seed=1)
    np.testing.assert_array_equal(observation, same)


def test_plain_sb3_learns_on_a_wrapped_environment(encoder):
    model = PPO("MlpPolicy", lagco.wrap(Facility(), encoder), n_steps=32, batch_size=32)
    model.learn(64)
    assert model.num_timesteps == 64


def test_a_data_set_of_seeds(tmp_path):
    data = lagco.generate(Facility, seeds=[7, 9], options={"clients": 6}, out=tmp_path)
    assert [dict(i.params) for i in data] == [
        {"seed": s, "options": {"clients": 6}} for s in (7, 9)
    ]
    assert lagco.generate(Facility, seeds=[7, 9], options={"clients": 6}, out=tmp_path).checksum
    with pytest.raises(lagco.errors.InstanceError, match="another data set"):
        lagco.generate(Facility, seeds=[7, 8], options={"clients": 6}, out=tmp_path)


def test_sizes_need_the_option_that_sets_them(tmp_path):
    plain = type("Plain", (Facility,), {"size_option": None})
    with pytest.raises(UsageError, match="size=9: Plain.*size_option"):
        lagco.generate(plain, 1, sizes=9, out=tmp_path / "plain")
    assert lagco.generate(Facility, 1, sizes=9, out=tmp_path / "f")[0].size == 12


def test_a_study_of_an_environment_shows_returns(tmp_path):
    ledger = lagco.study.generalization(
        tmp_path,
        preset="tiny",
        problems=("examples.facility:Facility",),
        methods=("p-discrete-m",),
        strategies=("small",),
        steps=(128,),
        instances=5,
        episodes=1,
        config={"rollout": 64, "envs": 2, "epochs": 1},
        engine=InProcess(),
        progress=False,
    )
    rows = lagco.study.generalization_table(ledger)
    shown = {row["method"]: row["episode_return/best"] for row in rows}
    assert shown["p-discrete-m"]["count"] == 4 and shown["random"]["count"] == 5
    assert all(row["score/best"] is None for row in rows)
    assert shown["annealing"] is None, "it has no solutions to change"


# -- the example


def test_the_example_is_short():
    lines = Path(sys.modules[Facility.__module__].__file__).read_text().splitlines()
    assert len(lines) <= 100


def test_the_example_passes_the_check():
    assert lagco.check("examples.facility:Facility", episodes=1) == []


def test_it_learns_and_is_far_better_than_random_on_instances_ten_times_larger(encoder, tmp_path):
    """Random opens every site; what is learned on 12 clients opens few on 120."""
    agent = lagco.train(
        Facility, seeds=range(50), out=tmp_path / "agent", encoder=encoder, method="soft-projection",
        steps=8192, seed=1,
    )  # fmt: skip
    larger = instances_from(problem_class(Facility), {"clients": 120}, seeds=(1000, 1001))
    means = {}
    for policy in ("random", agent):
        found = lagco.evaluate(policy, larger, problem=Facility, episodes=1)
        means[getattr(policy, "name", policy)] = np.mean(found.values("episode_return"))
    assert means["soft-projection"] > 0.8 * means["random"]  # costs: closer to 0 is better


def test_an_adapted_class_says_what_it_is():
    assert issubclass(problem_class(Facility), EnvProblem)
    assert problem_class(Facility).maximise
    assert not hasattr(problem_class(Unranked), "preview")
    assert hasattr(problem_class(Facility), "preview")


class Previewed(Facility):
    def preview(self, actions):
        return -np.arange(len(actions), dtype=float)


def test_an_answer_is_finished_however_little_time_there_is():
    answer = lagco.solve({"clients": 40}, problem=Previewed, seconds=1e-6)
    assert answer.valid
    assert answer.by == "search"


class Brief(IndependentSet):
    """An environment that ends after three steps, though more could be done."""

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.steps += 1
        observation, reward, _, _, info = super().step(action)
        return observation, reward, self.steps == 3, False, info

    def is_valid_action(self, action):
        return not self.picked[action]

    def free(self, node):
        return not self.picked[node]


def test_an_answer_takes_no_action_after_the_end_of_an_episode():
    make = partial(Brief, n=12)
    answer = lagco.solve(
        3, problem=make, by="random", search="reconstruct", turns=40, progress=False
    )
    assert len(answer.solution) == 3
    assert answer.valid
    env = problem_class(make)(answer.instance)
    env.reset(options={"start": answer.solution})
    with pytest.raises(lagco.errors.ResetNeeded, match="the episode is over"):
        env.step(env.sample_valid_action())
