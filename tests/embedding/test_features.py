"""Features: types, norms, extractors, poolings, and updates that touch only what changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagco.core.graph import GraphView
from lagco.core.pooling import Max, Mean, Sum
from lagco.core.spec import Attribute
from lagco.embedding import text_encoder
from lagco.embedding.features.extraction import fit_reader
from lagco.embedding.features.layout import ViewLayout, table_layout
from lagco.embedding.features.matrices import NEW, REWIRED, SAME, TOUCHED, ViewFeatures
from lagco.embedding.features.norms import apply_norm
from lagco.embedding.features.reduction import fit_reduction
from lagco.errors import SpecError
from tests.embedding.listings import VULNERABILITIES, fake_sentence_encoder


def features_of(view: GraphView, nodes=None, edges=None) -> ViewFeatures:
    nodes, edges = nodes or {}, edges or {}
    node_readers = {k: fit_reader(k, a, [view.nodes[k]], 32) for k, a in nodes.items()}
    edge_readers = {k: fit_reader(k, a, [view.edge_attributes[k]], 32) for k, a in edges.items()}
    layout = ViewLayout(
        table_layout(nodes, {k: r.width for k, r in node_readers.items()}),
        table_layout(edges, {k: r.width for k, r in edge_readers.items()}),
        view.directed,
    )
    features = ViewFeatures("view", layout, node_readers, edge_readers)
    features.sync(view)
    return features


def test_norms_scale_over_one_graph():
    column = np.array([[1.0], [2.0], [5.0]])
    assert apply_norm("min_max", column)[:, 0].tolist() == [0.0, 0.25, 1.0]
    z = apply_norm("z_score", column)
    assert abs(z.mean()) < 1e-6 and abs(z.std() - 1) < 1e-6
    assert np.allclose(apply_norm("l1", column)[:, 0], [0.125, 0.25, 0.625])
    assert np.allclose(np.linalg.norm(apply_norm("l2", column)), 1.0)
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert np.allclose(apply_norm("l2", rows), [[0.6, 0.8], [0.0, 0.0]])
    assert np.allclose(apply_norm("l1", rows), [[3 / 7, 4 / 7], [0.0, 0.0]])


@pytest.mark.parametrize("norm", ["min_max", "z_score", "l1", "l2"])
def test_what_cannot_be_scaled_becomes_zero(norm):
    assert not apply_norm(norm, np.zeros((4, 1))).any()
    assert apply_norm(norm, np.zeros((0, 1))).shape == (0, 1)
    if norm in ("min_max", "z_score"):
        assert not apply_norm(norm, np.full((4, 1), 7.0)).any()


def test_columns_stand_in_the_declared_order_and_can_be_found():
    view = GraphView(
        3, [[0, 1], [1, 2]],
        nodes={"flag": np.array([1, 0, 1]), "kind": ["b", "a", "b"], "at": np.eye(3)[:, :2]},
        edge_attributes={"w": np.array([2.0, 4.0])},
    )  # fmt: skip
    features = features_of(
        view,
        {
            "flag": Attribute(type="binary"),
            "kind": Attribute(type="categorical", categories=["a", "b"]),
            "at": Attribute(size=2),
        },
        {"w": Attribute(norm="min_max")},
    )
    assert features.nodes.matrix.tolist() == [[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
    assert features.edges.matrix.tolist() == [[0], [1]]
    assert features.layout.nodes["at"].columns == slice(3, 5)
    assert features.layout.nodes.columns(["at", "flag"]) == [3, 4, 0]
    with pytest.raises(SpecError, match="did you mean 'flag'"):
        features.layout.nodes["flagg"]


def test_lists_are_pooled_and_an_empty_one_is_zero():
    view = GraphView(3, np.zeros((2, 0)), nodes={"tags": [["x", "y", "y"], [], "x"]})
    categories = ["x", "y"]
    for pooling, first in ((Mean, [1 / 3, 2 / 3]), (Sum, [1, 2]), (Max, [1, 1])):
        attribute = Attribute(extractor="onehot", categories=categories, pooling=pooling)
        matrix = features_of(view, {"tags": attribute}).nodes.matrix
        assert np.allclose(matrix, [first, [0, 0], [1, 0]])
    numbers = GraphView(3, np.zeros((2, 0)), nodes={"v": [[1.0, 3.0], [], [5.0]]})
    assert features_of(numbers, {"v": Attribute()}).nodes.matrix.tolist() == [[2], [0], [5]]


def test_callable_extractors_and_their_reduction():
    view = GraphView(4, np.zeros((2, 0)), nodes={"word": ["a", "bb", "ccc", "bb"]})
    length = Attribute(extractor=lambda word: [len(word), len(word) ** 2])
    assert features_of(view, {"word": length}).nodes.matrix[:, 0].tolist() == [1, 2, 3, 2]
    reduced = Attribute(extractor=lambda word: [len(word), 2 * len(word)], reduce=1)
    matrix = features_of(view, {"word": reduced}).nodes.matrix
    assert matrix.shape == (4, 1) and np.allclose(np.diff(matrix[:3, 0]), np.sqrt(5))
    odd = Attribute(extractor=lambda word: [0.0] * len(word))
    with pytest.raises(SpecError, match="widths"):
        features_of(view, {"word": odd})


def test_text_is_reduced_to_a_fixed_width():
    view = GraphView(2, np.zeros((2, 0)), nodes={"vulns": [list(VULNERABILITIES[:3]), []]})
    with text_encoder(fake_sentence_encoder):
        assert (
            features_of(view, {"vulns": Attribute(extractor="bert")}).nodes.columns.shape[0] == 32
        )
        full = features_of(view, {"vulns": Attribute(extractor="bert", reduce=384)})
        assert full.nodes.columns.shape[0] == 48  # all there is
        assert not full.nodes.matrix[1].any()
        wanted = fake_sentence_encoder(list(VULNERABILITIES[:3])).mean(axis=0)
        assert np.allclose(full.nodes.matrix[0], wanted, atol=1e-6)


def test_reduction_keeps_distances_when_wide_enough():
    vectors = np.random.default_rng(0).normal(size=(6, 20))
    reduced = fit_reduction(vectors, 8)(vectors)
    assert reduced.shape == (6, 8)
    before = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    assert np.allclose(before, np.linalg.norm(reduced[:, None] - reduced[None], axis=2), atol=1e-4)


def test_no_attributes_at_all_gives_a_column_of_ones():
    features = features_of(GraphView(3, [[0], [1]]))
    assert features.nodes.matrix.tolist() == [[1], [1], [1]]
    assert features.edges.matrix.tolist() == [[1]]


@pytest.mark.parametrize(
    ("column", "attribute", "message"),
    [
        (["a", "z"], Attribute(type="categorical", categories=["a", "b"]), "'z' is none of"),
        (np.array([0, 5]), Attribute(type="categorical", categories=3), "5 is none of"),
        (np.zeros((2, 3)), Attribute(size=2), "3 numbers, the declaration says size=2"),
        (np.array([0.0, np.nan]), Attribute(), "row 1 is not a finite number"),
        (np.array([0.0, np.inf]), Attribute(norm="l1"), "not a finite"),
        (["a", "b"], Attribute(), "declare an extractor"),
        ([3, 4], Attribute(extractor="bert"), "'bert' reads texts"),
        (["a", "b"], Attribute(extractor="onehot"), "needs categories="),
    ],
)
def test_values_that_do_not_fit_are_named(column, attribute, message):
    view = GraphView(2, np.zeros((2, 0)), nodes={"thing": column})
    with pytest.raises(SpecError, match=message):
        features_of(view, {"thing": attribute})


ATTRIBUTES = {
    "plain": Attribute(),
    "flag": Attribute(type="binary"),
    "scaled": Attribute(norm="min_max"),
    "pair": Attribute(size=2, norm="l2"),
    "kind": Attribute(type="categorical", categories=3),
    "tags": Attribute(extractor="onehot", categories=["x", "y"]),
    "fixed": Attribute(static=True),
}


def _columns(rng: np.random.Generator, n: int) -> dict:
    return {
        "plain": rng.normal(size=n),
        "flag": rng.integers(2, size=n).astype(np.int8),
        "scaled": rng.normal(size=n).astype(np.float32),
        "pair": rng.normal(size=(n, 2)),
        "kind": rng.integers(3, size=n),
        "tags": [["x", "y"][: rng.integers(3)] for _ in range(n)],
        "fixed": rng.normal(size=n),
        "unread": rng.normal(size=n),
    }


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 8))
def test_updates_equal_reading_again(seed, n):
    rng = np.random.default_rng(seed)
    view = GraphView(n, np.zeros((2, 0)), nodes=_columns(rng, n))
    features = features_of(view, ATTRIBUTES)
    for _ in range(6):
        fresh = _columns(rng, n)
        for name in rng.permutation(list(fresh))[: rng.integers(1, 4)]:
            row = int(rng.integers(n))
            if isinstance(fresh[name], list) or rng.random() < 0.5:
                view.set_node(name, row, fresh[name][row])
            elif rng.random() < 0.5:
                view.set_node(name, None, fresh[name])
            else:
                rows = np.unique(rng.integers(n, size=2))
                view.set_node(name, rows, fresh[name][rows])
        features.nodes.clear()
        before = features.nodes.columns.copy()
        assert features.sync(view) == TOUCHED
        again = features_of(view, ATTRIBUTES)
        assert np.array_equal(features.nodes.columns, again.nodes.columns)
        moved = np.flatnonzero((before != features.nodes.columns).any(axis=0))
        noted = features.nodes.dirty.any(axis=0)
        assert set(moved) == set(np.flatnonzero(noted))
    assert features.sync(view) == SAME
    view.replace(1, np.zeros((2, 0)), nodes=_columns(rng, 1))
    assert features.sync(view) == NEW and features.nodes.columns.shape[1] == 1


@pytest.mark.parametrize("kind", ["bool", "i1", "u8", "i8", "f2", "f4", "f8", ">f4"])
def test_any_numeric_type_is_read(kind):
    values = np.array([0, 1, 1]).astype(kind)
    view = GraphView(3, np.zeros((2, 0)), nodes={"a": values})
    features = features_of(view, {"a": Attribute()})
    assert features.nodes.matrix[:, 0].tolist() == [0, 1, 1]
    view.set_node("a", np.array([0, 2]), np.array([1, 0]).astype(kind))
    view.set_node("a", slice(1, 2), 0)
    features.sync(view)
    assert features.nodes.matrix[:, 0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("rows", [3, -4, np.array([0, 7]), np.ones(4, dtype=bool)])
def test_rows_that_are_not_there_are_refused(rows):
    view = GraphView(3, np.zeros((2, 0)), nodes={"a": np.zeros(3)})
    features = features_of(view, {"a": Attribute()})
    view.touch_node("a", rows)
    with pytest.raises(SpecError, match="was noted as changed, there are 3"):
        features.sync(view)


def test_a_column_of_another_length_is_refused():
    view = GraphView(3, np.zeros((2, 0)), nodes={"a": np.zeros(3)})
    features = features_of(view, {"a": Attribute()})
    view.nodes["a"] = np.zeros(2)
    view.touch_node("a")
    with pytest.raises(SpecError, match="a has 2 rows, the view has 3"):
        features.sync(view)


def test_what_is_added_is_read_and_nothing_else():
    age = np.array([1.0, 2.0, 3.0, 4.0])
    view = GraphView(2, [[0], [1]], nodes={"age": age[:2], "rank": age[:2].copy()},
                     edge_attributes={"length": np.array([5.0])})  # fmt: skip
    attributes = {"age": Attribute(), "rank": Attribute(norm="min_max")}
    features = features_of(view, attributes, {"length": Attribute()})
    features.clear()
    age[0] = 9.0  # not noted, so nobody looks at it
    view.extend(
        [[1, 3], [2, 0]],
        num_nodes=4,
        nodes={"age": age, "rank": np.array([1.0, 2.0, 3.0, 5.0])},
        edge_attributes={"length": np.array([5.0, 6.0, 7.0])},
    )
    assert features.sync(view) == REWIRED
    assert features.nodes.matrix.tolist() == [[1, 0], [2, 0.25], [3, 0.5], [4, 1]]
    assert features.edges.matrix.tolist() == [[5], [6], [7]]
    assert sorted(features.edges.changed[0, : features.edges.counts[0]]) == [1, 2]
    view.move_edges(0, 3)
    assert features.sync(view) == REWIRED
    assert features.nodes.rows == 4 and features.edges.rows == 3
