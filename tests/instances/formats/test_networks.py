"""SNDlib, GraphML and demand files: capacities, demands, parts, and the gravity model."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import Instance, read, write
from lagco.instances.formats.networks.topology import GRAVITY_LOAD, gravity_demands
from lagco.problems.networks.network import network_of
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from tests.instances.formats.samples import sample, written


def links(instance):
    names = instance.arrays["names"].tolist()
    ends = instance.arrays["edges"].T.tolist()
    capacities = instance.arrays["capacities"].tolist()
    return {frozenset((names[u], names[v])): c for (u, v), c in zip(ends, capacities, strict=True)}


def demands(instance):
    names = instance.arrays["names"].tolist()
    ends = instance.arrays["demands"].T.tolist()
    volumes = instance.arrays["volumes"].tolist()
    return {(names[s], names[t]): v for (s, t), v in zip(ends, volumes, strict=True)}


@pytest.mark.parametrize("name", ["islands.txt", "islands.xml"])
@pytest.mark.parametrize("problem", ["ospf", "traffic"])
def test_sndlib(name, problem):
    instance = read(sample(name), problem)
    assert links(instance) == {
        frozenset(("North", "East")): 622.0,  # the largest module
        frozenset(("East", "South")): 100.0,  # pre-installed
        frozenset(("South", "West")): 155.0,
        frozenset(("West", "North")): 127.5,  # the median of the others
        frozenset(("North", "South")): 40.0,
    }
    assert demands(instance) == {
        ("North", "South"): 40.0,  # two demands
        ("South", "North"): 12.5,
        ("East", "West"): 20.0,
        ("West", "East"): 8.0,
    }
    assert instance.arrays["coordinates"][3].tolist() == [6.25, 58.0]
    assert instance.size == (5 if problem == "ospf" else 4)
    assert instance.origin["notes"] == ["no capacity for 1 of 5 links: the median 127.5 for each"]


def test_the_native_form_and_xml_are_the_same_instance():
    assert read(sample("islands.txt")).checksum == read(sample("islands.xml")).checksum


def test_utilisation_by_hand():
    instance = read(sample("islands.txt"))
    env = OSPF(instance, start="default")
    env.reset(seed=0)
    # unit weights: North-South goes straight and fills it; East-West splits over both other ways
    assert env.objective() == pytest.approx(40.0 / 40.0)
    away = np.where(instance.arrays["capacities"] == 40.0, 3, 1)
    # now North-South splits over East (100) and West (127.5, 155), with half of East-West each
    assert OSPF.evaluate_solution(instance, away) == pytest.approx((20.0 + 10.0) / 100.0)


@pytest.mark.parametrize("start", ["default", "current", "worst"])
@pytest.mark.parametrize("cls", [OSPF, Traffic])
@pytest.mark.parametrize("name", ["islands.txt", "backbone.graphml"])
def test_episodes_without_references(cls, name, start):
    env = cls(sample(name), start=start)
    env.reset(seed=0)
    begin, total, ended = env.objective(), 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(env.sample_valid_action())
        total += reward
        ended = terminated or truncated
    assert info["score"] is None
    assert total == pytest.approx((begin - info["objective"]) / begin)


def test_graphml():
    instance = read(sample("backbone.graphml"))
    assert links(instance) == {
        frozenset(("Alpha & Co", "Beta")): 10e9,
        frozenset(("Beta", "Gamma")): 2.5e9,  # LinkSpeed x LinkSpeedUnits
        frozenset(("Gamma", "Hub (3)")): 1e9,  # none: the median
        frozenset(("Alpha & Co", "Hub (3)")): 2e9,  # two parallel links
        frozenset(("Hub (3)", "Hub (4)")): 155e6,
        frozenset(("Hub (4)", "5")): 1e9,  # a remark, no speed: the median
        frozenset(("Alpha & Co", "5")): 622e6,
    }
    assert instance.origin["notes"] == [
        "left out: 1 link of a node to itself",
        "no capacity for 2 of 8 links: the median 1e+09 for each",
        "merged: 1 parallel link",
        "in several parts: 6 of 7 nodes kept, without Island",
        "demands by the gravity model",
    ]
    assert instance.params["nodes"] == 6
    assert instance.arrays["coordinates"][5].tolist() == [10.1, 54.3]
    network_of(instance)


def test_gravity_sends_in_proportion_and_fills_a_quarter():
    edges = np.array([[0, 1, 2, 2], [1, 2, 3, 0]])
    capacities = np.array([4.0, 2.0, 1.0, 3.0])
    found = gravity_demands(4, edges, capacities)
    assert len(found) == 12
    mass = np.array([7.0, 6.0, 6.0, 1.0])
    assert found[0, 1] / found[2, 3] == pytest.approx(42.0 / 6.0)
    assert mass[0] * mass[3] / (mass[1] * mass[2]) == pytest.approx(
        found[0, 3] / found[1, 2], rel=1e-5
    )
    hops = {(0, 3): 2, (1, 3): 2, (3, 0): 2, (3, 1): 2}
    carried = sum(volume * hops.get(pair, 1) for pair, volume in found.items())
    assert carried == pytest.approx(GRAVITY_LOAD * 2 * capacities.sum(), rel=1e-5)


def test_gravity_of_a_large_network_stays_small(monkeypatch):
    from lagco.instances.formats.networks import topology

    monkeypatch.setattr(topology, "MAX_GRAVITY_PAIRS", 20)
    edges = np.array([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 6, 6]])
    capacities = np.array([1.0, 9.0, 8.0, 7.0, 6.0, 1.0, 1.0])
    found = gravity_demands(7, edges, capacities)
    assert {v for pair in found for v in pair} == {1, 2, 3, 4, 5}


def test_demands_of_a_file_replace_the_others():
    instance = read(sample("backbone.graphml"), "traffic", sample("backbone-demands.csv"))
    assert demands(instance) == {
        ("Alpha & Co", "Gamma"): 120e6,
        ("Gamma", "Alpha & Co"): 80e6,
        ("Beta", "5"): 45e6,
        ("Hub (4)", "Beta"): 31e6,
    }
    instance = read(sample("islands.txt"), demands=sample("islands-matrix.csv"))
    wanted = {("North", "East"): 1.0, ("South", "North"): 7.0, ("West", "South"): 12.0}
    assert demands(instance).items() >= wanted.items()
    assert len(demands(instance)) == 12
    assert "demands of islands-matrix.csv" in instance.origin["notes"]


_MATRIX_XML = (
    '<?xml version="1.0"?>\n<network xmlns="http://sndlib.zib.de/network" version="1.0">\n'
    '<networkStructure><nodes><node id="North"/></nodes><links/></networkStructure>\n<demands>\n'
    "<demand><source>North</source><target>East</target><demandValue>2.5</demandValue></demand>\n"
    "<demand><source>North</source><target>East</target><demandValue>1.5</demandValue></demand>\n"
    "</demands></network>\n"
)
_MATRIX_NATIVE = (
    "?SNDlib native format; type: network; version: 1.0\nNODES (\n North ( 0 0 )\n East\n)\n"
    "LINKS ( )\nDEMANDS (\n D1 ( North East ) 1 4.0 UNLIMITED\n)\n"
)


@pytest.mark.parametrize("text", [_MATRIX_XML, _MATRIX_NATIVE])
def test_a_matrix_as_of_sndlib_goes_with_a_network(tmp_path, text):
    path = written(tmp_path, text, "matrix")
    assert demands(read(sample("islands.txt"), demands=path)) == {("North", "East"): 4.0}
    wrong = written(tmp_path, text.replace("East", "Eest"), "wrong")
    with pytest.raises(InstanceError, match="there is no node 'Eest'; did you mean 'West', 'East'"):
        read(sample("islands.txt"), demands=wrong)


def test_nodes_of_graphml_may_be_called_by_id(tmp_path):
    path = written(tmp_path, "src,dst,demand\n0,2,5\n")
    assert demands(read(sample("backbone.graphml"), demands=path)) == {("Alpha & Co", "Gamma"): 5.0}


def test_a_matrix_of_bare_numbers_is_in_the_order_of_the_nodes(tmp_path):
    path = written(tmp_path, "0\t1\t2\t3\n4\t0\t5\t6\n7\t8\t99\t9\n10\t11\t12\t0\n")
    bare = read(sample("islands.txt"), demands=path)
    assert (
        bare.checksum == read(sample("islands.txt"), demands=sample("islands-matrix.csv")).checksum
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target,volume\nNorth,Nowhere,1\n", "line 2: there is no node 'Nowhere'"),
        ("source,target,volume\nNorth,East,-1\n", "line 2: a volume is '-1', it must be 0"),
        ("source,target,volume\nNorth,East,1e-300\n", "line 2: a demand is 1e-300, below 1e-09"),
        ("source,target,volume\nNorth,East\n", "line 2: expected source, target and volume"),
        ("source,target,volume\nNorth,North,4\n", "no demand between two different nodes"),
        ("node,North,North\nEast,1,2\nWest,1,2\n", "line 1: the node 'North' stands there twice"),
        ("node,North,East\nWest,1,2\nWest,1,2\n", "the node 'West' stands there twice"),
        ("node,North,East\nWest,1\n", "line 2: 1 volume for 2 nodes"),
        ("1,2\n3,4\n", "line 1: a row of 2 numbers for 4 nodes"),
        ("1,2,3,4\n1,2,3,4\n", "2 rows for 4 nodes"),
        ("0,2,3,4\n" * 5, "line 5: more than 4 rows for 4 nodes"),
        ('source,target,volume\n"North,East,1\n', "line 2: damaged CSV"),
        (
            "source,target,volume,unit\nNorth,East,1,M\n",
            "line 1: a list of demands has the columns",
        ),
        ("volume,from,to\n1,North,East\n", "line 1: a list of demands has the columns source, t"),
        ("", "no demand between"),
        ("<graphml/>", "XML about <graphml>; give demands as CSV, as of REPETITA, or as of SNDlib"),
    ],
)
def test_wrong_demands_are_named(tmp_path, text, message):
    path = written(tmp_path, text, "demands.csv")
    with pytest.raises(InstanceError, match=message) as caught:
        read(sample("islands.txt"), demands=path)
    assert str(path) in str(caught.value)


def test_a_name_that_is_not_utf_8_is_told_so(tmp_path):
    path = tmp_path / "demands.csv"
    path.write_bytes("source,target,volume\nN\u00f6rth,East,1\n".encode("latin-1"))
    with pytest.raises(InstanceError, match="line 2: the name of a node .* not UTF-8"):
        read(sample("islands.txt"), demands=path)


def test_demands_go_with_networks_alone():
    with pytest.raises(InstanceError, match="take no demands; only networks do"):
        read(sample("ring.rud"), demands=sample("islands-matrix.csv"))
    with pytest.raises(InstanceError, match="give the topology, and this file as demands=PATH"):
        read(sample("islands-matrix.csv"))


def changed(name, old, new, count=-1):
    text = sample(name).read_text(encoding="latin-1")
    assert old in text
    return text.replace(old, new, count)


def test_links_listed_in_both_directions_are_directed(tmp_path):
    text = changed("islands.txt", "  NS (", "  SN ( South North ) 30 0 0 0 ( )\n  NS (")
    instance = read(written(tmp_path, text))
    assert instance.params["directed"]
    assert instance.size == 10
    names = instance.arrays["names"].tolist()
    ends = [(names[u], names[v]) for u, v in instance.array("edges").T.tolist()]
    capacity = dict(zip(ends, instance.array("capacities").tolist(), strict=True))
    assert capacity["South", "North"] == 30.0
    assert capacity["North", "South"] == 40.0
    assert capacity["East", "North"] == capacity["North", "East"] == 622.0
    note = "listed in one direction only, taken for both: 4 links"
    assert note in instance.origin["notes"]


def test_links_listed_twice_in_one_direction_add_up(tmp_path):
    text = changed("islands.txt", "  NS (", "  NS2 ( North South ) 30 0 0 0 ( )\n  NS (")
    instance = read(written(tmp_path, text))
    assert links(instance)[frozenset(("North", "South"))] == 70.0


def test_demands_of_a_part_that_is_dropped_are_counted(tmp_path):
    path = written(tmp_path, "source,target,volume\nBeta,Island,3\nBeta,Gamma,1\n")
    instance = read(sample("backbone.graphml"), demands=path)
    assert demands(instance) == {("Beta", "Gamma"): 1.0}
    note = "in several parts: 6 of 7 nodes kept, without Island and 1 demand"
    assert note in instance.origin["notes"]
    path = written(tmp_path, "source,target,volume\nBeta,Island,3\n")
    with pytest.raises(InstanceError, match="no demand between the nodes that are kept"):
        read(sample("backbone.graphml"), demands=path)


@pytest.mark.parametrize("name", ["capacity", "bandwidth"])
def test_capacities_by_the_names_that_other_programs_write(name, tmp_path):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 40.0, (1, 2): 10.0}, name)
    nx.write_graphml(graph, tmp_path / "line.graphml")
    instance = read(tmp_path / "line.graphml")
    assert instance.array("capacities").tolist() == [40.0, 10.0]


def test_directed_graphml(tmp_path):
    text = changed("backbone.graphml", '"undirected"', '"directed"')
    instance = read(written(tmp_path, text))
    # 0-3 and 3-0 are the two directions of one link now
    assert links(instance)[frozenset(("Alpha & Co", "Hub (3)"))] == 1e9


def test_a_network_without_demands_gets_some(tmp_path):
    text = sample("islands.txt").read_text().partition("DEMANDS")[0]
    instance = read(written(tmp_path, text))
    assert len(demands(instance)) == 12
    assert "demands by the gravity model" in instance.origin["notes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("islands.txt", "type: network", "type: solution"), "line 1: a solution of SNDlib"),
        (changed("islands.txt", "( North East ) 0.00", "( North East ) -5"), "line 18: the pre-inst"),
        (changed("islands.txt", "( North East ) 0.00", "( North North ) 1"), "line 18: a link joins"),
        (changed("islands.txt", "( North East ) 0.00", "( North Mars ) 1"), "line 18: there is no node"),
        (changed("islands.txt", "( North East ) 0.00", "( North East ) 1e-99"), "1e-99, below 1e-09"),
        (changed("islands.txt", "1 30.00 UNL", "1 nan UNL"), "line 26: the demand is 'nan', not a"),
        (changed("islands.txt", "1 30.00 UNL", "1 1e16 UNL"), "line 26: the demand is '1e16', it must"),
        (changed("islands.txt", "East ( 14", "North ( 14"), "line 11: the node 'North' stands there"),
        (changed("islands.txt", "( 155.00 1.00 )", "( 155.00 )"), "line 19: the cost of a module"),
        (changed("islands.txt", "\n)\n\nDEM", "\n\nDEM"), "line 25: expected"),
        (changed("islands.txt", "NODES", "KNOTS"), "line 17: LINKS comes before NODES"),
        (changed("islands.txt", "LINKS", "NODES"), "line 17: a second section NODES"),
        (sample("islands.txt").read_text()[:700], "the file ends where"),
        (changed("islands.xml", "<source>North</source>", "", 1), "line 12: <link> has no <source>"),
        (changed("islands.xml", ' id="West"', ""), "line 9: <node> has no 'id'"),
        (changed("islands.xml", "100.0", "-1"), "line 21: <capacity> is '-1'"),
        (changed("islands.xml", "</links>", ""), "line 43: damaged XML: mismatched tag"),
        (changed("backbone.graphml", 'target="1"', 'target="11"'), "line 18: there is no node '11'"),
        (changed("backbone.graphml", 'node id="1"', 'node id="0"'), "the node '0' stands there twice"),
        (changed("backbone.graphml", ">10000000000.0<", ">fast<"), "line 18: LinkSpeedRaw is 'fast'"),
        (changed("backbone.graphml", ">10000000000.0<", ">-1<"), "line 18: LinkSpeedRaw is '-1'"),
        (changed("backbone.graphml", ">13.4<", ">east<"), "line 11: Longitude is 'east'"),
        ("<graphml></graphml>", "there is no <graph>"),
        ("<graphml><graph></graph></graphml>", "the network has no link"),
        ("<network></network>", "there is no <networkStructure>"),
        ("<svg></svg>", "XML about <svg>, unknown format"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_too_many_nodes(tmp_path, monkeypatch):
    from lagco.instances.formats.networks import topology

    monkeypatch.setattr(topology, "MAX_NODES", 3)
    with pytest.raises(InstanceError, match="line 13: more than 3 nodes"):
        read(sample("islands.txt"))


def test_names_with_spaces_are_written_as_words(tmp_path):
    instance = read(sample("backbone.graphml"))
    for name in ("x.txt", "x.xml"):
        write(instance, tmp_path / name)
        again = read(tmp_path / name)
        assert again.arrays["names"].tolist() == [
            "Alpha_&_Co",
            "Beta",
            "Gamma",
            "Hub_3",
            "Hub_4",
            "5",
        ]
        for array in ("edges", "capacities", "demands", "volumes", "coordinates"):
            np.testing.assert_array_equal(again.arrays[array], instance.arrays[array])


def test_names_that_become_the_same_word_stay_apart(tmp_path):
    fields = read(sample("islands.txt"))
    arrays = dict(fields.arrays) | {"names": np.array(["a b", "a_b", "a(b", "a#b"])}
    write(Instance("ospf", "x", 5, arrays, fields.params), tmp_path / "x.txt")
    assert len(set(read(tmp_path / "x.txt").arrays["names"].tolist())) == 4


def test_topology_and_demands_are_written_apart(tmp_path):
    instance = read(sample("islands.txt"))
    write(instance, tmp_path / "x.graphml")
    write(instance, tmp_path / "x.csv", format="demands")
    again = read(tmp_path / "x.graphml", "ospf", tmp_path / "x.csv")
    assert again.checksum == instance.checksum
