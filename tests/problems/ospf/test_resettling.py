"""Distances after one changed weight against those from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.problems.networks.network import network_of
from lagco.problems.ospf.routing.resettling import resettle
from lagco.problems.ospf.routing.shortest_paths import is_affected, settle, steps_along
from lagco.problems.ospf.routing.weights import setting_of
from tests.problems.ospf.test_routing import random_network


@pytest.mark.parametrize("max_weight", [2, 5, 30])
def test_distances_and_order_are_those_from_scratch(max_weight):
    rng = np.random.default_rng(max_weight)
    same = others = 0
    for seed in range(60):
        instance, weights = random_network(seed, max_weight=max_weight)
        network = network_of(instance)
        n, queue = network.num_nodes, setting_of(instance, network).queue
        first, heads = network.first, network.heads
        rows = np.empty((4, n), dtype=np.int64)
        moved, is_moved = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
        for link in range(network.num_links):
            changed = weights.copy()
            changed[link] = rng.integers(1, max_weight + 1)
            old, new = int(weights[link]), int(changed[link])
            u, v = network.edges[:, link].tolist()
            before, after = (steps_along(network.arcs, w) for w in (weights, changed))
            for t in range(n):
                reached = settle(t, first, heads, before, queue, rows[0], rows[1])
                if old == new or not is_affected(rows[0], u, v, old, new):
                    continue
                settle(t, first, heads, after, queue, rows[2], rows[3])
                kept = rows[:2].copy()
                found = np.full((2, n), -1)
                if resettle(
                    (u, v, new, old, False), (first, heads, after) * 2, tuple(rows[:2]), reached,
                    tuple(found), (moved, is_moved),
                ):  # fmt: skip
                    others += 1
                    np.testing.assert_array_equal(found, rows[2:])
                else:
                    same += 1
                    np.testing.assert_array_equal(rows[:2], rows[2:])
                np.testing.assert_array_equal(rows[:2], kept)
                assert not is_moved.any()
    assert min(same, others) > 100
