"""Events of networks: what goes out of service, what comes back, and what cannot happen."""

from dataclasses import replace

import numpy as np
import pytest

from lagco.core.events import Event
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.networks.events.bridges import bridges
from lagco.problems.networks.events.failures import failures_of
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic

#: a square with a diagonal and a tail: 1-2-3-4-1, 1-3, 4-5
EDGES = np.array([[0, 1, 2, 3, 0, 3], [1, 2, 3, 0, 2, 4]])
DEMANDS = np.array([[0, 1, 4], [2, 3, 0]])


def network(problem):
    arrays = {
        "edges": EDGES,
        "capacities": np.full(6, 10.0),
        "demands": DEMANDS,
        "volumes": np.array([4.0, 2.0, 1.0]),
        "names": np.array(["A", "B", "C", "D", "E"]),
    }
    size, params = 3, {"nodes": 5, "max_path_len": 3}
    if problem == "ospf":
        size, params = 6, {"nodes": 5, "ecmp": True, "max_weight": 9}
        arrays["weights"] = np.arange(1, 7)
    return Instance(problem, "square", size, arrays, params)


def volumes(instance):
    names = instance.array("names")
    pairs = zip(*instance.array("demands"), instance.array("volumes").tolist(), strict=True)
    return {f"{names[s]}-{names[t]}": volume for s, t, volume in pairs}


def test_a_link_that_failed_is_back_with_its_capacity_and_weight():
    before = network("ospf")
    down = OSPF.after(before, Event("link-down", source="C", target="A")).instance
    assert down.size == 5
    assert down.array("weights").tolist() == [1, 2, 3, 4, 6]
    up = OSPF.after(down, Event("link-up", source="A", target="C")).instance
    assert up.array("edges")[:, -1].tolist() == [0, 2]
    assert up.array("weights").tolist() == [1, 2, 3, 4, 6, 5]
    assert not [name for name in up.arrays if name.endswith("_aside")]


def test_demands_wait_while_nothing_joins_their_ends():
    before = network("ospf")
    down = OSPF.after(before, Event("link-down", source="D", target="E")).instance
    assert volumes(down) == {"A-C": 4.0, "B-D": 2.0}
    assert OSPF.unserved(down) == pytest.approx(1.0 / 7.0)
    other = OSPF.after(down, {"event": "matrix", "volumes": [["A", "C", 3.0], ["E", "A", 2.0]]})
    assert volumes(other.instance) == {"A-C": 3.0, "B-D": 1e-12}
    up = OSPF.after(other.instance, Event("link-up", source="D", target="E")).instance
    assert volumes(up) == {"A-C": 3.0, "B-D": 1e-12, "E-A": 2.0}
    assert OSPF.unserved(up) == 0.0


def test_links_of_a_node_are_back_unless_they_failed_themselves():
    now = OSPF.after(network("ospf"), Event("node-down", node="A")).instance
    assert now.array("edges").shape[1] == 3
    now = OSPF.after(now, Event("link-down", source="A", target="B")).instance
    now = OSPF.after(now, Event("node-up", node="A")).instance
    assert now.array("edges").shape[1] == 5
    now = OSPF.after(now, Event("link-up", source="A", target="B")).instance
    assert sorted(now.array("weights").tolist()) == [1, 2, 3, 4, 5, 6]


def test_paths_over_a_dead_link_are_replaced_by_the_fewest_hops():
    env = Traffic(network("traffic"), start=np.array([[0, 1, 2, 5], [1, 2, 3, 5], [4, 3, 0, 5]]))
    env.reset()
    env.apply(Event("link-down", source="B", target="C"))
    assert env.solution()[:, :3].tolist() == [[0, 2, 5], [1, 0, 3], [4, 3, 0]]
    assert np.array_equal(env.instance.array("paths"), env.solution())  # the incumbent from now on


def test_new_demands_take_the_fewest_hops_and_old_ones_keep_their_path():
    env = Traffic(network("traffic"), start=np.array([[0, 1, 2, 5], [1, 2, 3, 5], [4, 3, 0, 5]]))
    env.reset()
    env.apply(Event("demand", source="B", target="E", volume=1.5))
    assert env.solution()[:, :4].tolist() == [
        [0, 1, 2, 5],
        [1, 2, 3, 5],
        [4, 3, 0, 5],
        [1, 0, 3, 4],
    ]
    env.apply(Event("demand", source="A", target="C", volume=0))
    assert volumes(env.instance) == {"B-D": 2.0, "E-A": 1.0, "B-E": 1.5}


def test_flags_of_what_may_not_change_follow_their_links():
    fixed = np.array([0, 0, 0, 1, 0, 1], dtype=np.int8)
    before = network("ospf")
    before = replace(before, arrays={**before.arrays, "fixed": fixed})
    down = OSPF.after(before, Event("link-down", source="B", target="C")).instance
    assert down.array("fixed").tolist() == [0, 0, 1, 0, 1]
    up = OSPF.after(down, Event("link-up", source="B", target="C")).instance
    assert up.array("fixed").tolist() == [0, 0, 1, 0, 1, 0]


