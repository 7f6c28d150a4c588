"""Covers: generator, sweeps and the solver."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.min_vertex import MinVertex


def graph(n, edges):
    return Instance("min-vertex", "hand-made", n, {"edges": np.array(edges).reshape(-1, 2).T})


def smallest_cover(instance):
    edges = instance.arrays["edges"].T.tolist()
    for size in range(instance.size + 1):
        for nodes in combinations(range(instance.size), size):
            if all(u in nodes or v in nodes for u, v in edges):
                return size
    raise AssertionError


@pytest.mark.parametrize("seed", range(6))
def test_solver_and_sweeps_find_the_smallest_cover(seed):
    instance = generate_instance(
        "min-vertex", size=11, seed=seed, references=("sweeps", "solver"), sweeps=200
    )
    expected = smallest_cover(instance)
    assert instance.references.solver.value == expected
    assert instance.references.solver.status == "optimal"
    assert instance.references.sweeps.best == expected
    assert instance.references.sweeps.worst == 11


def test_solver_is_proven_optimal_at_fifty_nodes():
    for seed in range(4):
        instance = generate_instance("min-vertex", size=50, seed=seed, references="solver")
        solver = instance.references.solver
        assert solver.status == "optimal"
        assert MinVertex.evaluate_solution(instance, solver.solution) == solver.value


def test_one_episode_by_hand():
    env = MinVertex(graph(4, [[0, 1], [1, 2], [2, 3]]))
    env.reset()
    assert env.objective() == 4.0
    assert env.preview(np.arange(4)).tolist() == [1, 2, 2, 1]
    env.step(1)
    assert env.objective() == pytest.approx(1 + 4 / 3)
    assert env.graph_views()["graph"].edge_attributes["covered"].tolist() == [1, 1, 0]
    np.testing.assert_allclose(
        env.graph_views()["graph"].nodes["uncovered"], np.log1p([0, 0, 1, 1]), rtol=1e-6
    )
    *_, terminated, truncated, info = env.step(3)
    assert terminated
    assert not truncated
    assert info["objective"] == 2.0
    assert env.solution().tolist() == [1, 3]


def test_a_graph_without_edges_is_covered_at_once():
    env = MinVertex(graph(3, []))
    env.reset()
    assert env.is_complete()
    *_, terminated, _, info = env.step(0)
    assert terminated
    assert info["reason"] == "complete"


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 5]], "edges holds 5, the largest allowed is 3"),
        ([[2, 2]], "edge 0 joins node 2 to itself"),
        ([[0, 1], [1, 0]], "the edge 0-1 stands there twice"),
    ],
)
def test_bad_instances_are_named(edges, message):
    with pytest.raises(InstanceError, match=message):
        MinVertex(graph(4, edges))


def test_not_a_cover():
    with pytest.raises(InstanceError, match="the edge 2-3 has no chosen end"):
        MinVertex.evaluate_solution(graph(4, [[0, 1], [1, 2], [2, 3]]), [1])


@pytest.mark.parametrize("seed", range(4))
def test_leaves_are_neighbours_with_no_other_uncovered_edge(seed):
    env = MinVertex(MinVertex.generate(14, seed=seed))
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    ended = False
    while not ended:
        *_, ended, _, _ = env.step(env.sample_valid_action(rng))
        view = env.get_graphs()["graph"]
        chosen = view.nodes["selected"] == 1
        bare = [(u, v) for u, v in view.edges.T.tolist() if not (chosen[u] or chosen[v])]
        degree = np.bincount(np.array(bare, dtype=np.int64).ravel(), minlength=env.instance.size)
        leaves = np.zeros(env.instance.size)
        for u, v in bare:
            leaves[u] += degree[v] == 1
            leaves[v] += degree[u] == 1
        np.testing.assert_allclose(view.nodes["leaves"], np.log1p(leaves), rtol=1e-6)
