"""networkx graphs at the border: order of nodes, kinds of graphs, what is read again."""

from __future__ import annotations

import gymnasium as gym
import networkx as nx
import numpy as np
import pytest

import lagco
from lagco import Attribute, ContinuousEnv, GraphView, Node
from lagco.core.graphs.border import NetworkxReader, node_order
from lagco.core.graphs.columns import as_column


def equal(view: GraphView, graph: nx.Graph) -> bool:
    """Whether a view that was kept up to date is what a fresh reading gives."""
    fresh = GraphView.from_networkx(graph)
    same = view.num_nodes == fresh.num_nodes and view.labels == fresh.labels
    same = same and np.array_equal(view.edges, fresh.edges)
    for mine, theirs in ((view.nodes, fresh.nodes), (view.edge_attributes, fresh.edge_attributes)):
        same = same and mine.keys() == theirs.keys()
        same = same and all(list(mine[n]) == list(theirs[n]) for n in theirs)
    return same


def test_nodes_are_numbered_by_sorted_label():
    graph = nx.Graph([(3, 1), (0, 2)])
    nx.set_node_attributes(graph, {v: 10.0 * v for v in graph}, "x")
    view = GraphView.from_networkx(graph)
    assert view.labels is None
    assert view.nodes["x"].tolist() == [0.0, 10.0, 20.0, 30.0]
    assert NetworkxReader().read(graph).nodes["x"].tolist() == [0.0, 10.0, 20.0, 30.0]
    named = nx.Graph([(("site", 1), ("client", 10)), (("client", 2), ("site", 1))])
    assert GraphView.from_networkx(named).labels == [("client", 2), ("client", 10), ("site", 1)]


def test_labels_that_do_not_compare_keep_their_first_order():
    assert node_order(["b", 1, "a"]) == ["b", 1, "a"]
    assert node_order([1, "a", "b"], known=["b", 1, "a"]) == ["b", 1, "a"]
    assert node_order([1, "c", "b"], known=["b", 1, "a"]) == ["b", 1, "c"]
    sets = [frozenset("ab"), frozenset("c"), frozenset("a")]  # these compare only partly
    assert node_order(sets) == sets


@pytest.mark.parametrize("labels", [["b", "a", "c"], ["b", 1, "c"]])
def test_another_order_of_the_same_nodes_is_mapped_back(labels):
    reader = NetworkxReader()
    first, other = nx.Graph(), nx.Graph()
    first.add_nodes_from((v, {"x": i}) for i, v in enumerate(labels))
    other.add_nodes_from((v, {"x": i}) for i, v in reversed(list(enumerate(labels))))
    before = reader.read(first).nodes["x"].tolist()
    clock = reader.view.clock
    assert reader.read(other).nodes["x"].tolist() == before
    assert not reader.view.changes_since(clock)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_kind_of_graph(kind):
    rng = np.random.default_rng(0)
    graph = kind()
    graph.add_nodes_from((v, {"x": float(v)}) for v in range(6))  # 5 stays isolated
    for _ in range(12):
        u, v = (int(w) for w in rng.integers(5, size=2))
        graph.add_edge(u, v, w=float(rng.random()))
    reader = NetworkxReader()
    assert equal(reader.read(graph), graph)
    assert reader.view.directed == graph.is_directed()
    assert reader.view.num_edges == graph.number_of_edges()
    assert reader.view.num_nodes == 6


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("rebuilt", [False, True])
def test_random_changes_are_all_seen_and_noted(kind, rebuilt):
    rng = np.random.default_rng(1)
    graph = kind()
    graph.add_nodes_from((v, {"x": 0.0, "tags": []}) for v in range(5))
    graph.add_edge(0, 1, w=0.5)
    reader = NetworkxReader()
    reader.read(graph)
    for _ in range(150):
        view = reader.view
        before, clock = view.copy(), view.clock
        what = rng.integers(6)
        u, v = (int(w) for w in rng.permutation(list(graph))[:2])
        if what == 0:
            graph.nodes[u]["x"] = float(rng.integers(3))
        elif what == 1:
            graph.nodes[u]["tags"].append(int(rng.integers(9)))  # in place
        elif what == 2:
            graph.add_edge(u, v, w=0.5)
        elif what == 3 and graph.number_of_edges() > 1:
            graph.remove_edge(*next(iter(graph.edges))[:2])
        elif what == 4:
            graph.add_node(len(graph), x=1.0, tags=[])
        elif graph.number_of_edges():
            next(iter(graph.edges(data=True)))[2]["w"] = float(rng.random())
        shown = kind(graph) if rebuilt else graph
        assert equal(reader.read(shown), graph)
        changes = view.changes_since(clock)
        if not changes.structure:
            for name, column in before.nodes.items():
                rows = lagco.core.graphs.columns.differing_rows(column, view.nodes[name])
                assert set(rows) <= set(changes.nodes.get(name, ()))