def directed(problem):
    """B-A stands before A-B; a link leads from C to D and none back."""
    arrays = {
        "edges": np.array([[1, 0, 1, 2, 2], [0, 1, 2, 1, 3]]),
        "capacities": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        "demands": np.array([[0, 2, 0, 1], [1, 1, 3, 0]]),
        "volumes": np.array([4.0, 2.0, 1.0, 8.0]),
        "names": np.array(["A", "B", "C", "D"]),
    }
    params = {"nodes": 4, "directed": True}
    if problem == "ospf":
        arrays["weights"] = np.arange(1, 6)
        return Instance(problem, "line", 5, arrays, {**params, "max_weight": 9, "ecmp": True})
    return Instance(problem, "line", 4, arrays, {**params, "max_path_len": 3})


@pytest.mark.parametrize("cls", [OSPF, Traffic])
def test_both_directions_of_a_directed_link_fail_and_come_back_together(cls):
    before = directed(cls.name)
    if cls is Traffic:
        paths = np.array([[0, 1, 4, 4], [2, 1, 4, 4], [0, 1, 2, 3], [1, 0, 4, 4]])
        before = cls.with_present(before, paths)
    down = cls.after(before, Event("link-down", source="A", target="B")).instance
    assert down.array("capacities").tolist() == [3.0, 4.0, 5.0]
    assert volumes(down) == {"C-B": 2.0}
    up = cls.after(down, Event("link-up", source="B", target="A")).instance
    assert sorted(up.array("capacities").tolist()) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert volumes(up) == volumes(before)


def test_demands_wait_where_a_directed_link_leads_the_wrong_way():
    before = directed("ospf")
    now = OSPF.after(before, Event("demand", source="D", target="A", volume=3.0)).instance
    assert volumes(now) == volumes(before)
    assert OSPF.unserved(now) == pytest.approx(3.0 / 18.0)
    now = OSPF.after(now, Event("link-down", source="B", target="C")).instance
    assert volumes(now) == {"A-B": 4.0, "B-A": 8.0}


def test_the_capacity_of_a_directed_link_is_that_from_source_to_target():
    changed = OSPF.after(directed("ospf"), Event("capacity", source="A", target="B", capacity=9.0))
    assert changed.instance.array("capacities").tolist() == [1.0, 9.0, 3.0, 4.0, 5.0]
    with pytest.raises(InstanceError, match="there is no link from D to C"):
        OSPF.after(directed("ospf"), Event("capacity", source="D", target="C", capacity=9.0))


def test_both_directions_of_a_directed_link_fail_in_a_group(tmp_path):
    table = tmp_path / "ducts.csv"
    table.write_text("group,link\nduct,A-B\nduct,C-D\n")
    failures = failures_of(directed("ospf"), table)
    assert failures["duct"]["failed"].tolist() == [1, 1, 0, 0, 1]


def test_synthetic_days_of_directed_links_can_happen():
    before = directed("ospf")
    arrays = dict(before.arrays)
    arrays["edges"] = np.array([[1, 0, 1, 2, 2, 0], [0, 1, 2, 1, 0, 2]])
    arrays |= {name: np.arange(1, 7) for name in ("weights", "capacities")}
    arrays["demands"] = np.array([[0, 2, 1, 1], [1, 1, 2, 0]])
    ring = replace(before, size=6, arrays=arrays)
    failed = 0
    for _, event in OSPF.draw_events(ring, np.random.default_rng(1), failures=0.8):
        failed += event.kind == "link-down"
        ring = OSPF.after(ring, event).instance
        if failed == 8:
            break
        assert OSPF.unserved(ring) == 0.0  # no link fails without which the ring falls apart


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([Event("link-down", source="A", target="E")], "there is no link A-E"),
        ([Event("link-down", source="A", target="Z")], "unknown node 'Z': .*known are A, B"),
        ([Event("link-up", source="A", target="B")], "the link A-B is not down"),
        ([Event("link-down", source="A", target="B")] * 2, "the link A-B is down already"),
        ([Event("node-down", node="A")] * 2, "the node 'A' is down already"),
        ([Event("node-up", node="A")], "the node 'A' is not down"),
        (
            [Event("node-down", node="A"), Event("demand", source="A", target="C", volume=1.0)],
            "the node 'A' is down: let it come up first",
        ),
        (
            [
                Event("link-down", source="A", target="B"),
                Event("capacity", source="A", target="B", capacity=1.0),
            ],
            "the link A-B is down",
        ),
        ([Event("demand", source="C", target="A", volume=0.0)], "no demand C-A that could go"),
        ([Event("matrix", volumes=[["A", "A", 1.0]])], "from the node 'A' to itself"),
        ([Event("matrix", volumes=[["A", "B", 1.0]] * 2)], "the demand A-B stands there twice"),
        ([Event("matrix", volumes=[["A", "Y", 1.0]])], "unknown node 'Y'"),
        ([Event("matrix", volumes=[["A", "B", -1.0]])], r"row 1\)"),
        ([Event("matrix", volumes=[["A", "B"]])], "it must be a list of 3 values"),
    ],
)
def test_what_cannot_happen_is_said_by_name(events, message):
    instance = network("ospf")
    for event in events[:-1]:
        instance = OSPF.after(instance, event).instance
    with pytest.raises(InstanceError, match=message):
        OSPF.after(instance, events[-1])


def test_bridges_are_the_links_without_which_a_graph_falls_apart():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 9))
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.4]
        edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T

        def parts(left, n=n):
            label = list(range(n))
            for u, v in left.T.tolist():
                old, new = label[u], label[v]
                label = [new if each == old else each for each in label]
            return len(set(label))

        expected = [
            parts(np.delete(edges, e, axis=1)) > parts(edges) for e in range(edges.shape[1])
        ]
        assert bridges(n, edges).tolist() == expected
