"""Gset, DIMACS and PACE: the same graph however it is listed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import Instance, detect, read, read_solution, write
from lagco.instances.formats.edge_lists import instances as graphs
from lagco.problems.max_cut import MaxCut
from lagco.problems.min_vertex import MinVertex
from tests.instances.formats.samples import sample, written


def pairs(instance):
    return {frozenset(edge) for edge in instance.arrays["edges"].T.tolist()}


KITE = {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 6), (2, 4)}


@pytest.mark.parametrize("name", ["kite.col", "kite.gr"])
def test_the_kite(name):
    instance = read(sample(name))
    assert instance.problem == "min-vertex"
    assert instance.size == 7
    assert pairs(instance) == {frozenset(edge) for edge in KITE}
    cover = read_solution(instance, sample("kite.vc"))
    assert cover.tolist() == [1, 2, 4, 5]
    assert MinVertex.evaluate_solution(instance, cover) == 4


def test_the_ring():
    instance = read(sample("ring.rud"))
    assert instance.problem == "max-cut"
    assert instance.arrays["weights"].tolist() == [3, -1, 2, 1, -2, 4, 1, -3]
    # alternating around the ring cuts all but the two chords between unlike sides
    assert MaxCut.evaluate_solution(instance, [0, 1, 0, 1, 0, 1]) == 3 - 1 + 2 + 1 - 2 + 4 + 1 - 3
    cover = read(sample("ring.rud"), "min-vertex")
    assert set(cover.arrays) == {"edges"}
    assert cover.origin["notes"] == ["the weights of the edges do not count for a cover"]


def test_a_file_says_what_it_can_serve():
    with pytest.raises(InstanceError, match=r"ring\.rud: .* max-cut or min-vertex, not 'tsp'"):
        read(sample("ring.rud"), "tsp")


def test_edges_without_weights_weigh_one(tmp_path):
    instance = read(written(tmp_path, "3 2\n1 2\n2 3\n"))
    assert instance.arrays["weights"].tolist() == [1, 1]


def test_parallel_edges_of_a_weighted_graph_add_up(tmp_path):
    instance = read(written(tmp_path, "3 4\n1 2 5\n2 3 1\n2 1 -2\n1 2 4\n"))
    assert instance.arrays["weights"].tolist() == [7, 1]
    assert instance.origin["notes"] == ["merged: 2 edges listed again"]


@pytest.mark.parametrize("header", ["p edge 3 3", "p col 3 6", "p edge 3 4", "p edges 3 8"])
def test_the_ways_of_counting_dimacs_edges(tmp_path, header):
    text = f"c four lines, three edges\n{header}\ne 1 2\ne 2 3\ne 3 1\ne 2 1\n"
    instance = read(written(tmp_path, text))
    assert instance.arrays["edges"].shape == (2, 3)


def test_dimacs_weights_and_remarks(tmp_path):
    text = "p edge 3 2\nn 1 7\ne 1 2 2.5\nd 2\ne 2 3 -1\nx pos 3\n"
    instance = read(written(tmp_path, text), "max-cut")
    assert instance.arrays["weights"].tolist() == [2.5, -1]
    assert instance.origin["notes"] == [
        "left out: dimensions",
        "left out: parameters",
        "left out: weights of nodes",
    ]


@pytest.mark.parametrize("kind", ["td", "vc", "ds", "tww"])
def test_kinds_of_pace(tmp_path, kind):
    path = written(tmp_path, f"c x\np {kind} 4 2\n1 2\n\n3 4\n")
    assert detect(path) == "pace"
    assert read(path).size == 4


@pytest.mark.parametrize(
    ("text", "fast"),
    [
        ("4 3\n1 2 1\n2 3 -7\n 3\t4  +2 \n", True),
        ("4 3\n1 2\n2 3\n3 4", True),
        ("4 3 \n1 2 1\n2 3 -7\n3 4 2\n\n \n", True),
        ("4 3\n1 2 1\n2 3 -7\n3 4 2\n\x85", False),
        ("4 3\n1 2 1.0\n2 3 -7\n3 4 2e0\n", False),
        ("4 3\n1 2 1\n\n2 3 -7\n3 4 2\n", False),
        ("p edge 4 3\ne 1 2\ne 2 3\ne 3 4\n", True),
        ("p edge 4 3\ne 1 2 1\ne 2 3 -7\ne 3 4 2\n", True),
        ("c\np edge 4 3\ne 1 2\nc\ne 2 3\ne 3 4\n", False),
        ("p td 4 3\n1 2\n2 3\n3 4\n", True),
        ("p td 4 3\n1 2\n2 3\nc\n3 4\n", False),
    ],
)
def test_reading_at_once_and_line_by_line_agree(tmp_path, monkeypatch, text, fast):
    path = written(tmp_path, text)
    taken = []
    at_once = graphs.Graph.add_table

    def noted(self, *args, **kwargs):
        taken.append(at_once(self, *args, **kwargs))
        return taken[-1]

    monkeypatch.setattr(graphs.Graph, "add_table", noted)
    quick = read(path, "max-cut")
    assert taken == [fast]
    monkeypatch.setattr(graphs.Graph, "add_table", lambda *args, **kwargs: False)
    assert read(path, "max-cut").checksum == quick.checksum


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 2\n1 2 1\n", "line 1: declares 2 edges, but lists 1"),
        ("3 2\n1 2 1\n2 4 1\n", "line 3: a node is 4, it must be 1 to 3"),
        ("3 2\n1 2 1\n2 0 1\n", "line 3: a node is 0, it must be 1 to 3"),
        ("3 2\n1 2 1\n2 2 1\n", "line 3: the edge 2-2 joins a node to itself"),
        ("3 2\n1 2 1\n2 3\n", "line 3: expected 'node node weight', got '2 3'"),
        ("3 2\n1 2 1\n2 3 inf\n", "line 3: a weight is 'inf', not a number"),
        ("3 2\n1 2 1\n2 3 1e16\n", "line 3: a weight is '1e16', it must be"),
        ("999999999 1\n1 2 1\n", "line 1: declares 999999999 nodes, more than a file of 18 bytes"),
        ("3 0\n", "the graph has no edge"),
        ("p edge 3\ne 1 2\n", "line 1: expected 'p kind nodes edges'"),
        ("p edge 3 1\nf 1 2\n", "line 2: expected 'e node node', got 'f 1 2'"),
        ("p edge 3 7\ne 1 2\n", "line 1: declares 7 edges, but lists 1"),
        ("p edge 3 2\ne 1 2 1\ne 2 1 2\n", "line 3: the edge 2-1 stands in line 2 with another"),
        ("p td 3 1\n1 2 3\n", "line 2: expected 'node node', got '1 2 3'"),
        ("p td 3 1\n1 \xb2\n", "line 2: a node is '²', not a whole number"),
        ("p td 3 1\np td 3 1\n1 2\n", "line 2: expected 'node node'"),
        ("p cnf 3 1\n1 2\n", "unknown format"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as caught:
        read(path, "max-cut")
    assert str(path) in str(caught.value)


def test_weights_are_not_lost_silently(tmp_path):
    with pytest.raises(InstanceError, match="'pace' cannot hold; write it as 'gset' or 'dimacs'"):
        write(read(sample("ring.rud")), tmp_path / "ring.gr")


def test_thousands_of_nodes_take_memory_in_proportion(tmp_path):
    """20 000 nodes and 60 000 edges: a matrix of weights alone would take 3 GB."""
    rng = np.random.default_rng(0)
    n, count = 20_000, 60_000
    codes = rng.choice(n * n, size=2 * count, replace=False)
    u, v = np.divmod(codes[codes // n < codes % n][: count // 2], n)
    edges = np.stack([u, v])
    weights = rng.choice([-1, 1], size=edges.shape[1])
    write(Instance("max-cut", "torus", n, {"edges": edges, "weights": weights}), tmp_path / "g.mc")
    tracemalloc.start()
    for problem, cls in (("max-cut", MaxCut), ("min-vertex", MinVertex)):
        instance = read(tmp_path / "g.mc", problem)
        np.testing.assert_array_equal(instance.arrays["edges"], edges)
        env = cls(instance, start="default")
        env.reset(seed=0)
        for _ in range(5):
            env.step(env.sample_valid_action())
    assert tracemalloc.get_traced_memory()[1] < 60 << 20
    tracemalloc.stop()