def test_the_same_values_are_not_noted_as_changes():
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, 1.5, "x")
    nx.set_edge_attributes(graph, 2, "w")
    reader = NetworkxReader()
    view = reader.read(graph)
    clock = view.clock
    reader.read(graph)
    reader.read(graph.copy())
    assert not view.changes_since(clock)
    graph.nodes[2]["x"] = 3.0
    assert reader.read(graph).changes_since(clock).nodes["x"].tolist() == [2]


def test_an_edge_exchanged_for_one_with_equal_attributes_is_seen():
    graph = nx.Graph([(0, 1, {"w": 1}), (1, 2, {"w": 1}), (2, 3, {"w": 1})])
    reader = NetworkxReader()
    reader.read(graph)
    graph.remove_edge(2, 3)
    graph.add_edge(1, 3, w=1)
    assert reader.read(graph).edges.tolist() == [[0, 1, 1], [1, 2, 3]]


def test_attributes_that_come_later_are_read():
    graph = nx.path_graph(3)
    reader = NetworkxReader()
    reader.read(graph)
    nx.set_node_attributes(graph, 1, "late")
    assert reader.read(graph).nodes["late"].tolist() == [1, 1, 1]
    del graph.nodes[1]["late"]
    with pytest.raises(lagco.errors.SpecError, match="node 1 has no attribute 'late'"):
        reader.read(graph)


def test_mixed_numbers_are_numbers():
    column = as_column([0.0, np.float64(0.5), True, 2])
    assert column.dtype == np.float64
    assert column.tolist() == [0.0, 0.5, 1.0, 2.0]
    assert as_column([1, 2**80]) == [1, 2**80]
    assert as_column(["a", 1]) == ["a", 1]


class Shuffled(gym.Env):
    """Builds its graph in another order in every state; node v is worth v."""

    action_space = gym.spaces.Discrete(6)
    observation_space = gym.spaces.MultiBinary(6)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.taken = np.zeros(6, dtype=np.int8)
        return self.taken.copy(), {}

    def step(self, action):
        self.taken[action] = 1
        return self.taken.copy(), float(action), bool(self.taken.all()), False, {}


class ShuffledExt(Shuffled, ContinuousEnv):
    _node_attributes = {"taken": Attribute(type="binary"), "value": Attribute(low=0.0)}
    _observation_type = {"all": lagco.Graph(poolings=[lagco.Mean])}
    _action_type = {"node": Node(spec={"taken": 0})}

    def get_graphs(self):
        order = np.random.default_rng(int(self.taken.sum())).permutation(6).tolist()
        graph = nx.Graph()
        graph.add_nodes_from((v, {"taken": int(self.taken[v]), "value": float(v)}) for v in order)
        graph.add_edges_from((v, (v + 1) % 6) for v in order)
        return {"ring": graph}

    def is_valid_action(self, action):
        return not self.taken[action]


def test_a_graph_built_in_any_order_is_decided_on_rightly():
    lagco.check_problem(ShuffledExt(), episodes=1)
