"""Product search equals brute force: ties, dependences, exclusions, all kinds of validity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagco.search import (
    METRICS,
    Dependence,
    NoValidAction,
    PathSet,
    PathSpace,
    ProductSpace,
    TooManyActions,
    search,
)
from lagco.search.metrics import listed_kernels
from tests.search.brute_force import nearest, score


class Rows:
    """A mask that answers row by row, and counts how often it is asked."""

    def __init__(self, mask):
        self.mask, self.asked = mask, 0

    def __call__(self, indices):
        return self.mask[tuple(indices.T)]

    def rows(self, prefixes):
        self.asked += 1
        return self.mask[tuple(prefixes.T)]


def random_case(rng, case):
    """A space, its rows that obey its conditions, and whole-numbered vectors so that ties abound."""
    m = int(rng.integers(1, 4))
    span = int(rng.integers(1, 4))
    kind = rng.choice([np.float32, np.float64])
    tables = [
        rng.integers(-span, span + 1, (rng.integers(1, 9), rng.integers(1, 4))).astype(kind)
        for _ in range(m)
    ]
    query = rng.integers(-span, span + 1, sum(t.shape[1] for t in tables)).astype(float)
    if case % 10 == 0:  # nothing but negative similarities
        query, tables = -np.abs(query), [np.abs(t) + 1 for t in tables]
    rows = np.array(list(itertools.product(*[range(len(t)) for t in tables])))
    depends, different = {}, []
    if m >= 2 and case % 3 == 0:
        p, c = sorted(rng.choice(m, 2, replace=False).tolist())
        linked = rng.random((len(tables[p]), len(tables[c]))) < 0.6
        offsets = np.concatenate([[0], np.cumsum(linked.sum(1))])
        depends[c] = Dependence(p, offsets, np.nonzero(linked)[1])
        rows = rows[linked[rows[:, p], rows[:, c]]]
    if m >= 2 and case % 4 == 0:
        different = [(0, 1)]
        rows = rows[rows[:, 0] != rows[:, 1]]
    return ProductSpace(tables, depends=depends, different=different), rows, query


def random_validity(rng, space, rows):
    """(what to pass as valid, the rows that are valid)."""
    kind = rng.integers(0, 6)
    if kind == 0:
        return None, rows
    mask = rng.random(space.shape) < (0.5 if kind < 3 else 0.1)
    if kind >= 4:
        mask[:] = False
        if kind == 4 and len(rows):
            mask[tuple(rows[rng.integers(len(rows))])] = True
    valid = [mask, Rows(mask), lambda i: mask[tuple(i.T)]][int(rng.integers(3))]
    return valid, rows[mask[tuple(rows.T)]] if len(rows) else rows


def found(space, *args):
    try:
        return space.nearest(*args).indices
    except NoValidAction:
        return np.empty((0, len(space.shape)), np.int64)


@pytest.mark.parametrize("block", range(5))
def test_equals_brute_force(route, block):
    rng = np.random.default_rng(block)
    for case in range(120):
        space, rows, query = random_case(rng, case)
        valid, kept = random_validity(rng, space, rows)
        allowed = None
        if case % 5 == 0:
            allowed = [None if rng.random() < 0.5 else rng.random(n) < 0.7 for n in space.shape]
            for c, mask in enumerate(allowed):
                kept = kept if mask is None else kept[mask[kept[:, c]]]
        vectors = space.vectors(kept) if len(kept) else None
        for metric, k in itertools.product(METRICS, (1, 10)):
            expected = nearest(vectors, kept, query, metric, k)
            got = found(space, query, k, metric, valid, allowed)
            assert np.array_equal(got, expected), (case, metric, k)


@settings(max_examples=150)
@given(st.data())
def test_equals_brute_force_on_chosen_numbers(data):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    value = st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5, 1e-3, 1e3])
    tables = [np.array(data.draw(st.lists(value, min_size=n, max_size=n)))[:, None] for n in sizes]
    query = np.array(data.draw(st.lists(value, min_size=len(sizes), max_size=len(sizes))))
    space = ProductSpace(tables)
    rows = space.list()
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    mask = mask.reshape(space.shape)
    kept = rows[mask.ravel()]
    for metric in METRICS:
        if not len(kept):
            with pytest.raises(NoValidAction):
                space.nearest(query, 3, metric, mask)
            continue
        vectors = space.vectors(kept)
        best = space.nearest(query, 3, metric, mask)
        expected = nearest(vectors, kept, query, metric, 3)
        ours = [score(v, query, metric) for v in space.vectors(best.indices)]
        theirs = [score(v, query, metric) for v in space.vectors(expected)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(best.scores, ours, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sign", [1, -1])
def test_large_products_agree_with_scoring_all(metric, sign):
    rng = np.random.default_rng(4)
    for sizes, offset in [((300, 400), 0.0), ((60, 50, 70), 0.0), ((300, 400), 3.0)]:
        tables = [rng.standard_normal((n, 5)).astype(np.float32) + offset for n in sizes]
        query = sign * np.abs(rng.standard_normal(5 * len(sizes)))
        space = ProductSpace(tables)
        rows = space.list()
        vectors = space.vectors(rows)
        blocked = rng.random(sizes) < 0.5
        hidden = np.zeros(sizes, bool)
        hidden[tuple(n // 2 for n in sizes)] = hidden[tuple(n // 3 for n in sizes)] = True
        for mask in (None, blocked, hidden):
            keep = slice(None) if mask is None else mask.ravel()
            expected = nearest(vectors[keep], rows[keep], query, metric, 10)
            asked = [mask] if mask is None else [mask, lambda i, m=mask: m[tuple(i.T)]]
            for valid in asked:
                got = space.nearest(query, 10, metric, valid)
                assert np.array_equal(got.indices, expected)
                again = [score(v, query, metric) for v in space.vectors(expected)]
                np.testing.assert_allclose(got.scores, again, rtol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_an_invalid_block_around_the_nearest(metric):
    rng = np.random.default_rng(5)
    tables = [rng.standard_normal((200, 4)) for _ in range(2)]
    query = rng.standard_normal(8)
    space = ProductSpace(tables)
    rows = space.list()
    order = nearest(space.vectors(rows), rows, query, metric, len(rows))
    mask = np.ones(space.shape, bool)
    mask[tuple(order[:30_000].T)] = False
    for valid in (mask, Rows(mask), lambda i: mask[tuple(i.T)]):
        assert np.array_equal(space.nearest(query, 10, metric, valid).indices, order[30_000:30_010])


def test_row_predicates_are_asked_by_rows_when_little_is_valid(monkeypatch):
    monkeypatch.setattr(search, "ROWS_AFTER", 10_000)
    rng = np.random.default_rng(6)
    tables = [rng.standard_normal((500, 4)) for _ in range(2)]
    mask = np.zeros((500, 500), bool)
    mask[77, 88] = True
    for metric in METRICS:
        rows = Rows(mask)
        got = ProductSpace(tables).nearest(np.ones(8), 1, metric, rows)
        assert got.indices.tolist() == [[77, 88]]
        assert 0 < rows.asked < 50


@pytest.mark.parametrize("metric", METRICS)
def test_equal_elements_and_zero_queries_do_not_blow_up(metric):
    tables = [np.ones((3000, 4)), np.ones((3000, 4))]
    for query in (np.ones(8), np.zeros(8), -np.ones(8)):
        got = ProductSpace(tables).nearest(query, 3, metric)
        assert got.indices.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_chains_of_dependences():
    """The third component depends on the second, the second on the first."""
    rng = np.random.default_rng(7)
    tables = [rng.integers(-2, 3, (n, 2)).astype(float) for n in (4, 5, 6)]
    second = rng.random((4, 5)) < 0.5
    third = rng.random((5, 6)) < 0.5

    def csr(linked, on):
        return Dependence(on, np.append(0, np.cumsum(linked.sum(1))), np.nonzero(linked)[1])

    space = ProductSpace(tables, depends={1: csr(second, 0), 2: csr(third, 1)})
    i, j, k = np.nonzero(second[:, :, None] & third[None])
    rows = np.column_stack([i, j, k])
    assert space.size == len(rows)
    assert np.array_equal(space.list(), rows)
    query = rng.integers(-2, 3, 6).astype(float)
    for metric in METRICS:
        expected = nearest(space.vectors(rows), rows, query, metric, 10)
        assert np.array_equal(space.nearest(query, 10, metric).indices, expected)


def test_no_admissible_pair_means_no_action():
    tables = [np.ones((3, 2)), np.zeros((0, 2))]
    depends = {1: Dependence(0, np.zeros(4, np.int64), np.zeros(0, np.int64))}
    space = ProductSpace(tables, depends=depends)
    assert space.size == 0 and len(space.list()) == 0
    for metric in METRICS:
        for valid in (None, lambda rows: np.ones(len(rows), np.bool_)):
            with pytest.raises(NoValidAction):
                space.nearest(np.ones(4), 1, metric, valid)


def test_renewed_vectors_give_what_a_new_space_gives():
    rng = np.random.default_rng(5)
    first, second = ([rng.normal(size=(n, 2)) for n in (4, 6)] for _ in range(2))
    rows = rng.permutation(6)
    depends = {1: Dependence(0, np.array([0, 1, 3, 3, 6]), rows)}
    space = ProductSpace(first, depends=depends, different=[(0, 1)])
    kept = space.nearest(np.ones(4), 3).indices
    fresh = ProductSpace(second, depends=depends, different=[(0, 1)])
    for metric in METRICS:
        query = rng.normal(size=4)
        got, expected = (
            space.renewed(second).nearest(query, 3, metric),
            fresh.nearest(query, 3, metric),
        )
        np.testing.assert_array_equal(got.indices, expected.indices)
        np.testing.assert_array_equal(got.scores, expected.scores)
    np.testing.assert_array_equal(space.nearest(np.ones(4), 3).indices, kept)


def test_exclusions_compare_ids_not_positions():
    tables = [np.eye(3), np.eye(3)[[2, 0]]]
    space = ProductSpace(tables, different=[(0, 1)], ids=[None, [2, 0]])
    query = np.array([0, 0, 1.0, 0, 0, 0.9])
    assert space.nearest(query, 1, "inner").indices.tolist() == [[2, 1]]
    assert all(i != (2, 0)[j] for i, j in space.list())
    assert all(i != (2, 0)[j] for i, j in space.sample(np.random.default_rng(0), 50))


@pytest.mark.parametrize("pooling", ["mean", "sum", "max", "min", lambda x: x.prod(axis=1)])
@pytest.mark.parametrize("metric", METRICS)
def test_pooled_components(pooling, metric):
    rng = np.random.default_rng(8)
    tables = [rng.integers(-4, 5, (n, 3)).astype(float) for n in (9, 8)]
    space = ProductSpace(tables, pooling=pooling)
    query = rng.integers(-4, 5, 3).astype(float)
    rows = space.list()
    got = space.nearest(query, 5, metric)
    expected = nearest(space.vectors(rows), rows, query, metric, 5)
    assert np.array_equal(got.indices, expected)
    assert space.plan(metric).search in ("pooled-list", "listed")


def test_listing_has_a_cap_with_a_clear_error():
    space = ProductSpace([np.ones((2000, 2)), np.ones((2000, 2))], pooling="max")
    with pytest.raises(TooManyActions, match=r"4000000 actions.*cap is 2000000"):
        space.nearest(np.ones(2), 1, "l2")
    with pytest.raises(TooManyActions):
        space.plan("l2")
    summed = ProductSpace([np.ones((2000, 2)), np.ones((2000, 2))], pooling="sum")
    assert summed.nearest(np.ones(2), 1, "inner").indices.tolist() == [[0, 0]]


def test_fewer_valid_than_asked_for():
    space = ProductSpace([np.arange(4.0)[:, None], np.arange(3.0)[:, None]])
    mask = np.zeros((4, 3), bool)
    mask[2, 1] = mask[0, 0] = True
    assert space.nearest(np.ones(2), 10, "l2", mask).indices.tolist() == [[2, 1], [0, 0]]


@pytest.mark.parametrize("metric", METRICS)
def test_none_valid_is_a_clear_error(route, metric):
    space = ProductSpace([np.random.default_rng(0).standard_normal((60, 3))] * 2)
    never = np.zeros((60, 60), bool)
    for valid in (never, Rows(never), lambda i: np.zeros(len(i), bool)):
        with pytest.raises(NoValidAction, match="none of the 3600 actions is valid"):
            space.nearest(np.ones(6), 1, metric, valid)
    with pytest.raises(NoValidAction):
        space.nearest(np.ones(6), 1, metric, None, [np.zeros(60, bool), None])


def test_validity_is_asked_late():
    asked = []

    def valid(indices):
        asked.append(len(indices))
        return indices.sum(1) % 2 == 0

    rng = np.random.default_rng(9)
    ProductSpace([rng.standard_normal((1000, 4))] * 3).nearest(np.ones(12), 1, "cosine", valid)
    assert sum(asked) < 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": np.ones(3)}, "query must have shape"),
        ({"query": np.array([np.nan, 1, 1, 1])}, "not finite"),
        ({"metric": "cosin"}, "did you mean 'cosine'"),
        ({"k": 0}, "k must be at least 1"),
        ({"valid": np.ones((2, 2), bool)}, r"shape \(3, 3\)"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    arguments = {"query": np.ones(4), "k": 1, "metric": "l2", "valid": None} | change
    with pytest.raises(ValueError, match=message):
        ProductSpace([np.ones((3, 2)), np.ones((3, 2))]).nearest(**arguments)


def test_wrong_predicates_and_tables_are_named():
    with pytest.raises(TypeError, match="must return 9 booleans"):
        ProductSpace([np.ones((3, 2)), np.ones((3, 2))]).nearest(
            np.ones(4), 1, "l2", lambda i: np.ones(2)
        )
    with pytest.raises(ValueError, match="component 1 holds values that are not finite"):
        ProductSpace([np.ones((3, 1)), np.full((3, 1), np.inf)]).nearest(np.ones(2), 1, "l2")
    with pytest.raises(ValueError, match="can only depend on an earlier one"):
        ProductSpace([np.ones((1, 1))], depends={0: Dependence(0, [0, 1], [0])})


@pytest.mark.parametrize("paths", [False, True])
def test_all_actions_are_scored_once_however_many_are_invalid(paths, monkeypatch):
    rng = np.random.default_rng(3)
    if paths:
        nodes = np.arange(8)
        edges = np.array([(u, v) for u in nodes for v in nodes if u != v]).T
        space = PathSpace(PathSet(edges, 8, [4], [0], [7]), rng.normal(size=(8, 4)))
        query, kernel = rng.normal(size=space.width), "score_rows"
    else:
        space = ProductSpace([rng.normal(size=(90, 3)), rng.normal(size=(80, 3))])
        query, kernel = rng.normal(size=6), "score_tuples"
    loops, calls, asked = listed_kernels(), [], []
    score_all = getattr(loops, kernel)
    monkeypatch.setattr(loops, kernel, lambda *given: (calls.append(1), score_all(*given))[1])
    everything = space.nearest(query, 60)

    def valid(rows):
        asked.append(len(rows))
        return np.arange(sum(asked) - len(rows), sum(asked)) >= 50

    calls.clear()
    last = space.nearest(query, 3, valid=valid)
    assert len(asked) > 1
    assert calls == [1]
    assert (last.indices == everything.indices[50:53]).all()
