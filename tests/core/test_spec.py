"""Declarations: the paper's spelling works, mistakes are reported where they are made."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from lagco import (
    Attribute,
    Concat,
    Edge,
    Function,
    Graph,
    Max,
    Mean,
    Min,
    Node,
    Object,
    Path,
    RootSum,
    SubGraph,
    Sum,
)
from lagco.core.declaring.descriptors import get_num_nodes
from lagco.errors import SpecError


def test_the_papers_declarations_are_accepted_as_they_stand():
    observation = {
        "graph": Graph(poolings=[Mean, Sum], graph="attack_G"),
        "nodes_num": Function(get_num_nodes, graph="attack_G"),
    }
    action = {
        "source": Node(graph="attack_G", spec={"controlled": True}),
        "target": Node(graph="attack_G"),
        "vuln": Object(extractor="bert", reference="target", key="vulns"),
        "traffic_link": Edge(graph="traffic_G", pooling=Concat),
        "communication_path": Path(graph="comm_G", pooling=Concat),
    }
    attributes = {
        "vulns": Attribute(extractor="bert", type="continuous"),
        "outgoing_traffic": Attribute(norm="min_max"),
    }
    assert observation["graph"].poolings == [Mean, Sum]
    assert action["source"].spec == {"controlled": True}
    assert action["vuln"].linked() == {"reference": "target"}
    assert attributes["outgoing_traffic"].type == "continuous"


def test_the_specs_own_declarations():
    path = Path(graph="comm_G", ends="traffic_link", max_len=4)
    assert path.linked() == {"ends": "traffic_link"}
    assert Node(different_from="source").linked() == {"different_from": "source"}
    assert Edge(attributes="load").attributes == ("load",)
    assert Attribute(norm="none").norm is None
    assert Attribute(type="categorical", categories=("a", "b")).num_categories == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Attribute(type="continous"),
            "unknown type 'continous': did you mean 'continuous'",
        ),
        (lambda: Attribute(norm="minmax"), "unknown norm 'minmax': did you mean 'min_max'"),
        (lambda: Attribute(extractor="bret"), "unknown extractor 'bret': did you mean 'bert'"),
        (lambda: Attribute(type="categorical"), "needs categories="),
        (lambda: Attribute(type="binary", norm="l2"), "norms are for continuous"),
        (lambda: Attribute(low=2, high=1), "low is above high"),
        (lambda: Attribute(size=0), "size=0"),
        (lambda: Node(spec=["visited"]), "a spec maps attribute names to values"),
        (lambda: Path(max_len=0), "max_len=0"),
        (lambda: Path(pooling="Concat"), "pooling 'Concat' is not callable"),
        (lambda: Object(), "either choices= .* or reference="),
        (lambda: Object(reference="target"), "needs key="),
        (lambda: Object(choices=[1, "far"]), "'far' is no number; give extractor='onehot'"),
        (lambda: Object(choices=[1], attributes=["x"]), "attributes belong to objects with"),
        (lambda: Object(choices=[1], reference="target", key="x"), "either choices="),
        (lambda: SubGraph(), "either max_size= .* or candidates="),
        (lambda: SubGraph(max_size=2, candidates=len), "either max_size= .* or candidates="),
        (lambda: SubGraph(max_size=0), "max_size=0"),
        (lambda: SubGraph(max_size=2, connected=False), "give candidates= instead of max_size="),
        (lambda: Graph(poolings=[]), "give a list of poolings"),
        (lambda: Graph(poolings=[Concat]), "width would depend on the graph"),
        (lambda: Function(3), "must be callable"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(SpecError, match=message):
        make()


def test_poolings():
    rows = np.array([[1.0, 5.0], [3.0, 1.0], [2.0, 3.0], [2.0, 3.0]])
    assert Mean(rows).tolist() == [2.0, 3.0]
    assert Max(rows).tolist() == [3.0, 5.0]
    assert Min(rows).tolist() == [1.0, 1.0]
    assert Sum(rows).tolist() == [8.0, 12.0]
    assert RootSum(rows).tolist() == [4.0, 6.0]
    assert Concat(rows[:2]).tolist() == [1.0, 5.0, 3.0, 1.0]
    assert Mean(np.zeros((0, 2))).tolist() == [0.0, 0.0]


def test_copies_of_a_named_pooling_are_that_pooling():
    for pooling in (Mean, Concat):
        assert copy.deepcopy(pooling) is pooling
        assert pickle.loads(pickle.dumps(pooling)) is pooling
