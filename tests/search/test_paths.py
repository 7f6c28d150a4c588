"""Path search equals brute force over all simple paths."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from lagco.search import METRICS, NoValidAction, PathSet, PathSpace, TooManyActions
from tests.search.brute_force import nearest, score, simple_paths


def random_case(rng, case):
    """A space over a small random graph and its rows, found by plain recursion."""
    n = int(rng.integers(2, 7))
    edges = rng.integers(0, n, (2, int(rng.integers(1, 4 * n))))
    demands = int(rng.integers(1, 6))
    sources = rng.integers(-1 if case % 4 == 0 else 0, n, demands)
    targets = rng.integers(-1 if case % 4 == 1 else 0, n, demands)
    hops = rng.integers(1, 5, demands)
    free = case % 7 == 0
    if free:
        sources, targets, hops, demands = [-1], [-1], hops[:1], 1
        paths = PathSet(edges, n, int(hops[0]))
    else:
        paths = PathSet(edges, n, hops, sources, targets)
    span = int(rng.integers(1, 4))

    def whole(*shape):
        return rng.integers(-span, span + 1, shape).astype(rng.choice([np.float32, np.float64]))

    shape = (paths.positions, n, 2) if case % 2 else (n, 2)
    demand_vectors = None if free or case % 3 == 0 else whole(demands, 2)
    leading = [whole(int(rng.integers(1, 4)), 1) for _ in range(case % 5 == 0)]
    space = PathSpace(paths, whole(*shape), demand_vectors, leading)
    rows = simple_paths(edges, n, sources, targets, hops)
    rows = rows[:, 1:] if free else rows
    for table in leading:
        first = np.repeat(np.arange(len(table)), len(rows))
        rows = np.column_stack([first, np.tile(rows, (len(table), 1))])
    return space, rows, whole(space.width).astype(float)


@pytest.mark.parametrize("block", range(3))
def test_equals_brute_force(route, block):
    rng = np.random.default_rng(block)
    for case in range(100):
        space, rows, query = random_case(rng, case)
        assert np.array_equal(space.list(), rows)
        keep = rng.random(len(rows)) < (1.0, 0.5, 0.1, 0.0)[case % 4]
        if case % 8 == 3 and len(rows):
            keep[rng.integers(len(rows))] = True  # a single valid action
        known = {tuple(row): bool(ok) for row, ok in zip(rows.tolist(), keep, strict=True)}

        def predicate(indices, known=known):
            return np.array([known[tuple(row)] for row in indices.tolist()], bool)

        valid = [None, keep, predicate, predicate][case % 4]
        kept = rows[keep]
        vectors = space.vectors(kept) if len(kept) else None
        for metric, k in itertools.product(METRICS, (1, 10)):
            expected = nearest(vectors, kept, query, metric, k)
            try:
                got = space.nearest(query, k, metric, valid)
            except NoValidAction:
                assert not len(kept)
                continue
            assert np.array_equal(got.indices, expected), (case, metric, k)
            again = [score(v, query, metric) for v in space.vectors(expected)]
            np.testing.assert_allclose(got.scores, again, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def network():
    """30 nodes, 40 demands, some 10^4 paths of at most 7 hops."""
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 30, (2, 120))
    ends = np.array([(s, t) for s in range(30) for t in range(30) if s != t])
    ends = ends[rng.permutation(len(ends))[:40]]
    return PathSet(edges, 30, 7, ends[:, 0], ends[:, 1])


@pytest.mark.parametrize("metric", METRICS)
def test_larger_networks_agree_with_scoring_all(network, route, metric):
    rng = np.random.default_rng(4)
    rows = network.list()
    assert len(rows) == network.count() > 5000
    for offset in (0.0, 2.0):
        space = PathSpace(
            network, rng.standard_normal((8, 30, 4)) + offset, rng.standard_normal((40, 3))
        )
        vectors = space.vectors(rows)
        for sign in (1, -1):
            query = sign * np.abs(rng.standard_normal(space.width))
            for valid in (None, lambda i: i.sum(1) % 2 == 0, lambda i: i.sum(1) % 97 == 0):
                keep = np.ones(len(rows), bool) if valid is None else valid(rows)
                expected = nearest(vectors[keep], rows[keep], query, metric, 10)
                assert np.array_equal(space.nearest(query, 10, metric, valid).indices, expected)
            far = nearest(vectors, rows, query, metric, len(rows))[-1]
            only = space.nearest(query, 1, metric, lambda i, far=far: (i == far).all(1))
            assert np.array_equal(only.indices[0], far)


@pytest.mark.parametrize("metric", METRICS)
def test_none_valid_is_a_clear_error(network, route, metric):
    space = PathSpace(network, np.random.default_rng(0).standard_normal((30, 2)))
    with pytest.raises(NoValidAction, match="valid"):
        space.nearest(np.ones(space.width), 1, metric, lambda i: np.zeros(len(i), bool))


def test_equal_nodes_give_paths_in_order_of_indices(network, route):
    space = PathSpace(network, np.ones((30, 2)))
    rows = network.list()
    for metric in METRICS:
        for query in (np.zeros(space.width), np.ones(space.width)):
            expected = nearest(space.vectors(rows), rows, query, metric, 5)
            assert np.array_equal(space.nearest(query, 5, metric).indices, expected)


def test_sampling_is_uniform_over_actions():
    """Two demands on a diamond with a cross link: every simple path as often as any other."""
    edges = np.array([[0, 0, 1, 2, 1, 2, 3], [1, 2, 3, 3, 2, 1, 0]])
    space = PathSpace(PathSet(edges, 4, 3, [0, 1], [3, 0]), np.ones((4, 1)))
    rows = space.list()
    drawn = Counter(map(tuple, space.sample(np.random.default_rng(0), 3000).tolist()))
    assert set(drawn) == set(map(tuple, rows.tolist()))
    assert max(drawn.values()) < 1.25 * 3000 / len(rows)
    assert min(drawn.values()) > 0.75 * 3000 / len(rows)


def test_caps_and_plans(network):
    with pytest.raises(TooManyActions):
        network.list(cap=100)
    few = PathSet(np.array([[0, 1], [1, 2]]), 3, 2, [0], [2])
    assert PathSpace(few, np.ones((3, 1))).plan().search == "listed"
    rng = np.random.default_rng(1)
    many = PathSet(rng.integers(0, 40, (2, 240)), 40, 6)
    assert PathSpace(many, np.ones((40, 1))).plan().search == "path"


def test_wrong_shapes_are_named(network):
    with pytest.raises(ValueError, match="node vectors must have shape"):
        PathSpace(network, np.ones((29, 2)))
    with pytest.raises(ValueError, match="40 demands and 3 demand vectors"):
        PathSpace(network, np.ones((30, 2)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="edges must lie in"):
        PathSet(np.array([[0], [5]]), 3, 2)
