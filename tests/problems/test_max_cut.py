"""Cuts: generator, sweeps and the solver."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.max_cut import MaxCut
from lagco.problems.max_cut.solver import LARGE, improve_cut, solve_cut
from tests.shared_instances import shared_instance


def largest_cut(instance):
    u, v = instance.arrays["edges"]
    best = 0.0
    for code in range(2 ** (instance.size - 1)):
        sides = code >> np.arange(instance.size) & 1
        best = max(best, instance.arrays["weights"][sides[u] != sides[v]].sum())
    return best


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_solver_and_sweeps_find_the_largest_cut(seed, negative):
    instance = generate_instance("max-cut", size=11, seed=seed)
    if negative:
        weights = np.random.default_rng(seed).integers(-9, 9, size=55, endpoint=True)
        instance = Instance(
            "max-cut", "mixed", 11, {"edges": instance.arrays["edges"], "weights": weights}
        )
    expected = largest_cut(instance)
    assert MaxCut.solve(instance, 0).solver.value == expected
    assert MaxCut.sweep(instance, 300, 0).sweeps.best == expected


def test_a_large_graph_is_annealed_to_a_cut_that_is_known_and_repeats():
    n = LARGE + 2  # an even ring: all of its edges can be cut
    edges = np.stack([np.arange(n), (np.arange(n) + 1) % n])
    ring = Instance("max-cut", "ring", n, {"edges": edges, "weights": np.ones(n)})
    found = solve_cut(ring, seed=1, effort=0.1)
    assert found.solver == "annealing"
    assert found.value == n
    worse = np.zeros(n, dtype=np.int8)
    worse[::3] = 1
    better = improve_cut(ring, worse, 5, 0.01)
    assert MaxCut.evaluate_solution(ring, better) > MaxCut.evaluate_solution(ring, worse)
    assert (better == improve_cut(ring, worse, 5, 0.01)).all()
    assert worse[:2].tolist() == [1, 0]


def test_the_view_keeps_the_ten_heaviest_edges_of_each_node():
    instance = generate_instance("max-cut", size=30, seed=4)
    view = MaxCut(instance).graph_views()["graph"]
    kept = {tuple(edge) for edge in view.edges.T.tolist()}
    edges, weights = instance.arrays["edges"].T.tolist(), instance.arrays["weights"]
    for node in range(30):
        at_node = sorted((-w, i) for i, w in enumerate(weights) if node in edges[i])
        assert {tuple(edges[i]) for _, i in at_node[:10]} <= kept
    assert len(kept) < len(edges)


def test_one_episode_by_hand():
    instance = Instance(
        "max-cut",
        "triangle",
        3,
        {
            "edges": np.array([[0, 0, 1], [1, 2, 2]]),
            "weights": np.array([1.0, 2.0, 4.0]),
            "sides": np.array([0, 1, 0]),
        },
    )
    env = MaxCut(instance)
    env.reset()
    assert env.objective() == 0.0
    assert env.preview(np.arange(3)).tolist() == [3.0, 5.0, 6.0]
    env.step(2)
    assert env.objective() == 6.0
    assert env.preview(np.arange(3)).tolist() == [5.0, 3.0, 0.0]
    nodes = env.graph_views()["graph"].nodes
    # the squares of the weights at a node are 42 in all, 14 on average
    np.testing.assert_allclose(
        nodes["gain"], np.arcsinh(np.array([-1, -3, -6]) / np.sqrt(14)), rtol=1e-6
    )
    assert nodes["recent"].tolist() == [0, 0, 1]
    env.reset(options={"start": "current"})
    assert env.objective() == 5.0
    assert env.solution().tolist() == [0, 1, 0]


def test_the_best_state_is_kept():
    env = MaxCut(generate_instance("max-cut", size=6, references="sweeps", sweeps=20))
    env.reset()
    objectives = [env.objective()]
    for action in [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]:
        *_, truncated, info = env.step(action)
        objectives.append(info["objective"])
    assert truncated
    assert info["objective"] == 0.0
    assert info["score"] == 0.0
    assert info["objective_best"] == max(objectives) > 0
    assert env.evaluate_solution(env.instance, env.best_solution) == max(objectives)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weights": np.ones(2)}, r"weights has shape \(2,\), expected \(1\)"),
        ({"weights": np.array([np.inf])}, "not a finite number"),
    ],
)
def test_bad_instances_are_named(arrays, message):
    with pytest.raises(InstanceError, match=message):
        MaxCut(Instance("max-cut", "bad", 2, {"edges": np.array([[0], [1]])} | arrays))


def test_solver_nears_the_best_known_cut_of_a_real_graph():
    rows = [line.split() for line in shared_instance("gset/G14").read_text().splitlines()]
    table = np.array(rows[1:], dtype=float)
    instance = Instance(
        "max-cut", "G14", 800, {"edges": table[:, :2].T.astype(int) - 1, "weights": table[:, 2]}
    )
    assert solve_cut(instance, seed=0, effort=0.25).value >= 0.995 * 3064
