"""Episodes: streams, states, traces, walks, and several side by side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lagco.agents.shipped import default_agent
from lagco.commands.evaluate import evaluate
from lagco.commands.generate import generate_instance
from lagco.latent.wrapper import wrap
from lagco.policies import GreedyPolicy, RandomPolicy
from lagco.problems import problem_class
from lagco.rollout import Episode, Planned, PolicyTeam, SideBySide, policy_stream, walk
from tests.core.toy import IndependentSet


@pytest.fixture(scope="module")
def instance():
    return generate_instance("max-cut", size=8, references=("sweeps",), sweeps=10)


@pytest.fixture
def env(instance):
    return problem_class("max-cut")(instance)


def state_of(rng):
    return rng.bit_generator.state["state"]["state"]


class Noting:
    """Random, but remembers the streams it found at the start of every episode."""

    def __init__(self):
        self.streams = []

    def act(self, env, rng, explore=True):
        if env._steps == 0:
            self.streams.append((state_of(env.np_random), state_of(rng)))
        return RandomPolicy().act(env, rng, explore)


# -- two streams


def test_policy_and_environment_draw_from_streams_of_their_own(instance):
    policy = Noting()
    evaluate(policy, [instance], episodes=5)
    assert len(policy.streams) == 5
    assert all(environment != own for environment, own in policy.streams)
    assert len(set(itertools.chain(*policy.streams))) == 10


def test_an_agents_episodes_and_a_wrapped_environment_keep_them_apart_too(instance, monkeypatch):
    agent, noting = default_agent("max-cut"), Noting()
    monkeypatch.setattr(agent, "act", noting.act)
    agent.solve(instance, episodes=3)
    assert len(set(itertools.chain(*noting.streams))) == 6
    wrapped = wrap(problem_class("max-cut")(instance), agent.space, decoder="sampled")
    wrapped.reset(seed=42)
    assert state_of(wrapped._rng) != state_of(wrapped.unwrapped.np_random)


def test_the_policys_stream_follows_from_the_seed(env):
    assert state_of(Episode(env, 3).rng) == state_of(policy_stream(3))
    assert state_of(policy_stream(3)) != state_of(policy_stream(4))
    given = np.random.default_rng(9)
    assert Episode(env, 3, rng=given).rng is given


# -- one episode


def test_states_are_those_in_which_something_is_decided(env):
    seen = []
    for episode in Episode(env, 1).states(RandomPolicy()):
        assert not episode.ended
        seen.append(len(episode.actions))
    assert seen == list(range(env.episode_length))
    assert episode.ended and episode.info["reason"] == "episode length"


def test_a_run_may_stop_on_the_way_and_go_on(env):
    whole = Episode(env, 1).run(RandomPolicy())
    episode = Episode(env, 1)
    assert len(episode.run(RandomPolicy(), 5).actions) == 5 and not episode.ended
    assert len(episode.run(RandomPolicy(), 5).actions) == 5  # so many in all
    assert episode.run(RandomPolicy()).actions == whole.actions and episode.ended
    assert len(Episode(env, 1).run(RandomPolicy(), 0).actions) == 0


def test_demonstrations_are_collected_along_somebody_elses_episode(env):
    teacher, pairs = GreedyPolicy(), []
    episode = Episode(env, 1)
    for _ in episode.states(RandomPolicy()):
        view = next(iter(env.graph_views().values())).copy()
        pairs.append((view, teacher.act(env, np.random.default_rng(0))))
        if len(pairs) == 4:  # a deadline, say
            break
    assert len(episode.actions) == 3
    assert episode.actions == Episode(env, 1).run(RandomPolicy(), 3).actions


def test_a_trace_leads_to_the_same_state(env, instance):
    episode = Episode(env, 5, start="default").run(RandomPolicy())
    final, best, best_objective = env.solution(), env.best_solution, env.best_objective
    assert 0 < episode.best_length < len(episode.actions)
    other = problem_class("max-cut")(instance)
    replayed = episode.trace().replay(other)
    assert replayed.ended and np.array_equal(other.solution(), final)
    assert replayed.info == episode.info
    replayed = episode.trace(best=True).replay(other)
    assert np.array_equal(other.solution(), best) and other.objective() == best_objective
    assert not replayed.ended


def test_an_episode_may_change_the_instance(env):
    larger = generate_instance("max-cut", size=11)
    assert len(Episode(env, 1, instance=larger).run(RandomPolicy()).actions) == 22
    assert env.instance is larger


def test_environments_that_are_no_problem_end_where_nothing_is_valid():
    env = IndependentSet()
    episode = Episode(env, 2).run(RandomPolicy())
    assert episode.ended and episode.info["score"] > 0
    stuck = Episode(env, 2)
    stuck.step(None)
    assert stuck.ended and stuck.actions == []


# -- walks


def test_a_walk_goes_on_from_episode_to_episode(env):
    rng = np.random.default_rng(0)
    steps = [len(e.actions) for e in itertools.islice(walk(env, RandomPolicy(), rng), 20)]
    assert steps == [*range(16), *range(4)]
    seeds = {e.seed for e in itertools.islice(walk(env, RandomPolicy(), rng), 40)}
    assert len(seeds) == 3


# -- side by side


def test_side_by_side_equals_one_after_another(instance):
    cls = problem_class("max-cut")
    envs = [cls(instance) for _ in range(3)]
    plan = [Planned(seed, explore=seed % 2 == 0) for seed in range(7)]
    together = list(SideBySide(envs, PolicyTeam(RandomPolicy(), envs), plan))
    assert sorted(episode.seed for episode in together) == list(range(7))
    for episode in together:
        alone = Episode(cls(instance), episode.seed).run(RandomPolicy())
        assert episode.actions == alone.actions and episode.info == alone.info
        assert episode.explore == (episode.seed % 2 == 0)
