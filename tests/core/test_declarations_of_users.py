"""Declarations and values as users write them, which must be read or named rightly."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import lagco
from examples.depots import Depots
from examples.facility import Facility
from lagco import Attribute, ContinuousEnv, Edge, GraphView, Node
from lagco.core.checker.hooks import check_poolings
from lagco.core.checker.state import check_attributes
from lagco.core.declaring.declaration import read_declaration
from lagco.embedding.features.extraction import AttributeReader
from lagco.embedding.pretraining.pretrain import pretrain_on
from lagco.instances import Instance
from lagco.instances.native import instance_bytes
from lagco.latent.space import LatentSpace

BRIEF = lagco.embedding.PretrainConfig(max_steps=1, states=4)


class Ring(ContinuousEnv):
    """Five nodes in a ring, marked one after the other; attributes as a test sets them."""

    action_space = gym.spaces.Discrete(5)
    observation_space = gym.spaces.MultiBinary(5)
    _node_attributes = {"marked": Attribute(type="binary")}
    _observation_type = {"all": lagco.Graph(poolings=[lagco.Mean])}
    _action_type = {"node": Node(spec={"marked": 0})}
    more: dict = {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.marked = np.zeros(5, dtype=np.int8)
        ends = np.array([np.arange(5), (np.arange(5) + 1) % 5])
        self.view = GraphView(5, ends, nodes={"marked": self.marked, **self.more},
                              edge_attributes={"free": np.ones(5, dtype=np.int8)})  # fmt: skip
        return self.marked.copy(), {}

    def step(self, action):
        self.marked[action] = 1
        self.view.touch_node("marked", int(action))
        return self.marked.copy(), 1.0, bool(self.marked.all()), False, {}

    def get_graphs(self):
        return {"ring": self.view}

    def is_valid_action(self, action):
        return not self.marked[action]


def test_a_callable_edge_pooling_over_no_edges():
    class Edges(Ring):
        _action_type = {"edge": Edge(spec={"free": 1}, pooling=lambda ends: ends.sum(axis=0))}
        _edge_attributes = {"free": Attribute(type="binary")}

    env = Edges()
    env.reset(seed=0)
    encoder = pretrain_on([env], training=BRIEF)
    space = LatentSpace.fit(encoder, [env], states=2)
    env.reset(seed=0)
    view = space.view(env)
    env.view.set_edge("free", None, 0)
    view.refresh()
    assert view.actions().size == 0


def wrong(attribute, column):
    env = type("Given", (Ring,), {})()
    env.more = {"x": column}
    env._node_attributes = {"x": attribute}
    env.reset(seed=0)
    views = env.graph_views()
    declared = read_declaration(env, views)
    return [f.value for f in check_attributes(declared, views, views, 0)]


def test_the_checker_takes_the_numbers_that_training_takes():
    assert wrong(Attribute(), [0.0, np.float64(0.5), True, 2, np.int8(3)]) == []
    assert wrong(Attribute(), [[1.0, 2.0], [3], [], [4], [5]]) == []  # pooled
    assert wrong(Attribute(), [0.0, 1.0, "two", 3.0, 4.0]) == [
        "is 'two' at node 2, which is not a number"
    ]


def test_list_valued_categories_are_one_hot_and_pooled():
    attribute = Attribute(type="categorical", categories=("a", "b"), pooling=lagco.Sum)
    listed = [["a"], ["a", "b"], [], ["b"], ["b", "b"]]
    assert wrong(attribute, listed) == []
    assert wrong(attribute, [["a"], ["c"], [], [], []]) == [
        "is 'c' at node 1, not one of the 2 categories"
    ]
    for column in (listed, np.array([*listed, None], dtype=object)[:5]):
        env = type("Listed", (Ring,), {"more": {"x": column}})()
        env._node_attributes = {**Ring._node_attributes, "x": attribute}
        pretrain_on([env], training=BRIEF)


def test_texts_and_lists_that_change_go_with_a_problem():
    class Named(Depots):
        def _load(self, instance):
            super()._load(instance)
            self._sites.nodes["kind"] = np.array(["a", "b"] * 20, dtype=object)[: instance.size]
            self._sites.nodes["tags"] = [["a"]] * instance.size
            several = Attribute(type="categorical", categories=("a", "b"))
            self._node_attributes = {**self._node_attributes, "kind": several, "tags": several}

    env = Named(size=9)
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"open", "nearest", "gain"}


def test_own_poolings_of_changing_width_are_found():
    env = Ring()
    env._observation_type = {"all": lagco.Graph(poolings=[np.ravel])}
    env.reset(seed=0)
    [finding] = check_poolings(read_declaration(env, env.graph_views()))
    assert "4 numbers for 1 vectors, 8 numbers for 2" in finding.value


def test_stepping_a_wrapped_environment_before_reset():
    env = Ring()
    encoder = pretrain_on([env], training=BRIEF)
    latent = lagco.wrap(env, encoder)
    with pytest.raises(lagco.errors.ResetNeeded, match=r"call reset\(\)"):
        latent.step(latent.action_space.sample())
    with pytest.raises(lagco.errors.UsageError, match="k=-1.*at least 1"):
        lagco.wrap(env, encoder, k=-1)


def test_numpy_scalars_among_parameters_are_written():
    instance = Instance("p", "n", 1, {}, {"k": np.int64(3), "x": [np.float32(0.5), np.True_]})
    assert dict(instance.params) == {"k": 3, "x": [0.5, True]}
    assert instance_bytes(instance)
    with pytest.raises(lagco.errors.InstanceError, match=r"params\['k'\] is a object"):
        Instance("p", "n", 1, {}, {"k": object()})


def test_a_policy_of_one_s_own_needs_no_name(tmp_path):
    class Mine:
        def act(self, env, rng, explore=True):
            return env.sample_valid_action(rng)

    assert lagco.evaluate(Mine(), seeds=[0], problem=Facility, episodes=1).policy == "Mine"


def test_solve_shows_the_score_where_there_are_sweeps(tmp_path):
    data = lagco.generate(Depots, 1, sizes=9, sweeps=5, out=tmp_path, workers=1)
    answer = lagco.solve(data[0], problem=Depots, by="greedy", seconds=0.1)
    sweeps = data[0].references.sweeps
    expected = (sweeps.worst - answer.objective) / (sweeps.worst - sweeps.best)
    assert answer.as_dict()["score"] == pytest.approx(expected)


def test_another_number_of_nodes_is_named():
    class Beyond(Ring):
        action_space = gym.spaces.Discrete(7)

        def is_valid_action(self, action):
            return action >= 5 or not self.marked[action]

        def step(self, action):
            return super().step(min(int(action), 4))

    found = lagco.check_problem(Beyond(), raises=False)
    assert any("has 5 nodes" in f.value and "choose among 0 to 4" in f.remedy for f in found)


def test_every_fault_of_a_declaration_is_reported_at_once():
    env = Facility()
    env._node_attributes = {
        **Facility._node_attributes, "far": Attribute(graph="sites"), "y": Attribute(graph="sties"),
    }  # fmt: skip
    env._observation_type = {"clients": lagco.Graph(poolings=[lagco.Mean], graph="clints")}
    env._action_type = {
        "client": lagco.Node(graph="clients", spec={"servd": False}),
        "other": lagco.Node(graph="clients", different_from="client"),
        "site": lagco.Node(graph="site"),
    }
    faults = ("_node_attributes['y']", "_node_attributes['far']", "_observation_type['clients']",
              "_action_type['client']", "_action_type['site']")  # fmt: skip
    found = [finding.declaration for finding in lagco.check_problem(env, raises=False)]
    assert len(found) == len(faults)
    assert all(text.startswith(fault) for text, fault in zip(found, faults, strict=True))
    with pytest.raises(lagco.errors.SpecError) as caught:
        pretrain_on([env], training=BRIEF)
    assert str(caught.value).splitlines() == found


def test_lists_of_different_lengths_are_named_in_training_too():
    rows = [[1.0, 2.0, 3.0]] * 5
    for row, change in ((2, [1.0, 2.0]), (4, [1.0] * 4)):
        more = {"x": [*rows[:row], change, *rows[row + 1 :]]}
        env = type("Ragged", (Ring,), {"more": more})()
        env._node_attributes = {**Ring._node_attributes, "x": Attribute(size=3)}
        message = rf"'x': row {row} holds {len(change)} numbers .* says size=3; give equally many"
        with pytest.raises(lagco.errors.SpecError, match=message):
            pretrain_on([env], training=BRIEF)


def test_the_row_of_a_value_that_changed_is_named():
    attribute = Attribute(size=2)
    reader = AttributeReader("node attribute 'x'", attribute, 2)
    column = [[1.0, 2.0], [1.0, 2.0], [1.0], "two"]
    with pytest.raises(lagco.errors.SpecError, match=r"'x': row 2 holds 1 numbers \(\[1.0\]\)"):
        reader.rows(column, np.array([1, 2]))
    with pytest.raises(lagco.errors.SpecError, match="'x': row 3 is 'two', which is no number"):
        reader.rows(column, np.array([3]))
