"""Plans of episodes: what they lead to, that rankers see them, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.shipped import default_agent
from lagco.commands.generate import generate_instance
from lagco.heuristics import EpisodePlan
from lagco.heuristics.hints import suggested_actions
from lagco.latent.decoder import Decoder
from lagco.problems import problem_class
from lagco.problems.max_cut import plan as max_cut_plan
from lagco.problems.ospf import plan as ospf_plan
from lagco.problems.placement.foresight import plan as placement_plan

NAMES = ["ospf", "placement", "max-cut"]


def environment(name, features="full", size=12):
    instance = generate_instance(name, seed=4, index=0, size=size, references=["sweeps"], sweeps=50)
    # from the worst weights a plan may be too far for the steps of an episode
    start = "worst" if name == "placement" else "default"
    return problem_class(name)(instance, features=features, start=start)


def follow(env):
    """Take suggested actions while there are any; how many."""
    count = 0
    while (found := suggested_actions(env)) is not None and len(found):
        assert env.are_valid_actions(found).all()
        _, _, terminated, truncated, _ = env.step(found[0])
        count += 1
        if terminated or truncated:
            break
    return count


def planned(env):
    """Configuration and objective of the episode's plan."""
    if env.name == "max-cut":
        plan = EpisodePlan.of(env)
        return plan.solution, plan.promised
    return env._survey.aim if env.name == "placement" else env._plan


def promised(env):
    return planned(env)[1]


def as_set(actions):
    return {tuple(np.atleast_1d(action).tolist()) for action in actions}


@pytest.mark.parametrize("name", NAMES)
def test_suggestions_lead_to_what_the_plan_promises(name):
    env = environment(name)
    reached = []
    for seed in range(4):
        env.reset(seed=seed)
        start = env.objective()
        assert follow(env) > 0
        assert (promised(env) - start) * (1 if env.maximise else -1) > 0
        reached.append(np.isclose(env.best_objective, promised(env)))
    assert any(reached)  # not all: rooms may be full, steps too few


@pytest.mark.parametrize("name", NAMES)
def test_the_search_advises_what_leads_to_the_plan(name):
    env = environment(name)
    env.reset(seed=1)
    assert as_set(suggested_actions(env)) <= as_set(env.advise())


@pytest.mark.parametrize("name", NAMES)
def test_asking_for_a_plan_changes_neither_views_nor_random_numbers(name):
    asked, other = environment(name), environment(name)
    for env in (asked, other):
        env.reset(seed=5)
    suggested_actions(asked)
    asked.candidate_features(asked.valid_actions()[:3])
    for _ in range(5):
        for view, plain in zip(
            asked.graph_views().values(), other.graph_views().values(), strict=True
        ):
            for column, array in view.nodes.items():
                np.testing.assert_array_equal(array, plain.nodes[column])
            for column, array in view.edge_attributes.items():
                np.testing.assert_array_equal(array, plain.edge_attributes[column])
        action = other.sample_valid_action()
        np.testing.assert_array_equal(asked.sample_valid_action(), action)
        for env in (asked, other):
            env.step(action)


@pytest.mark.parametrize(("name", "size"), [("ospf", 12), ("max-cut", 60)])
def test_episodes_of_a_seed_have_the_same_plan_and_others_another(name, size):
    env, plans = environment(name, size=size), []
    for seed in (1, 1, 2):
        env.reset(seed=seed)
        suggested_actions(env)
        plans.append(planned(env)[0].tolist())
    assert plans[0] == plans[1] != plans[2]


@pytest.mark.parametrize(("name", "module"), [("ospf", ospf_plan), ("max-cut", max_cut_plan)])
def test_what_takes_too_long_has_no_plan(name, module, monkeypatch):
    monkeypatch.setattr(module, "WORK", 1)
    env = environment(name)
    env.reset(seed=1)
    found = suggested_actions(env)
    assert found is None or not len(found)
    assert len(env.advise())  # the search by single elements remains


def test_the_plan_of_a_cut_is_at_most_half_of_the_nodes_away_whatever_its_sides_are_called():
    env = environment("max-cut", size=40)
    for start in (np.zeros(40, int), np.ones(40, int), np.arange(40) % 2):
        env.reset(seed=3, options={"start": start})
        sides, cut = planned(env)
        assert np.count_nonzero(sides != start) <= 20
        assert env.evaluate_solution(env.instance, sides) == pytest.approx(cut)


def test_a_ranker_aims_at_the_best_of_several_plans(monkeypatch):
    env = environment("placement")
    env.reset(seed=1)
    several = env._survey.aim[1]
    monkeypatch.setattr(placement_plan, "TRIED", 1)
    env.reset(seed=1)
    assert env._survey.aim[1] == env._survey.promised <= several


def test_suggested_paths_are_valid_and_contain_the_best_relief_of_the_fullest_link():
    env = environment("traffic")
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    for _ in range(20):
        suggested = env.suggested_actions()
        assert env.are_valid_actions(suggested).all()
        valid = env.valid_actions()
        before, reached = env.objective(), -env.preview(valid)
        if reached.min() < before * (1 - 1e-6):
            assert (-env.preview(suggested)).min() < before
        env.step(valid[rng.integers(len(valid))])


@pytest.mark.parametrize("name", [*NAMES, "traffic"])
def test_a_ranker_sees_suggestions_behind_the_nearest_actions(name):
    agent = default_agent(name)
    env = environment(name)
    env.reset(seed=1)
    actor = agent.actor(env)
    proto = actor.network(actor.observe())
    nearest = actor.view.nearest(proto, 3, "inner")
    found = Decoder("ranked", 3, "inner", ranker=lambda each, pairs: each[:, 0]).candidates(
        actor.view, proto
    )
    np.testing.assert_array_equal(found.indices[:3], nearest.indices)
    assert (np.diff(found.scores) <= 1e-4).all()
    rows = as_set(actor.view.raw(found.indices))
    assert len(rows) == len(found.scores)
    assert as_set(suggested_actions(env)) <= rows
    plain = Decoder("nearest", 1, "inner").candidates(actor.view, proto)
    assert len(plain.scores) == 1
