"""Tours: distance rules, sweeps and the solver."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.tsp import TSP
from lagco.problems.tsp.distances import RULES, distance, metric_of, neighbour_lists
from lagco.problems.tsp.solver import NEIGHBOURS, solve_tour, with_ways_out
from tests.shared_instances import shared_instance


def cities(coordinates, metric="euclidean", **arrays):
    coordinates = np.asarray(coordinates, dtype=float)
    return Instance(
        "tsp",
        "hand-made",
        len(coordinates),
        {"coordinates": coordinates, **arrays},
        {"metric": metric},
    )


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("euclidean", 2.5**0.5), ("euc_2d", 2.0), ("ceil_2d", 2.0), ("att", 1.0)],
)
def test_distance_rules(metric, expected):
    instance = cities([[0, 0], [1.5, 0.5]], metric)
    assert distance(*metric_of(instance), 0, 1) == pytest.approx(expected)


def test_geographical_distance():
    # Brussels to Paris as TSPLIB counts: degrees.minutes, rounded down after adding 1
    instance = cities([[50.51, 4.21], [48.51, 2.21]], "geo")
    assert distance(*metric_of(instance), 0, 1) == 265.0


def test_explicit_matrix():
    matrix = np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0.0]])
    instance = cities(np.zeros((3, 2)), "explicit", matrix=matrix)
    assert TSP.evaluate_solution(instance, [0, 1, 2]) == 12.0
    env = TSP(instance)
    env.reset(seed=0)
    assert env.objective() == 12.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(params={"metric": "manhattan"}), "unknown metric 'manhattan'"),
        (dict(arrays={"coordinates": np.zeros((3, 3))}), r"shape \(3, 3\), expected \(3, 2\)"),
        (dict(arrays={"coordinates": np.full((3, 2), np.nan)}), "not a finite number"),
        (dict(arrays={}), "no array 'coordinates'"),
        (dict(size=1, arrays={"coordinates": np.zeros((1, 2))}), "a tour needs 2"),
    ],
)
def test_bad_instances_are_named(change, message):
    fields = dict(
        problem="tsp", name="bad", size=3, arrays={"coordinates": np.zeros((3, 2))}, params={}
    )
    with pytest.raises(InstanceError, match=message):
        TSP(Instance(**(fields | change)))


def test_not_a_tour():
    with pytest.raises(InstanceError, match="each of the cities 0 to 4 once"):
        TSP.evaluate_solution(generate_instance("tsp", size=5), [0, 1, 2, 2, 4])


@pytest.mark.parametrize("metric", [rule for rule in RULES if rule not in ("geo", "explicit")])
def test_solver_is_optimal_on_small_instances(metric):
    for seed in range(6):
        instance = generate_instance("tsp", size=8, seed=seed)
        instance = Instance("tsp", "small", 8, instance.arrays, {"metric": metric})
        best = min(
            TSP.evaluate_solution(instance, np.array([0, *rest]))
            for rest in permutations(range(1, 8))
        )
        assert solve_tour(instance, seed=0).value == pytest.approx(best)


def held_karp(distances):
    """The optimal tour length by dynamic programming over subsets."""
    n = len(distances)
    best = {(1 << j, j): distances[0][j] for j in range(1, n)}
    for _ in range(n - 2):
        longer = {}
        for (cities_seen, last), length in best.items():
            for j in range(1, n):
                if not cities_seen >> j & 1:
                    key = (cities_seen | 1 << j, j)
                    longer[key] = min(longer.get(key, np.inf), length + distances[last][j])
        best = longer
    return min(length + distances[last][0] for (_, last), length in best.items())


def test_solver_is_optimal_on_twelve_cities():
    for seed in range(4):
        instance = generate_instance("tsp", size=12, seed=seed)
        metric = metric_of(instance)
        table = [[distance(*metric, i, j) for j in range(12)] for i in range(12)]
        assert solve_tour(instance, seed=0).value == pytest.approx(held_karp(table))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_tiny_tours(n):
    instance = generate_instance("tsp", size=n, references=("sweeps", "solver"), sweeps=5)
    sweeps, solver = instance.references.sweeps, instance.references.solver
    assert solver.value <= sweeps.best + 1e-9 <= sweeps.worst + 2e-9
    env = TSP(instance)
    env.reset(seed=0)
    ended = False
    while not ended:
        *_, ended, _, info = env.step(env.sample_valid_action())
    assert info["score"] <= 1.0 + 1e-9


def test_solver_finds_a_known_optimum():
    lines = (
        shared_instance("tsplib/berlin52.tsp")
        .read_text()
        .split("NODE_COORD_SECTION")[1]
        .splitlines()
    )
    points = [[float(x) for x in line.split()[1:]] for line in lines if len(line.split()) == 3]
    assert solve_tour(cities(points, "euc_2d"), seed=0).value == 7542.0


def test_lists_of_clustered_cities_lead_out_of_the_clusters():
    rng = np.random.default_rng(0)
    one = rng.uniform(0.0, 1.0, (40, 2))
    apart = np.concatenate([one + np.array(by) for by in ([0, 0], [10, 0], [0, 10])])
    lists = neighbour_lists(metric_of(cities(apart)), NEIGHBOURS)
    assert (lists // 40 == np.arange(120)[:, None] // 40).all()  # each in its own cluster
    found = with_ways_out(apart, lists)
    leaving = found // 40 != np.arange(120)[:, None] // 40
    assert leaving.any(axis=1).reshape(3, 40).any(axis=1).all()
    away = np.hypot(*(apart[found] - apart[:, None]).transpose(2, 0, 1))
    assert (np.diff(away, axis=1) >= 0.0).all()  # nearest first, as searches take for granted
    assert all(len(set(row)) == NEIGHBOURS for row in found.tolist())


def test_lists_that_connect_all_cities_stay():
    near = np.random.default_rng(0).uniform(0.0, 1.0, (100, 2))
    lists = neighbour_lists(metric_of(cities(near)), NEIGHBOURS)
    assert with_ways_out(near, lists) is lists
    line = np.zeros((60, 2))
    line[:, 0] = [*range(30), *range(1000, 1030)]
    lists = neighbour_lists(metric_of(cities(line)), NEIGHBOURS)
    assert with_ways_out(line, lists) is lists  # nothing to triangulate


def test_features_ignore_unit_and_position():
    plain = generate_instance("tsp", size=15)
    moved = cities(np.asarray(plain.arrays["coordinates"]) * 37.5 - 1000.0)
    views = []
    for instance in (plain, moved):
        env = TSP(instance)
        env.reset(options={"start": 3})
        env.step(5)
        views.append(env.graph_views()["cities"])
    for name, column in views[0].nodes.items():
        np.testing.assert_allclose(column, views[1].nodes[name], atol=1e-5)
    np.testing.assert_allclose(
        views[0].edge_attributes["distance"], views[1].edge_attributes["distance"], atol=1e-5
    )


def test_tree_and_table_find_the_same_neighbours():
    from lagco.problems.tsp.distances import nearest_neighbours, neighbour_lists

    instance = generate_instance("tsp", size=1200)
    metric = metric_of(instance)
    np.testing.assert_array_equal(neighbour_lists(metric, 10), nearest_neighbours(*metric, 10))
    same = metric_of(cities(np.repeat(np.arange(300.0), 4)[:, None] * [1.0, 0.0]))
    found = neighbour_lists(same, 5)
    assert (found != np.arange(1200)[:, None]).all()
    assert all(len(set(row)) == 5 for row in found.tolist())


def explicit(matrix):
    size = len(matrix)
    return Instance(
        problem="tsp", name="m", size=size, arrays={"matrix": matrix}, params={"metric": "explicit"}
    )


def test_distances_are_the_same_both_ways():
    matrix = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    rounded = matrix.copy()
    rounded[1, 2] += 1e-15
    assert TSP(explicit(rounded)).evaluate_solution(explicit(rounded), np.arange(5)) == 8.0
    matrix[1, 2] = 7.0
    with pytest.raises(InstanceError, match=r"'m': matrix\[1, 2\] is 7 and matrix\[2, 1\] is 1"):
        TSP(explicit(matrix))
    matrix[1, 2] = matrix[2, 1] = -1.0
    with pytest.raises(InstanceError, match=r"matrix\[1, 2\] is -1; give distances of 0 or more"):
        TSP(explicit(matrix))
