"""Graph views: networkx there and back, and change tracking."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagco import GraphView
from lagco.core.graph import NODE, WIRING
from lagco.errors import SpecError

LABELS = st.one_of(
    st.integers(-50, 50), st.text(max_size=4), st.tuples(st.integers(0, 9), st.text(max_size=2))
)
VALUES = {
    "flag": st.booleans(),
    "count": st.integers(-(2**40), 2**40),
    "weight": st.floats(allow_nan=False),
    "text": st.text(max_size=5),
    "texts": st.lists(st.text(max_size=3), max_size=3),
}


@st.composite
def graphs(draw):
    kind = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    labels = draw(st.lists(LABELS, max_size=7, unique=True))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True))
    graph = kind()
    for label in labels:
        graph.add_node(label, **{name: draw(VALUES[name]) for name in names})
    for _ in range(draw(st.integers(0, 10)) if labels else 0):
        u, v = draw(st.sampled_from(labels)), draw(st.sampled_from(labels))
        graph.add_edge(u, v, **{name: draw(VALUES[name]) for name in names})
    return graph


def edges_of(graph):
    """The edges in an order of their own; without direction, so are the ends of each."""
    ends = (lambda u, v: (u, v)) if graph.is_directed() else (lambda u, v: sorted((u, v), key=repr))
    return sorted(repr((*ends(u, v), data)) for u, v, data in graph.edges(data=True))


@settings(deadline=None)
@given(graphs())
def test_networkx_round_trip(graph):
    back = GraphView.from_networkx(graph).to_networkx()
    assert type(back) is type(graph)
    try:
        labels = sorted(graph)
    except TypeError:  # labels that do not compare keep the order of the graph
        labels = list(graph)
    assert list(back) == labels
    assert dict(back.nodes(data=True)) == dict(graph.nodes(data=True))
    assert edges_of(back) == edges_of(graph)


def test_columns_keep_their_kind():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 1, 1: 2, 2: 3}, "count")
    nx.set_node_attributes(graph, {v: np.array([v, 1.0]) for v in graph}, "vector")
    nx.set_node_attributes(graph, {0: ["a"], 1: [], 2: ["b", "c"]}, "texts")
    view = GraphView.from_networkx(graph)
    assert view.nodes["count"].dtype == np.int64
    assert view.nodes["vector"].shape == (3, 2)
    assert view.nodes["texts"] == [["a"], [], ["b", "c"]]


def test_missing_attribute_names_the_node():
    graph = nx.path_graph(3)
    graph.nodes[1]["size"] = 4
    with pytest.raises(SpecError, match="node 0 has no attribute 'size'"):
        GraphView.from_networkx(graph)


def view_of(n=5):
    return GraphView(
        n,
        np.stack([np.arange(n - 1), np.arange(1, n)]),
        nodes={"flag": np.zeros(n, dtype=np.int8), "value": np.zeros(n)},
        edge_attributes={"load": np.zeros(n - 1)},
    )


def test_changes_are_per_reader():
    view = view_of()
    early = view.clock
    view.set_node("flag", 2, 1)
    late = view.clock
    view.set_node("flag", np.array([4, 0]), 1)
    view.set_edge("load", slice(1, 3), 0.5)
    assert list(view.changes_since(early).nodes["flag"]) == [0, 2, 4]
    assert list(view.changes_since(late).nodes["flag"]) == [0, 4]
    assert list(view.changes_since(late).edges["load"]) == [1, 2]
    assert "value" not in view.changes_since(early).nodes
    assert not view.changes_since(view.clock)


def test_touching_everything_and_structure():
    view = view_of()
    clock = view.clock
    view.touch_node("value")
    assert view.changes_since(clock).nodes["value"] is None
    assert not view.changes_since(clock).structure
    view.replace(2, [[0], [1]], nodes={"flag": np.ones(2)})
    assert view.changes_since(clock).structure
    assert view.num_nodes == 2


def test_added_nodes_and_edges_leave_the_others_alone():
    view = view_of()
    clock = view.clock
    view.extend(
        [[4, 5], [5, 0]],
        num_nodes=6,
        nodes={"flag": np.ones(6, dtype=np.int8), "value": np.arange(6.0)},
        edge_attributes={"load": np.ones(6)},
    )
    changes = view.changes_since(clock)
    assert changes and changes.wiring and not changes.structure and not changes.nodes
    assert view.num_nodes == 6 and view.edges.tolist() == [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]
    view.extend([[0], [3]], edge_attributes={"load": np.ones(7)})
    assert view.num_nodes == 6 and view.num_edges == 7 and view.nodes["value"][5] == 5.0
    for arguments, message in (
        (dict(num_nodes=3), r"extend\(num_nodes=3\): there are 6 nodes; use replace"),
        (dict(edges=[[0], [9]]), "node 9, but the nodes are 0 to 5"),
        (dict(edges=[[0], [1]]), "edge attribute 'load' has 7 rows for 8 edges"),
        (dict(num_nodes=7), "node attribute 'flag' has 6 rows for 7 nodes"),
    ):
        before = view.copy(), view.clock
        with pytest.raises(SpecError, match=message):
            view.extend(**arguments)
        assert view.clock == before[1] and view.num_nodes == 6
        np.testing.assert_array_equal(view.edges, before[0].edges)


def test_moved_edges():
    view = view_of()
    clock = view.clock
    view.move_edges(1, 4)
    view.move_edges(np.array([0, 2]), np.array([2, 0]), tails=np.array([1, 3]))
    assert view.edges.tolist() == [[1, 1, 3, 3], [2, 4, 0, 4]]
    assert view.changes_since(clock).wiring and not view.changes_since(clock).structure
    for ends in (5, -1, np.array([0, 7, 1, 1])):
        with pytest.raises(SpecError, match=r"move_edges\(\) names node (5|-1|7), but"):
            view.move_edges(None, ends)
    assert view.edges.tolist() == [[1, 1, 3, 3], [2, 4, 0, 4]]


def test_a_reader_who_slept_too_long_reads_everything():
    view = view_of()
    clock = view.clock
    for step in range(10_000):
        view.set_node("flag", step % 5, 1)
    assert view.changes_since(clock).structure
    recent = view.clock
    view.set_node("flag", 3, 0)
    assert list(view.changes_since(recent).nodes["flag"]) == [3]


@settings(deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_update_from_notes_what_differs(graph, random):
    view = GraphView.from_networkx(graph)
    other = graph.copy()
    for _, data in other.nodes(data=True):
        if "flag" in data and random.random() < 0.5:
            data["flag"] = not data["flag"]
    clock = view.clock
    before = view.copy()
    after = GraphView.from_networkx(other)
    view.update_from(after)
    changes = view.changes_since(clock)
    assert not changes.structure
    differing = [
        i
        for i, (a, b) in enumerate(
            zip(before.nodes.get("flag", []), after.nodes.get("flag", []), strict=True)
        )
        if a != b
    ]
    assert list(changes.nodes.get("flag", [])) == differing


def test_selection_by_value_and_by_predicate():
    view = view_of()
    view.set_node("flag", [1, 3], 1)
    view.set_node("value", None, np.arange(5.0))
    assert list(view.select_nodes({"flag": True})) == [1, 3]
    assert list(view.select_nodes({"flag": True, "value": lambda x: x > 2})) == [3]
    assert list(view.select_nodes(None)) == [0, 1, 2, 3, 4]
    with pytest.raises(SpecError, match="'colour'; the view has flag, value"):
        view.select_nodes({"colour": 1})


def test_the_last_change_of_an_attribute_is_known_however_long_ago():
    view = GraphView(3, [[0], [1]], nodes={"a": np.zeros(3), "b": np.zeros(3)})
    assert view.last_change(NODE, "a") == 0
    view.touch_node("a", 1)
    noted = view.clock
    for _ in range(5000):
        view.touch_node("b")
    assert view.last_change(NODE, "a") == noted
    assert view.last_change(NODE, "b") == view.clock
    view.move_edges(0, 2)
    assert view.last_change(WIRING, "") == view.clock


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(num_nodes=2, edges=[[0, 1]]), r"shape \(2, E\), got \(1, 2\)"),
        (dict(num_nodes=2, edges=[[0], [2]]), "node 2, but the nodes are 0 to 1"),
        (dict(num_nodes=2, edges=[[], []], nodes={"x": np.zeros(3)}), "'x' has 3 rows for 2 nodes"),
        (dict(num_nodes=2, edges=[[], []], labels=["a"]), "1 label for 2 nodes"),
    ],
)
def test_wrong_input_names_the_culprit(arguments, message):
    with pytest.raises(SpecError, match=message):
        GraphView(**arguments)
