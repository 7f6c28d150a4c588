"""The flow bound in any units, and the core of a network that the search is left with."""

from dataclasses import replace

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.instances import Instance
from lagco.problems.networks.core import core_of
from lagco.problems.networks.network import network_of
from lagco.problems.ospf import OSPF
from lagco.problems.ospf.solver import lower_bound


def test_the_bound_does_not_depend_on_units():
    instance = generate_instance("ospf", size=12)
    arrays = dict(instance.arrays)
    bound = lower_bound(instance)
    huge = {name: arrays[name] * 1e9 for name in ("capacities", "volumes")}
    assert lower_bound(replace(instance, arrays={**arrays, **huge})) == pytest.approx(bound)
    wide = {"capacities": arrays["capacities"] * 1e9}
    assert lower_bound(replace(instance, arrays={**arrays, **wide})) == pytest.approx(bound / 1e9)


def with_trees(size, hanging, seed, ring=True):
    """A network from whose nodes trees hang, numbered in a random order."""
    rng = np.random.default_rng(seed)
    n = size + hanging
    links = [(v, (v + 1) % size) for v in range(size if ring else size - 1)]
    links += [(0, size // 2), (1, size - 2)] if ring else []
    links += [(int(rng.integers(v)), v) for v in range(size, n)]
    names = rng.permutation(n)
    pairs = np.array([(u, v) for u in range(n) for v in range(n) if u != v])
    pairs = pairs[rng.permutation(len(pairs))[: 3 * n]]
    arrays = {
        "edges": names[np.array(links).T],
        "capacities": rng.integers(1, 9, len(links)).astype(float),
        "demands": pairs.T,
        "volumes": rng.random(len(pairs)),
    }
    return Instance("ospf", "with trees", len(links), arrays, {"nodes": n, "ecmp": seed % 2 == 0})


@pytest.mark.parametrize("seed", range(4))
def test_routing_in_the_core_is_that_in_the_whole_network(seed):
    instance = with_trees(7, 6, seed)
    network = network_of(instance)
    core = core_of(network)
    assert core.network is not None
    assert core.network.num_nodes == 7
    params = {"nodes": 7, "ecmp": instance.params["ecmp"]}
    demands = np.stack([core.network.sources, core.network.targets])
    arrays = {"edges": core.network.edges, "capacities": core.network.link_capacities}
    arrays |= {"demands": demands, "volumes": core.network.volumes}
    inside = Instance("ospf", "core", core.network.num_links, arrays, params)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        weights = rng.integers(1, 6, network.num_links)
        alone = OSPF.evaluate_solution(inside, weights[core.links])
        whole = OSPF.evaluate_solution(instance, weights)
        assert whole == pytest.approx(max(alone, core.floor))
        assert lower_bound(instance) <= whole * (1 + 1e-9)


def test_a_tree_has_no_core_and_is_solved():
    instance = with_trees(4, 5, 1, ring=False)
    assert core_of(network_of(instance)).network is None
    found = OSPF.solve(instance, 0).solver
    assert found.status == "optimal"
    assert found.value == pytest.approx(lower_bound(instance))


def test_a_network_without_trees_is_its_own_core():
    network = network_of(with_trees(8, 0, 3))
    assert core_of(network).network is network
