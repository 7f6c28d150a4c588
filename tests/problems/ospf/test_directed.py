"""Directed links, failed links and wide ranges of weights, against networkx and from scratch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.core.changes import MAX_CHANGES, judge
from lagco.instances import Instance
from lagco.problems.networks.generator import draw_demands, draw_links
from lagco.problems.networks.network import network_of
from lagco.problems.ospf import OSPF
from lagco.problems.ospf.routing.shortest_paths import Scratch, total_loads
from lagco.problems.ospf.routing.weights import routes_of, setting_of
from lagco.problems.ospf.searching.annealing import anneal, prepare
from lagco.problems.ospf.searching.state import change, heap_of, route_all
from tests.problems.ospf.routing_by_paths import link_loads


def directed_network(seed, max_weight=5, low=4, high=10, failures=0, ecmp=True):
    """A ring and further links, each in one direction or both."""
    rng = np.random.default_rng([seed, 11])
    n = int(rng.integers(low, high))
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
    more = draw_links(rng, n, int(rng.integers(0, 2 * n)))
    codes = np.unique(np.concatenate([ring, more, more[::-1][:, ::2]], axis=1).T, axis=0).T
    edges = codes[:, rng.permutation(codes.shape[1])]
    links = edges.shape[1]
    demands = draw_demands(rng, n, int(rng.integers(2, 3 * n)))
    arrays = {
        "edges": edges,
        "capacities": rng.uniform(10.0, 100.0, links),
        "demands": demands,
        "volumes": rng.uniform(1.0, 30.0, demands.shape[1]),
        "weights": rng.integers(1, max_weight + 1, links),
    }
    if failures:
        failed = np.zeros(links, dtype=np.int8)
        failed[rng.choice(links, failures, replace=False)] = 1
        arrays["failed"] = failed
    params = {"nodes": n, "directed": True, "min_weight": 1, "max_weight": max_weight, "ecmp": ecmp}
    return Instance("ospf", f"directed-{seed}", links, arrays, params)


@pytest.mark.parametrize("ecmp", [True, False])
@pytest.mark.parametrize("max_weight", [3, 200])
@pytest.mark.parametrize("failures", [0, 2])
def test_loads_equal_those_of_networkx(max_weight, failures, ecmp):
    for seed in range(40):
        instance = directed_network(seed, max_weight, failures=failures, ecmp=ecmp)
        network, weights = network_of(instance), instance.array("weights")
        loads = routes_of(instance, network, weights).loads.reshape(-1, 2)
        assert not loads[:, 1].any()
        expected = link_loads(instance, weights, ecmp)
        np.testing.assert_allclose(loads, expected, rtol=1e-9, atol=1e-9)
        n = network.num_nodes
        scratch = Scratch(
            np.empty((n + 1, n), np.int32),
            np.empty(1, np.int32),
            np.empty(n, np.int64),
            np.zeros(n),
        )
        total_loads(setting_of(instance, network), weights, scratch, loads.reshape(-1))
        np.testing.assert_allclose(loads, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("max_weight", [3, 200])
def test_steps_and_previews_equal_those_from_scratch(max_weight):
    for seed in range(15):
        instance = directed_network(seed, max_weight, failures=seed % 2)
        env = OSPF(instance, start="current")
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(20):
            action = env.sample_valid_action(rng)
            foretold = -env.preview(action[None])[0]
            *_, ended, truncated, _ = env.step(action)
            assert env.objective() == pytest.approx(foretold)
            assert env.objective() == pytest.approx(env.recompute_objective())
            if ended or truncated:
                break


def with_nodes_apart(instance):
    """The same beside three nodes, two of which one link joins; every other network undirected."""
    arrays, n = dict(instance.arrays), instance.params["nodes"]
    params = {**instance.params, "nodes": n + 3}
    if n % 2:
        del params["directed"]
        _, kept = np.unique(np.sort(arrays["edges"], axis=0), axis=1, return_index=True)
        for name in ("edges", "capacities", "weights"):
            arrays[name] = arrays[name][..., kept]
    arrays["edges"] = np.concatenate([arrays["edges"], [[n + 2], [n]]], axis=1)
    for name in ("capacities", "weights"):
        arrays[name] = np.append(arrays[name], 2)
    return replace(instance, size=len(arrays["weights"]), arrays=arrays, params=params)


@pytest.mark.parametrize("apart", [False, True])
def test_changes_of_the_search_equal_those_from_scratch(apart):
    for seed in range(40):
        instance = directed_network(seed, 5 if seed % 2 else 300)
        if apart:
            instance = with_nodes_apart(instance)
        scenarios, routing, choice = prepare(instance)
        rng = np.random.default_rng(seed)
        weights = choice.before.copy()
        route_all(scenarios, routing, weights, heap_of(scenarios.network))
        for _ in range(25):
            links = rng.choice(len(weights), size=int(rng.integers(1, 3)), replace=False)
            news = rng.integers(1, instance.params["max_weight"] + 1, len(links))
            commit = bool(rng.random() < 0.5)
            _, largest = change(scenarios, routing, 0, weights, links, news, commit)
            after = weights.copy()
            after[links] = news
            assert largest == pytest.approx(OSPF.evaluate_solution(instance, after))
            if commit:
                weights = after


def limited_network(rng):
    """A random network with some of: directed links, fixed links, ranges, a budget."""
    instance = directed_network(int(rng.integers(1 << 30)), 5 if rng.random() < 0.5 else 300, 4, 8)
    links = instance.size
    weights = instance.array("weights")
    arrays, params = dict(instance.arrays), dict(instance.params)
    if rng.random() < 0.6:
        arrays["fixed"] = (rng.random(links) < 0.4).astype(np.int8)
    if rng.random() < 0.5:
        arrays["lowest_weights"] = np.maximum(1, weights - rng.integers(0, 3, links))
        arrays["highest_weights"] = arrays["lowest_weights"] + rng.integers(2, 9, links)
    if rng.random() < 0.6:
        params[MAX_CHANGES] = int(rng.integers(0, 4))
    return replace(instance, arrays=arrays, params=params)


def check_limited(count, seed):
    rng = np.random.default_rng(seed)
    for number in range(count):
        instance = limited_network(rng)
        present = instance.array("weights")
        found = anneal(prepare(instance), None, number, 200, 0.1)
        before, after = (judge(OSPF, instance, weights) for weights in (present, found))
        assert not after.faults, after.faults
        assert after.objective <= before.objective * (1 + 1e-12)


def test_the_search_keeps_to_limits():
    check_limited(300, seed=1)


@pytest.mark.slow
def test_the_search_keeps_to_limits_ten_thousand_times():
    check_limited(10_000, seed=2)


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("max_weight", [5, 300])
def test_directed_networks_pass_the_checker(features, max_weight):
    env = OSPF(directed_network(1, max_weight), features=features, start="current")
    assert lagco.check_problem(env, episodes=1) == []
