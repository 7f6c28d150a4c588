"""Advice and features of candidates of `max-cut` and `min-vertex`."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.train_default_agents import Cuts
from lagco.agents.training.trainer import train
from lagco.commands.evaluate import evaluate
from lagco.commands.generate import generate_instance
from lagco.instances import Instance
from lagco.problems.max_cut import MaxCut, plan
from lagco.problems.min_vertex import MinVertex
from tests.latent.conftest import brief_encoder

CLASSES = {"max-cut": MaxCut, "min-vertex": MinVertex}


def walked(cls, instance, actions):
    env = cls(instance)
    env.reset(seed=0)
    for action in actions:
        env.step(int(action))
    return env


def renamed(instance, names):
    """The same graph, node v being called names[v]."""
    edges = names[instance.array("edges")]
    return replace(instance, arrays={**instance.arrays, "edges": edges})


def follow_advice(env, seed=0):
    """Objective of the best state of an episode that follows the advice."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    ended = False
    while not ended:
        actions = env.advise()
        assert len(actions) == len(set(actions.tolist())) > 0
        assert env.are_valid_actions(actions).all()
        *_, terminated, truncated, _ = env.step(int(rng.choice(actions)))
        ended = terminated or truncated
    return env.best_objective


@pytest.mark.parametrize("name", CLASSES)
def test_features_and_advice_do_not_depend_on_names(name, monkeypatch):
    monkeypatch.setattr(plan, "WORK", 1)  # plans are drawn node by node
    instance = generate_instance(name, size=20, seed=3)
    rng = np.random.default_rng(4)
    names = rng.permutation(20)
    for length in (0, 3, 6):
        path = rng.permutation(20)[:length]
        env = walked(CLASSES[name], instance, path)
        other = walked(CLASSES[name], renamed(instance, names), names[path])
        nodes = env.valid_actions()
        features = env.candidate_features(nodes).each
        assert np.isfinite(features).all()
        again = other.candidate_features(names[nodes]).each
        # greedy completions of covers break ties by name
        settled = -6 if name == "min-vertex" else None
        np.testing.assert_allclose(features[:, :settled], again[:, :settled], rtol=1e-5, atol=1e-6)
        assert set(names[env.advise()]) == set(other.advise())


def test_features_and_advice_on_cuts_do_not_depend_on_the_unit_of_weights():
    instance = generate_instance("max-cut", size=15, seed=5)
    arrays = instance.arrays | {"weights": instance.array("weights") * 1000.0}
    path = [3, 4, 8, 3]
    env = walked(MaxCut, instance, path)
    other = walked(MaxCut, replace(instance, arrays=arrays), path)
    nodes = np.arange(15)
    np.testing.assert_allclose(
        env.candidate_features(nodes).each, other.candidate_features(nodes).each, rtol=1e-5
    )
    assert env.advise().tolist() == other.advise().tolist()
    for key, column in env.graph_views()["graph"].nodes.items():
        np.testing.assert_allclose(column, other.graph_views()["graph"].nodes[key], rtol=1e-5)


@pytest.mark.parametrize("name", CLASSES)
def test_describing_and_advising_leave_the_state_alone(name):
    env = walked(CLASSES[name], generate_instance(name, size=12, seed=1), [2, 5])
    before = {key: column.copy() for key, column in env._observe().items()}
    first = env.candidate_features(env.valid_actions()).each, env.advise()
    second = env.candidate_features(env.valid_actions()).each, env.advise()
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
    assert all(np.array_equal(column, before[key]) for key, column in env._observe().items())


@pytest.mark.parametrize("index", range(6))
def test_advice_leads_to_smallest_covers(index):
    instance = generate_instance("min-vertex", seed=8, index=index)
    assert follow_advice(MinVertex(instance)) == MinVertex.solve(instance, 0).solver.value


def test_advice_names_every_node_of_a_smallest_cover():
    instance = generate_instance("min-vertex", size=10, seed=9)
    u, v = instance.array("edges")
    subsets = (np.arange(1 << 10)[:, None] >> np.arange(10)) & 1 == 1
    covers = subsets[(subsets[:, u] | subsets[:, v]).all(axis=1)]
    smallest = covers[covers.sum(axis=1) == covers.sum(axis=1).min()]
    env = walked(MinVertex, instance, [])
    assert env.advise().tolist() == np.flatnonzero(smallest.any(axis=0)).tolist()


def test_advice_on_a_rest_too_large_to_solve_beats_greedy_covers():
    instance = generate_instance("min-vertex", size=150, seed=2)
    greedy = evaluate("greedy", [instance], episodes=1).results[0].episodes[0].objective
    assert follow_advice(MinVertex(instance)) < greedy


@pytest.mark.parametrize("index", range(6))
def test_advice_leads_to_cuts_near_the_largest(index):
    instance = Cuts.generate(40, seed=8, index=index)
    best = MaxCut.solve(instance, 0).solver.value
    assert follow_advice(MaxCut(instance)) >= 0.97 * best


def test_a_recently_moved_node_is_advised_only_for_a_new_best():
    instance = Instance(
        "max-cut",
        "path",
        30,
        {"edges": np.stack([np.arange(29), np.arange(1, 30)]), "weights": np.ones(29)},
    )
    env = MaxCut(instance)
    env.reset(seed=0)
    for _ in range(40):
        moves = env.advise()
        record = env.preview(moves) > env.best_objective
        assert (record | (env._memory.ages(moves) >= 3 + 0.05 * 30)).all()
        env.step(int(moves[0]))


def test_lowest_neighbours_follow_every_selection():
    instance = generate_instance("min-vertex", size=25, seed=6)
    env = MinVertex(instance)
    env.reset(seed=0)
    u, v = instance.array("edges")
    most = np.bincount(np.concatenate([u, v]), minlength=25).max()
    for node in np.random.default_rng(0).permutation(25)[:15]:
        env.step(int(node))
        chosen = np.zeros(25, dtype=bool)
        chosen[env.solution()] = True
        open_edges = [(a, b) for a, b in zip(u, v, strict=True) if not (chosen[a] or chosen[b])]
        degree = np.bincount(np.array(open_edges, dtype=int).reshape(-1), minlength=25)
        expected = np.full(25, most)
        for a, b in open_edges:
            expected[a] = min(expected[a], degree[b])
            expected[b] = min(expected[b], degree[a])
        lowest = env.graph_views()["graph"].nodes["lowest"]
        np.testing.assert_allclose(lowest, np.log1p(expected), rtol=1e-6)
        if not open_edges:
            break


@functools.cache
def data(name, seed):
    return [
        generate_instance(name, size=15, seed=seed, index=i, references=("sweeps",), sweeps=20)
        for i in range(6)
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_a_short_lesson_beats_random_and_repeats(name, tmp_path):
    settings = {"steps": 1536, "rollout": 256, "k": 8, "ranker_layers": 1, "seed": 3}
    agents = [
        train(
            name,
            data(name, 1),
            tmp_path / str(run),
            encoder=brief_encoder(name),
            method="taught-projection",
            **settings,
        )
        for run in range(2)
    ]
    taught, again = (evaluate(agent, data(name, 2), episodes=1) for agent in agents)
    random = evaluate("random", data(name, 2), episodes=1)

    def scores(results):
        return [result.episodes[0].score_best for result in results.results]

    assert scores(taught) == scores(again)
    assert np.mean(scores(taught)) > np.mean(scores(random))
