"""REPETITA files: directed links, weights, capacities, delays, demands; and what gets lost where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import detect, read, write
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from tests.instances.formats.samples import sample, written


def links(instance):
    """Capacity and weight by the names of the ends."""
    names = instance.arrays["names"].tolist()
    weights = instance.arrays.get("weights", np.zeros(instance.array("edges").shape[1]))
    table = zip(
        instance.array("edges").T.tolist(), instance.array("capacities"), weights, strict=True
    )
    return {(names[u], names[v]): (capacity, weight) for (u, v), capacity, weight in table}


@pytest.fixture
def loop():
    return read(sample("loop.graph"), demands=sample("loop.demands"))


def test_each_direction_has_a_capacity_and_a_weight_of_its_own(loop):
    assert loop.params["directed"]
    assert links(loop) == {
        ("0_Ash", "1_Birch"): (1000.0, 10),
        ("1_Birch", "0_Ash"): (400.0, 30),
        ("1_Birch", "2_Cedar"): (1000.0, 10),
        ("2_Cedar", "1_Birch"): (1000.0, 10),
        ("2_Cedar", "3_Elm"): (800.0, 10),
        ("3_Elm", "2_Cedar"): (800.0, 10),
        ("3_Elm", "0_Ash"): (1600.0, 15),  # two parallel links
        ("0_Ash", "3_Elm"): (1000.0, 15),  # the one beside it is longer
        ("1_Birch", "3_Elm"): (250.0, 200),
        ("3_Elm", "1_Birch"): (250.0, 200),
        ("2_Cedar", "0_Ash"): (500.0, 25),  # does not lead back
    }
    assert loop.array("delays")[:3].tolist() == [120.0, 120.0, 200.0]
    assert loop.origin["notes"] == [
        "demands of loop.demands",
        "merged: 1 parallel link",
        "left out: 1 link beside a parallel one of a lower weight, which carries all",
        "in several parts: 4 of 5 nodes kept, without 4_Fir",
    ]
    assert loop.array("volumes").tolist() == [300.0, 280.0, 120.0, 90.5, 60.0]


def test_utilisation_by_hand(loop):
    """Ash-Cedar over Birch (20), Cedar-Ash straight and over Elm (25 each), Birch-Ash straight."""
    env = OSPF(loop, start="current")
    env.reset(seed=0)
    use = (env.loads[:, 0] / loop.array("capacities")).round(6)
    at = dict(zip(links(loop), use.tolist(), strict=True))
    assert at["0_Ash", "1_Birch"] == pytest.approx(300 / 1000)
    assert at["1_Birch", "2_Cedar"] == pytest.approx((300 + 120) / 1000)
    assert at["3_Elm", "2_Cedar"] == pytest.approx(90.5 / 800)
    assert at["2_Cedar", "0_Ash"] == pytest.approx(140 / 500)
    assert at["2_Cedar", "3_Elm"] == pytest.approx((140 + 120) / 800)
    assert at["1_Birch", "0_Ash"] == pytest.approx(60 / 400)
    assert env.objective() == pytest.approx(420 / 1000)


def test_weights_are_neither_lost_nor_clipped(loop):
    assert loop.params["max_weight"] == 65535
    answer = OSPF(loop, start="current")
    answer.reset(seed=0)
    assert answer.solution().tolist() == loop.array("weights").tolist()
    assert OSPF.evaluate_solution(loop, np.full(11, 65535)) > 0


def test_paths_take_both_directions_with_their_capacities(loop):
    traffic = read(sample("loop.graph"), "traffic", sample("loop.demands"))
    env = Traffic(traffic, start="default")
    env.reset(seed=0)
    names = traffic.arrays["names"].tolist()
    cedar, ash = names.index("2_Cedar"), names.index("0_Ash")
    path = np.full(env.solution().shape[1], 4)
    demand = traffic.array("demands").T.tolist().index([ash, cedar])
    path[:2] = ash, cedar
    assert not env.is_valid_action([demand, *path.tolist()])  # the link leads the other way
    assert all(env.is_valid_action(action) for action in env.valid_actions())
    back = traffic.array("demands").T.tolist().index([cedar, ash])
    assert env.solution()[back][:2].tolist() == [cedar, ash]
    assert env.objective() == pytest.approx(280 / 500)
    assert "weights of links do not count" in traffic.origin["notes"][-1]


@pytest.mark.parametrize("name", ["again.graph", "again.graphml", "again.txt", "again.xml"])
def test_written_and_read_again(loop, tmp_path, name):
    write(loop, tmp_path / name)
    write(loop, tmp_path / "d.demands", format="repetita-demands")
    write(loop, tmp_path / "d.csv", format="demands")
    own = name.endswith((".txt", ".xml"))
    for table in (None,) if own else ("d.csv", "d.demands"):
        again = read(tmp_path / name, demands=None if table is None else tmp_path / table)
        if not own or name.endswith(".graphml"):
            assert links(again) == links(loop)
        assert {
            ends: found for ends, found in links(again).items() if ends in links(loop)
        } == links(loop)
        assert again.params["max_weight"] == 65535


def test_links_of_both_directions_are_written_as_two(tmp_path):
    network = read(sample("islands.txt"))
    write(network, tmp_path / "x.graph")
    assert detect(tmp_path / "x.graph") == "repetita"
    again = read(tmp_path / "x.graph")
    assert again.size == 2 * network.size
    assert sorted(again.array("capacities")) == sorted(np.repeat(network.array("capacities"), 2))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("loop.graph", "edge_2 1 2 10", "edge_2 1 7 10", "line 13: a node is 7, it must be 0 to 4"),
        ("loop.graph", "edge_2 1 2 10", "edge_2 1 2 ten", "the weight of 'edge_2' is 'ten'"),
        ("loop.graph", "EDGES 14", "EDGES 15", "the file ends after 14 of 15 EDGES"),
        ("loop.graph", "EDGES 14", "EDGES 13", "line 24: expected nothing after the EDGES"),
        ("loop.graph", "src dest weight", "src dest cost", "expected the columns label src dest"),
        ("loop.graph", "0 1 10 1000 120", "0 1 10 1000", "line 11: expected label src dest weight"),
        ("loop.demands", "demand_1 2 0 280", "demand_1 2 9 280", "line 4: a node is 9"),
        ("loop.demands", "demand_1 2 0 280", "demand_1 2 0 -1", "the bandwidth of 'demand_1'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, old, new, message):
    path = written(tmp_path, sample(name).read_text().replace(old, new), name)
    files = {"loop.graph": sample("loop.graph"), "loop.demands": sample("loop.demands"), name: path}
    with pytest.raises(InstanceError, match=message) as caught:
        read(files["loop.graph"], demands=files["loop.demands"])
    assert str(path) in str(caught.value)


def test_weights_that_are_none_are_said_to_be_left_out(tmp_path):
    text = sample("loop.graph").read_text().replace("edge_0 0 1 10", "edge_0 0 1 70000")
    instance = read(written(tmp_path, text))
    assert "weights" not in instance.arrays
    note = "weights left out: 70000 of 0_Ash-1_Birch is no whole number from 1 to 65535"
    assert note in instance.origin["notes"]


def test_routing_costs_and_weights_of_graphml_are_present_weights(tmp_path):
    text = sample("islands.txt").read_text()
    assert "weights" not in read(sample("islands.txt")).arrays
    rows = [line for line in text.splitlines() if "( North East )" in line]
    changed = text.replace(rows[0], rows[0].replace("0.00 0.00 0.00 5.00", "0.00 0.00 40 5.00"))
    assert changed != text
    instance = read(written(tmp_path, changed))
    assert instance.array("weights").tolist() == [40] * 5  # the others have the median
    assert "no weight for 4 of 5 links: the median 40 for each" in instance.origin["notes"]
    network = replace(instance, arrays={**instance.arrays, "weights": np.arange(1, 6) * 100})
    for name in ("x.graphml", "x.txt", "x.xml"):
        write(network, tmp_path / name)
        again = read(tmp_path / name)
        assert again.array("weights").tolist() == [100, 200, 300, 400, 500]
        assert again.params["weight_step"] == 100
