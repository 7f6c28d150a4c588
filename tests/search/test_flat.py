"""Flat search: the plain product and FAISS give one and the same answer."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.search import METRICS, FlatSpace, NoValidAction, ProductSpace
from tests.search.brute_force import nearest


@pytest.mark.parametrize("backend", ["product", "faiss"])
@pytest.mark.parametrize("metric", METRICS)
def test_equals_brute_force(backend, metric):
    if backend == "faiss":
        pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    for case in range(60):
        n, d = int(rng.integers(1, 200)), int(rng.integers(1, 5))
        vectors = rng.integers(-3, 4, (n, d)).astype(np.float32)
        query = rng.integers(-3, 4, d).astype(float)
        keep = rng.random(n) < (1.0, 0.5, 0.05)[case % 3]
        space = FlatSpace(vectors, backend)
        rows = space.list()
        valid = [None, keep, lambda i, keep=keep: keep[i[:, 0]]][case % 3]
        for k in (1, 10):
            expected = nearest(vectors[keep].astype(float), rows[keep], query, metric, k)
            if not len(expected):
                with pytest.raises(NoValidAction):
                    space.nearest(query, k, metric, valid)
            else:
                assert np.array_equal(space.nearest(query, k, metric, valid).indices, expected)


@pytest.mark.parametrize("metric", METRICS)
def test_flat_and_product_agree(metric):
    rng = np.random.default_rng(1)
    product = ProductSpace([rng.standard_normal((60, 4)), rng.standard_normal((50, 3))])
    rows = product.list()
    flat = FlatSpace(product.vectors(rows))
    for _ in range(20):
        query = rng.standard_normal(7)
        ours, theirs = product.nearest(query, 10, metric), flat.nearest(query, 10, metric)
        assert np.array_equal(ours.indices, rows[theirs.indices[:, 0]])
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-12)


def test_plans_say_why():
    assert FlatSpace(np.ones((3, 2))).plan().search == "flat"
    small = ProductSpace([np.ones((30, 2))] * 2)
    large = ProductSpace([np.ones((3000, 2))] * 2)
    assert small.plan().search == "listed"
    plan = large.plan("l2")
    assert plan.search == "product"
    assert plan.actions == 9_000_000
    assert "in order" in plan.reason


def test_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="did you mean 'faiss'"):
        FlatSpace(np.ones((2, 2)), "fais")
