"""Learning from own episodes: starts, advantages, plans that are not shown, files, resuming."""

import numpy as np
import pytest

import lagco
from lagco.agents.agent import Agent
from lagco.agents.learning.own_episodes import advantages_of
from lagco.agents.teaching.teachers import GreedyTeacher, first_teacher, make_teacher
from lagco.agents.training.trainer import train
from lagco.commands.generate import generate_instance
from lagco.errors import UsageError
from lagco.latent.candidates import SeenColumns, candidate_features, with_suggestions
from lagco.problems import problem_class
from lagco.problems.ospf.env import OSPF
from lagco.rollout import Episode
from tests.agents.runs import instances
from tests.agents.test_trainer import Interrupt
from tests.latent.conftest import brief_encoder, brief_space

SHORT = {
    "method": "taught-projection",
    "teacher": "self",
    "features": "unplanned",
    "steps": 1024,
    "rollout": 256,
    "envs": 4,
    "seed": 5,
    "k": 6,
    "batch_size": 64,
    "ranker_width": 16,
    "ranker_layers": 1,
    "stop_at_best": False,
}


class Unforeseen(OSPF):
    """Has no preview."""

    preview = None


def own(folder, name="ospf", problem=None, **changes):
    encoder = brief_encoder(name)
    return train(problem or name, instances(name), folder, encoder=encoder, **(SHORT | changes))


def test_advantages_are_weighted_sums_of_what_was_not_expected():
    rng = np.random.default_rng(0)
    rewards, values, gamma, decay = rng.normal(size=7), rng.normal(size=7), 0.9, 0.8
    later = np.append(values[1:], 0.0)
    errors = rewards + gamma * later - values
    expected = [sum((gamma * decay) ** (s - t) * errors[s] for s in range(t, 7)) for t in range(7)]
    np.testing.assert_allclose(advantages_of(rewards, values, gamma, decay), expected)


def test_with_a_decay_of_1_they_are_returns_less_what_was_expected():
    found = advantages_of(np.array([0.0, 0.0, 8.0]), np.array([1.0, 2.0, 3.0]), 0.5, 1.0)
    np.testing.assert_allclose(found, [2.0 - 1.0, 4.0 - 2.0, 8.0 - 3.0])


def test_it_begins_with_the_best_preview():
    assert isinstance(first_teacher(OSPF), GreedyTeacher)
    assert not len(first_teacher(Unforeseen).actions(OSPF(instances("ospf")[0])))


def test_only_an_agent_in_training_teaches_itself(tmp_path):
    with pytest.raises(UsageError, match="teaches itself"):
        make_teacher("self", OSPF)
    with pytest.raises(UsageError, match="teaches itself"):
        lagco.demonstrate("ospf", instances("ospf")[:1], tmp_path / "shown", teacher="self")


@pytest.mark.parametrize("name", ["ospf", "placement", "max-cut"])
def test_without_plans_none_is_made_or_seen(name, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a plan was made")

    for module in ("ospf.env", "max_cut.env", "placement.foresight.survey"):
        monkeypatch.setattr(f"lagco.problems.{module}.episode_plan", refuse)
    cls = problem_class(name)
    env = cls(instances(name)[2], features="unplanned")
    env.reset(seed=3)
    view = brief_space(name, "unplanned").view(env)
    view.refresh()
    proto = np.zeros(view.space.scale.width, np.float32)
    found = view.nearest(proto, 8, "inner")
    assert len(with_suggestions(view, proto, found).indices) == len(found.indices)
    each = candidate_features(view, found, None).each
    names = SeenColumns.of(cls, "unplanned").each
    for column in ("planned", "against_plan", "plan_distance"):
        if column in names:
            assert not each[:, names.index(column)].any()


def test_all_environments_play_the_start_of_one():
    from lagco.agents.training.latent_env import CandidateVecEnv
    from lagco.latent.decoder import Decoder

    decoder = Decoder("nearest", 1, "inner")
    space = brief_space("ospf", "full")
    env = CandidateVecEnv(OSPF, instances("ospf"), space, decoder, envs=3, seed=1)
    env.reset()
    env.join(1)
    assert len({problem.instance.checksum for problem in env.problems}) == 1
    assert len({env.episode_seed(index) for index in range(3)}) == 1
    seen = env.observations()
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])


@pytest.mark.parametrize("name", ["ospf", "tsp"])
def test_an_agent_learns_without_a_teacher(name, tmp_path):
    agent = own(tmp_path / "agent", name)
    assert "ranker.mean" in agent.weights
    assert agent.description["facts"]["teacher"] == "self"
    loaded = lagco.load(tmp_path / "agent")
    assert isinstance(loaded, Agent)
    instance = generate_instance(name, size=9, index=7, references=["sweeps"], sweeps=20)
    assert loaded.solve(instance).objective == agent.solve(instance).objective


def test_it_learns_from_nothing_where_there_is_no_preview(tmp_path):
    agent = own(tmp_path / "agent", problem=Unforeseen)
    env = Unforeseen(instances("ospf")[0], features="unplanned")
    episode = Episode(env, 1, explore=False)
    before = env.objective()
    episode.run(agent)
    assert env.best_objective <= before


def test_an_interrupted_run_ends_with_the_same_weights(tmp_path):
    whole = own(tmp_path / "whole", steps=1280)
    with pytest.raises(KeyboardInterrupt):
        own(tmp_path / "parts", steps=1280, callbacks=Interrupt(1000))
    parts = own(tmp_path / "parts", steps=1280)
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(array, parts.weights[name])


def test_weights_follow_from_the_seed(tmp_path):
    first, second = (own(tmp_path / name, steps=768) for name in "ab")
    for name, array in first.weights.items():
        np.testing.assert_array_equal(array, second.weights[name])
