"""Sets far too large to list: time aside, memory and exactness."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from lagco.search import METRICS, ProductSpace


def half(indices):
    """Half of the actions, without order."""
    mixed = indices @ np.array([73_856_093, 19_349_663, 83_492_791])[: indices.shape[1]]
    return (mixed >> 7) % 2 == 0


def components(m, n=10_000, width=16):
    rng = np.random.default_rng(m)
    return [rng.standard_normal((n, width)).astype(np.float32) for _ in range(m)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("valid", [None, half])
def test_memory_grows_with_the_components_only(metric, valid):
    """10^12 triples in less memory than a hundred thousand of their vectors would take."""
    space = ProductSpace(components(3))
    query = np.random.default_rng(0).standard_normal(48)
    space.nearest(query, 1, metric, valid)
    tracemalloc.start()
    space.nearest(query, 1, metric, valid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6


@pytest.mark.parametrize("metric", ["l2", "inner"])
@pytest.mark.parametrize("valid", [None, half])
def test_a_trillion_triples_when_scores_add(metric, valid):
    """Whatever beats the answer has every component near its own best: few enough to try."""
    tables = components(3)
    space = ProductSpace(tables)
    for seed in range(5):
        query = np.random.default_rng(seed).standard_normal(48)
        answer = space.nearest(query, 1, metric, valid)
        parts = np.split(query, 3)
        if metric == "l2":
            cost = [((t - q) ** 2).sum(1) for t, q in zip(tables, parts, strict=True)]
        else:
            cost = [-(t @ q) for t, q in zip(tables, parts, strict=True)]
        own = sum(c[i] for c, i in zip(cost, answer.indices[0], strict=True))
        room = own - sum(c.min() for c in cost) + 1e-9
        near = [np.flatnonzero(c <= c.min() + room) for c in cost]
        i, j, k = np.meshgrid(*near, indexing="ij")
        better = cost[0][i] + cost[1][j] + cost[2][k] < own - 1e-9
        rows = np.column_stack([i[better], j[better], k[better]])
        assert valid is not None or not len(rows)
        assert valid is None or (not valid(rows).any() and valid(answer.indices).all())


@pytest.mark.slow
def test_a_trillion_triples_under_cosine():
    """All 10^8 pairs, each with the hull of the third component, where its best partner lies."""
    tables = components(3)
    query = np.random.default_rng(0).standard_normal(48)
    answer = ProductSpace(tables).nearest(query, 1, "cosine")
    parts = np.split(query, 3)
    dots = [t.astype(float) @ q for t, q in zip(tables, parts, strict=True)]
    norms = [(t.astype(float) ** 2).sum(1) for t in tables]
    hull = upper_left_hull(norms[2], dots[2])
    best = -np.inf
    for i in range(len(dots[0])):
        d = dots[0][i] + dots[1][:, None] + dots[2][hull]
        n = norms[0][i] + norms[1][:, None] + norms[2][hull]
        best = max(best, float((d / np.sqrt(n)).max()))
    assert best > 0
    np.testing.assert_allclose(answer.scores[0] * np.linalg.norm(query), best, rtol=1e-12)


def upper_left_hull(x, y):
    """Positions of the vertices that maximise y - s x for some s >= 0."""
    kept: list[int] = []
    for p in np.lexsort((-y, x)).tolist():
        if kept and y[p] <= y[kept[-1]]:
            continue
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[p] - x[a]) > (y[p] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(p)
    return np.array(kept)
