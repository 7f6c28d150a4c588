"""The search of `ospf` and `traffic`: its advice, and what a ranker sees of candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lagco.instances import References
from lagco.policies import GreedyPolicy
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from tests.problems.ospf import episodes

BOTH = pytest.mark.parametrize("cls", [OSPF, Traffic])


def drawn(cls, size=12, seed=3):
    instance = cls.generate(size, seed=seed)
    start = cls.sweep(instance, 20, seed)
    return instance.with_references(start)


def follow(env, actions):
    """Features of candidates in every state along the actions: (steps, k, f)."""
    env.reset(seed=0)
    found = []
    for taken, candidates in actions:
        found.append(env.candidate_features(candidates).each)
        env.step(taken)
    return np.array(found)


def walk(env, steps=25, seed=0):
    """Advised and random actions in turn, with candidates in each state."""
    rng = np.random.default_rng(seed)
    env.reset(seed=0)
    for step in range(steps):
        candidates = np.array([env.sample_valid_action(rng) for _ in range(9)])
        taken = env.advise()[0] if step % 2 else candidates[0]
        yield taken, candidates
        env.step(taken)


@BOTH
def test_candidates_look_the_same_in_other_units(cls):
    instance = drawn(cls)
    actions = list(walk(cls(instance)))
    arrays = dict(instance.arrays)
    for name in ("capacities", "volumes"):
        arrays[name] = arrays[name] * 1024.0
    same = replace(instance, arrays=arrays)
    np.testing.assert_array_equal(follow(cls(instance), actions), follow(cls(same), actions))


def test_weights_do_not_depend_on_how_full_the_network_is():
    instance = drawn(OSPF)
    actions = list(walk(OSPF(instance)))
    fuller = replace(
        instance, arrays={**instance.arrays, "volumes": instance.array("volumes") * 8.0}
    )
    np.testing.assert_array_equal(follow(OSPF(instance), actions), follow(OSPF(fuller), actions))


def relabelled(instance, nodes, links, demands):
    """The same network with node v called nodes[v], links and demands in another order."""
    sweeps = instance.references.sweeps
    worst = sweeps.worst_solution
    n = instance.params["nodes"]
    names = np.append(nodes, n)
    worst = worst[links] if instance.problem == "ospf" else names[worst[demands]]
    edges = nodes[instance.array("edges")][:, links]
    return replace(
        instance,
        arrays={
            "edges": edges,
            "capacities": instance.array("capacities")[links],
            "demands": nodes[instance.array("demands")][:, demands],
            "volumes": instance.array("volumes")[demands],
        },
        references=References(sweeps=replace(sweeps, worst_solution=worst)),
    )


@pytest.fixture
def no_plan(monkeypatch):
    """Episodes without a plan, whose annealing draws links by number."""
    monkeypatch.setattr("lagco.problems.ospf.plan.WORK", 0)


@BOTH
def test_candidates_look_the_same_under_other_names(cls, no_plan):
    instance = drawn(cls)
    rng = np.random.default_rng(1)
    nodes = rng.permutation(instance.params["nodes"])
    links = rng.permutation(instance.array("edges").shape[1])
    demands = rng.permutation(instance.array("demands").shape[1])
    other = relabelled(instance, nodes, links, demands)
    names = np.append(nodes, len(nodes))

    def renamed(action):
        action = np.asarray(action)
        if cls is OSPF:
            return np.stack([np.argsort(links)[action[..., 0]], action[..., 1]], axis=-1)
        first = np.argsort(demands)[action[..., :1]]
        return np.concatenate([first, names[action[..., 1:]]], axis=-1)

    actions = list(walk(cls(instance)))
    mapped = [(renamed(taken), renamed(candidates)) for taken, candidates in actions]
    np.testing.assert_allclose(
        follow(cls(instance), actions), follow(cls(other), mapped), atol=1e-5
    )


@BOTH
@pytest.mark.parametrize("features", ["full", "paper"])
def test_advice_is_valid_repeats_and_changes_nothing(cls, features):
    env = cls(drawn(cls), features=features)
    twin = cls(drawn(cls), features=features)
    twin.reset(seed=0)
    for taken, candidates in walk(env):
        advice = env.advise()
        assert len(advice)
        assert env.are_valid_actions(advice).all()
        seen = env.candidate_features(candidates).each
        np.testing.assert_array_equal(twin.candidate_features(candidates).each, seen)
        assert np.isfinite(seen).all()
        np.testing.assert_array_equal(env.advise(), advice)
        np.testing.assert_array_equal(env.solution(), twin.solution())
        assert env.objective() == pytest.approx(env.recompute_objective())
        twin.step(taken)


def played(env, choose):
    env.reset(seed=0)
    ended = False
    while not ended:
        *_, terminated, truncated, _ = env.step(choose(env))
        ended = terminated or truncated
    return env.best_objective


@BOTH
def test_advice_leads_below_what_greedy_reaches(cls):
    advised, greedy = [], []
    for seed in range(4):
        env = cls(drawn(cls, 18, seed))
        advised.append(played(env, lambda env: env.advise()[0]))
        rng, policy = np.random.default_rng(0), GreedyPolicy()
        greedy.append(played(env, lambda env, rng=rng, policy=policy: policy.act(env, rng)))
    assert np.mean(np.log(advised)) < np.mean(np.log(greedy))


@BOTH
def test_first_features_say_what_a_change_brings(cls):
    env = cls(drawn(cls))
    for _, candidates in walk(env, 12):
        now, after = env.objective(), -env.preview(candidates)
        seen = env.candidate_features(candidates).each[:, 1]
        np.testing.assert_allclose(np.sinh(seen) / 10.0, 1.0 - after / now, atol=1e-4)


@BOTH
def test_what_was_changed_recently_is_shown_and_left_alone(cls):
    env = cls(drawn(cls))
    view = "comm_G" if cls is OSPF else "traffic_G"
    env.reset(seed=0)
    recent = env.get_graphs()[view].edge_attributes["recent"]
    assert not recent.any()
    changed = []
    for _ in range(env._memory.tenure):
        action = env.advise()[0]
        changed.append(int(action[0]))
        env.step(action)
        assert recent[changed[-1]] == 1
    assert set(np.flatnonzero(recent)) <= set(changed)
    env.reset(seed=0)
    assert not recent.any()


def test_a_compound_move_is_finished(no_plan):
    """Only a weight of 4 or more sends the traffic of 0-1 over 2: the search gets there."""
    instance = replace(
        OSPF.generate(6, seed=0),
        size=3,
        arrays={
            "edges": np.array([[0, 0, 1], [1, 2, 2]]),
            "capacities": np.array([1.0, 10.0, 10.0]),
            "demands": np.array([[0], [1]]),
            "volumes": np.array([8.0]),
        },
        references=References(),
    )
    instance = replace(instance, params={**instance.params, "nodes": 3})
    env = OSPF(instance, start=np.array([1, 1, 2]))
    env.reset(seed=0)
    for _ in range(3):
        advice = env.advise()
        np.testing.assert_array_equal(advice, [[0, 2]])
        env.step(advice[0])
    np.testing.assert_array_equal(env.solution(), [4, 1, 2])
    assert env.objective() == pytest.approx(0.8)


@pytest.mark.parametrize("ecmp", [True, False])
def test_relief_of_the_fullest_arc_is_foreseen_where_one_link_carries_it(ecmp):
    exact, foreseen = [], []
    for seed in range(5):
        instance = OSPF.generate(10, seed=seed)
        env = OSPF(replace(instance, params={**instance.params, "ecmp": ecmp}))
        for _ in episodes.play(env, seed, steps=10):
            actions = env.valid_actions()
            actions = actions[actions[:, 1] != 1]
            each = env.candidate_features(actions).each
            single = each[:, 4] == 0.0  # the best weight is the next one
            ahead = env.get_graphs()["comm_G"].edge_attributes["ahead"]
            rows = ahead[actions[:, 0], actions[:, 1]]
            exact.append(each[single, 24])
            foreseen.append(rows[single][:, [4, 11]].sum(axis=1))
    exact, foreseen = np.concatenate(exact), np.concatenate(foreseen)
    assert np.corrcoef(exact, foreseen)[0, 1] > 0.6
