"""Loads against an independent implementation, and the flow bound."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.networks.generator import draw_demands, draw_links, draw_tree
from lagco.problems.networks.network import network_of
from lagco.problems.ospf import OSPF
from lagco.problems.ospf.routing.shortest_paths import Scratch, total_loads
from lagco.problems.ospf.routing.weights import routes_of, setting_of
from lagco.problems.ospf.solver import lower_bound
from tests.problems.ospf.routing_by_paths import link_loads


def random_network(seed, ecmp=True, low=4, high=14, max_weight=5):
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(low, high))
    edges = draw_links(rng, n, int(rng.integers(0, 2 * n)))
    demands = draw_demands(rng, n, int(rng.integers(1, 3 * n)))
    arrays = {
        "edges": edges,
        "capacities": rng.uniform(10.0, 100.0, edges.shape[1]),
        "demands": demands,
        "volumes": rng.uniform(1.0, 30.0, demands.shape[1]),
    }
    params = {"nodes": n, "ecmp": ecmp, "min_weight": 1, "max_weight": max_weight}
    weights = rng.integers(1, max_weight + 1, edges.shape[1])
    return Instance("ospf", f"random-{seed}", edges.shape[1], arrays, params), weights


@pytest.mark.parametrize("ecmp", [True, False])
def test_loads_equal_those_of_networkx_on_hundreds_of_networks(ecmp):
    for seed in range(150):
        instance, weights = random_network(seed, ecmp, max_weight=3 if seed % 2 else 5)
        network = network_of(instance)
        loads = routes_of(instance, network, weights).loads.reshape(-1, 2)
        np.testing.assert_allclose(loads, link_loads(instance, weights, ecmp), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("ecmp", [True, False])
def test_both_ways_of_routing_agree(ecmp):
    """The sweeps route all at once (Floyd-Warshall), the environment per destination (Dial)."""
    for seed in range(100):
        instance, weights = random_network(seed, ecmp)
        network = network_of(instance)
        n = network.num_nodes
        loads = np.empty(2 * network.num_links)
        scratch = Scratch(
            np.empty((n + 1, n), np.int32),
            np.empty(5 * n + 2, np.int32),
            np.empty(n, np.int64),
            np.zeros(n),
        )
        total_loads(setting_of(instance, network), weights, scratch, loads)
        np.testing.assert_allclose(loads, routes_of(instance, network, weights).loads, rtol=1e-12)


@pytest.mark.parametrize("ecmp", [True, False])
def test_incremental_loads_equal_those_from_scratch(ecmp):
    for seed in range(30):
        instance, weights = random_network(seed, ecmp)
        env = OSPF(instance, start=weights)
        env.reset(seed=0)
        rng = np.random.default_rng(seed)
        for _ in range(25):
            env.step(env.sample_valid_action(rng))
            if env._ended:
                break
            anew = routes_of(instance, network_of(instance), env.solution())
            np.testing.assert_array_equal(env.loads.reshape(-1), anew.loads)
            np.testing.assert_array_equal(env._routes.shares, anew.shares)


def test_shares_are_those_of_the_largest_demands():
    for seed in range(20):
        instance, weights = random_network(seed)
        env = OSPF(instance, start=weights)
        env.reset(seed=0)
        loads = env.loads
        busier = loads.argmax(axis=1)
        single = []
        for d in range(instance.arrays["volumes"].size):
            arrays = dict(instance.arrays)
            arrays["demands"] = instance.arrays["demands"][:, d : d + 1]
            arrays["volumes"] = instance.arrays["volumes"][d : d + 1]
            alone = Instance("ospf", "alone", instance.size, arrays, instance.params)
            single.append(link_loads(alone, weights, True))
        own = np.sort(np.array(single), axis=0)[::-1]
        for e, side in enumerate(busier):
            wanted = np.zeros(3)
            top = own[:3, e, side]
            if loads[e, side] > 0:
                wanted[: len(top)] = top / loads[e, side]
            np.testing.assert_allclose(env._shares[e], wanted, atol=1e-6)


def test_utilisation_is_never_below_the_flow_bound():
    for seed in range(25):
        for ecmp in (True, False):
            instance, weights = random_network(seed, ecmp)
            rng = np.random.default_rng(seed)
            bound = lower_bound(instance)
            assert bound > 0.0
            for _ in range(5):
                assert OSPF.evaluate_solution(instance, weights) >= bound * (1.0 - 1e-7)
                weights = rng.integers(1, 6, len(weights))


def test_generated_trees_span_and_links_are_counted():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 30))
        tree = draw_tree(rng, n)
        assert tree.shape == (2, n - 1)
        links = draw_links(rng, n, 5)
        assert links.shape[1] == min(n - 1 + 5, n * (n - 1) // 2)
        assert len(set(map(tuple, links.T.tolist()))) == links.shape[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": np.array([[0, 1, 1], [1, 2, 0]])}, "stands there twice"),
        ({"demands": np.array([[0, 1], [0, 2]])}, "to itself"),
        ({"demands": np.array([[0, 1], [3, 2]])}, "no links lead from 0 to 3"),
        ({"capacities": np.array([1.0, 0.0, 1.0])}, "must be positive"),
        ({"edges": np.array([[0, 1, 2], [1, 2, 9]])}, "edges holds 9"),
    ],
)
def test_unsound_networks_are_refused(change, message):
    arrays = {
        "edges": np.array([[0, 1, 0], [1, 2, 2]]),
        "capacities": np.ones(3),
        "demands": np.array([[0, 1], [2, 0]]),
        "volumes": np.ones(2),
    } | change
    with pytest.raises(InstanceError, match=message):
        OSPF(Instance("ospf", "unsound", 3, arrays, {"nodes": 4}))
