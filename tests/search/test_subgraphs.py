"""Search among connected subgraphs equals brute force over all connected sets of nodes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lagco.search import METRICS, NoValidAction, SubgraphSet, SubgraphSpace, TooManyActions
from lagco.search.subgraphs import search
from lagco.search.subgraphs.search import POOLINGS
from tests.search.brute_force import connected_sets, costs, nearest

POOLED = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "root-sum": lambda x: x.sum(axis=0) / np.sqrt(len(x)),
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(axis=0),
}


def random_case(rng, case, pooling):
    """A space over a small random graph of whole numbers, its rows and vectors by brute force."""
    n = int(rng.integers(1, 11))
    edges = rng.integers(0, n, (2, int(rng.integers(0, 2 * n))))
    most = int(rng.integers(1, 6))
    allowed = rng.random(n) < (1.0 if case % 2 else 0.8)
    subgraphs = SubgraphSet(edges, n, most, allowed)
    nodes = connected_sets(edges, n, most, allowed)
    table = rng.integers(-3, 4, (n, 2)).astype(float)
    offset = rng.integers(-2, 3, 2) if case % 3 == 0 else np.zeros(2)
    vectors = [POOLED[pooling](table[row[row < n]]) + offset for row in nodes]
    rows, vectors = nodes, np.array(vectors).reshape(-1, 2)
    leading = None
    if case % 4 == 0:
        leading = np.arange(3)[:, None] * 2, rng.integers(-3, 4, (3, 1)).astype(float)
        rows = np.column_stack([np.repeat(leading[0], len(nodes), axis=0), np.tile(rows, (3, 1))])
        lead = np.repeat(leading[1], len(nodes), axis=0)
        vectors = np.column_stack([lead, np.tile(vectors, (3, 1))])
    return SubgraphSpace(subgraphs, table, pooling, offset, leading), rows, vectors


@pytest.mark.parametrize("pooling", POOLINGS)
def test_equals_brute_force(route, pooling):
    """Rows themselves where sums are exact; scores where they are rounded."""
    rng = np.random.default_rng(7)
    exact = pooling in ("sum", "max", "min")
    for case in range(40):
        space, rows, vectors = random_case(rng, case, pooling)
        assert np.array_equal(space.list(), rows)
        np.testing.assert_allclose(space.vectors(rows), vectors, atol=1e-12)
        keep = rng.random(len(rows)) < (1.0, 0.5, 0.1)[case % 3]
        known = {tuple(row): bool(ok) for row, ok in zip(rows.tolist(), keep, strict=True)}

        def predicate(indices, known=known):
            return np.array([known[tuple(row)] for row in indices.tolist()], bool)

        valid = None if keep.all() else predicate
        for metric in METRICS:
            query = rng.integers(-3, 4, space.width).astype(float) * (1 + 3 * (case % 2))
            if not keep.any():
                with pytest.raises(NoValidAction):
                    space.nearest(query, 1, metric, valid)
                continue
            for k in (1, 3, len(rows)):
                found = space.nearest(query, k, metric, valid)
                wanted = nearest(vectors[keep], rows[keep], query, metric, k)
                if exact:
                    assert np.array_equal(found.indices, wanted)
                    continue
                got = costs(space.vectors(found.indices), query, metric)
                best = np.sort(costs(vectors[keep], query, metric))[:k]
                np.testing.assert_allclose(got, best, atol=1e-9)
                assert len(np.unique(found.indices, axis=0)) == len(wanted)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_most_of_a_large_set_is_never_looked_at(pooling, metric, monkeypatch):
    """On a grid with more than two million subgraphs, near a known one."""
    across = 12
    ids = np.arange(across * across).reshape(across, across)
    edges = np.concatenate(
        [
            np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()]),
            np.stack([ids[:-1].ravel(), ids[1:].ravel()]),
        ],
        axis=1,
    )
    subgraphs = SubgraphSet(edges, across * across, 8)
    assert subgraphs.listed(200_000) is None
    place = np.indices((across, across)).reshape(2, -1).T / across  # near nodes are alike
    space = SubgraphSpace(subgraphs, place - 0.5, pooling)
    aim = np.array([[40, 41, 42, 53, 54, 65, 144, 144]])
    monkeypatch.setattr(search, "WORK", 200_000)
    found = space.nearest(space.vectors(aim)[0], 1, metric)
    best = costs(space.vectors(aim), space.vectors(aim)[0], metric)[0]
    assert costs(space.vectors(found.indices), space.vectors(aim)[0], metric)[0] <= best + 1e-9


@pytest.mark.parametrize("metric", ["inner", "cosine"])
def test_a_query_of_zeros_gives_the_first_rows(metric, monkeypatch):
    """Without a look at all the actions, which cost the same."""
    rng = np.random.default_rng(0)
    subgraphs = SubgraphSet(rng.integers(0, 60, (2, 120)), 60, 4)
    leading = np.array([[0], [1]]), np.ones((2, 1))
    first = subgraphs.list()[:9]
    monkeypatch.setattr(search, "WORK", len(subgraphs.list()) // 2)
    subgraphs._listed, subgraphs._more_than = None, 10**9
    for lead in (None, leading):
        space = SubgraphSpace(subgraphs, rng.normal(size=(60, 3)), "mean", leading=lead)
        found = space.nearest(np.zeros(space.width), 9, metric)
        assert np.array_equal(found.indices[:, -4:], first)
        assert not found.indices[:, :-4].any()


def test_work_beyond_the_cap_is_a_clear_error(monkeypatch):
    rng = np.random.default_rng(0)
    space = SubgraphSpace(
        SubgraphSet(rng.integers(0, 40, (2, 200)), 40, 6), rng.normal(size=(40, 9))
    )
    monkeypatch.setattr(search, "WORK", 500)
    with pytest.raises(TooManyActions, match=r"looked at 500.*max_size"):
        space.nearest(rng.normal(size=9), 3, "l2")
    with pytest.raises(TooManyActions, match="more than 1000"):
        space.list(1000)


def test_few_are_drawn_uniformly_and_many_are_connected():
    rng = np.random.default_rng(0)
    few = SubgraphSet(np.array([[0, 1, 2], [1, 2, 0]]), 3, 2)
    counts = Counter(map(tuple, few.sample(rng, 6000).tolist()))
    assert len(counts) == len(few.list()) == 6
    assert min(counts.values()) > 800
    edges = rng.integers(0, 30, (2, 60))
    many = SubgraphSet(edges, 30, 4)
    listed = set(map(tuple, many.list().tolist()))
    many._listed, many._more_than = None, 10**9
    drawn = many.sample(rng, 300)
    assert set(map(tuple, drawn.tolist())) <= listed
    assert len({int((row < 30).sum()) for row in drawn}) == 4


def test_the_plan_says_what_and_why():
    few = SubgraphSpace(SubgraphSet(np.array([[0, 1], [1, 2]]), 3, 2), np.ones((3, 1)))
    assert few.plan().search == "listed"
    assert few.plan().actions == 5
    rng = np.random.default_rng(0)
    many = SubgraphSpace(SubgraphSet(rng.integers(0, 60, (2, 400)), 60, 5), np.ones((60, 1)))
    assert many.plan().search == "subgraph"
    assert many.plan("l2").actions is None


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="max_size"):
        SubgraphSet(np.zeros((2, 0)), 3, 0)
    with pytest.raises(ValueError, match="edges must lie"):
        SubgraphSet(np.array([[0], [5]]), 3, 2)
    with pytest.raises(ValueError, match="unknown pooling 'middle'"):
        SubgraphSpace(SubgraphSet(np.zeros((2, 0)), 3, 2), np.ones((3, 1)), "middle")
    with pytest.raises(ValueError, match="shape \\(3, d\\)"):
        SubgraphSpace(SubgraphSet(np.zeros((2, 0)), 3, 2), np.ones((4, 1)))
