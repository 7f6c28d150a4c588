"""Files made to do harm: nothing is allocated that a file only declares, nothing is expanded."""

from __future__ import annotations

import gzip
import time
import tracemalloc

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import detect, read
from lagco.instances.formats import markup, source
from tests.instances.formats.samples import sample, written

MOST = 64 << 20


@pytest.fixture
def bounded():
    """Fails if memory or time go beyond what a small file may take."""
    tracemalloc.start()
    begin = time.process_time()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST
    assert time.process_time() - begin < 30


BOMB = """<?xml version="1.0"?>
<!DOCTYPE graphml [
 <!ENTITY a "aaaaaaaaaa">
 <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
 <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<graphml><graph><node id="&c;"/></graph></graphml>
"""
OUTSIDE = """<!DOCTYPE network SYSTEM "file:///etc/passwd">
<network><networkStructure/></network>
"""


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, BOMB.replace("graphml", "network")])
def test_document_types_are_refused(tmp_path, bounded, text):
    with pytest.raises(InstanceError, match=r"line [12]: XML with a document type"):
        read(written(tmp_path, text))


def test_an_entity_that_is_not_declared(tmp_path):
    with pytest.raises(InstanceError, match="line 1: damaged XML: undefined entity"):
        read(written(tmp_path, "<graphml>&x;</graphml>"))


def test_encodings_other_than_plain_ones_are_not_looked_up(tmp_path):
    text = '<?xml version="1.0" encoding="rot13"?>\n<graphml></graphml>'
    with pytest.raises(InstanceError, match="there is no <graph>"):
        read(written(tmp_path, text))


def test_deep_and_wide_xml(tmp_path, bounded, monkeypatch):
    with pytest.raises(InstanceError, match="nested more than 64 deep"):
        read(written(tmp_path, "<graphml>" + "<a>" * 100_000))
    monkeypatch.setattr(markup, "MAX_ELEMENTS", 1000)
    with pytest.raises(InstanceError, match="more than 1000 elements"):
        read(written(tmp_path, "<graphml>" + "<a/>" * 2000 + "</graphml>"))


def test_text_between_many_elements_takes_linear_time(tmp_path, bounded):
    text = "<graphml>" + "x<a/>" * 30_000 + "</graphml>"
    with pytest.raises(InstanceError, match="there is no <graph>"):
        read(written(tmp_path, text))


def test_a_file_that_unpacks_to_too_much(tmp_path, bounded, monkeypatch):
    monkeypatch.setattr(source, "MAX_BYTES", 1 << 20)
    packed = gzip.compress(b"0" * (8 << 20))
    assert len(packed) < 1 << 14
    with pytest.raises(InstanceError, match="unpacks to more than 1 MiB"):
        read(written(tmp_path, packed))
    with pytest.raises(InstanceError, match="more than 1 MiB, the most that is read"):
        read(written(tmp_path, b"0" * ((1 << 20) + 1)))


def test_packed_files_that_are_damaged(tmp_path):
    packed = gzip.compress(sample("kite.gr").read_bytes())
    assert read(written(tmp_path, packed + b"\0\0")).size == 7
    both = gzip.compress(b"p td 3 2\n1 2\n") + gzip.compress(b"2 3\n")
    assert read(written(tmp_path, both)).arrays["edges"].shape == (2, 2)
    for content, message in (
        (packed[:-9], "cut off"),
        (packed[:20] + b"\xff" * 9 + packed[29:], "gzip cannot unpack it"),
        (packed + b"more", "gzip cannot unpack it"),
        (gzip.compress(b"") * 100, "more than 64 members"),
    ):
        with pytest.raises(InstanceError, match=message):
            read(written(tmp_path, content))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1000000000 1\n1 2 1\n", "declares 1000000000 nodes"),
        ("p td 1000000000 1\n1 2\n", "declares 1000000000 nodes"),
        ("p edge 3 1000000000\ne 1 2\n", "declares 1000000000 edges, but lists 1"),
        ("DIMENSION : 100000000\nNODE_COORD_SECTION\n1 1 1\n", "declares 100000000 nodes"),
        (
            "DIMENSION : 1000\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : FULL_MATRIX\n"
            "EDGE_WEIGHT_SECTION\n0 1\n",
            "1000000 weights do not fit",
        ),
    ],
)
def test_declared_sizes_are_checked_first(tmp_path, bounded, text, message):
    with pytest.raises(InstanceError, match=message):
        read(written(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "1 " * 2_000_000,
        "," * 4_000_000,
        "[" * 2_000_000,
        "{" * 2_000_000,
        "<" * 2_000_000,
        "(" * 2_000_000,
        "c\n" * 200_000,
        "NAME : " + "x" * 2_000_000,
        "3 1\n" + "1 " * 1_000_000,
        "p td 3 1\n" + "1 " * 1_000_000,
        "META (\n" + "x\n" * 300_000,
        "kind," + "x" * 500_000 + "\n",
        '{"format": "lagco-hosts", "a": "' + "x" * 2_000_000,
        "source,target,volume\n" + ",\n" * 100_000,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_long_lines_and_files_are_refused_in_good_time(tmp_path, bounded, text):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError) as caught:
        read(path)
    assert len(str(caught.value)) < 1000


def test_names_are_bounded(tmp_path, bounded):
    """A single long name would make every row of the array of names as long."""
    text = sample("islands.txt").read_text().replace("West", "W" * 100_000)
    with pytest.raises(InstanceError, match="line 13: the name of a node has 100000 characters"):
        read(written(tmp_path, text))
    text = sample("backbone.graphml").read_text().replace("Gamma", "G" * 100_000)
    assert read(written(tmp_path, text)).arrays["names"].itemsize <= 4 * 200


def test_large_trees_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_TREE_BYTES", 100)
    for name in ("islands.txt", "islands.xml", "backbone.graphml", "cluster.json", "cluster.csv"):
        with pytest.raises(InstanceError, match=r"of more than 0 MiB is not read"):
            read(sample(name))


def test_a_matrix_beyond_the_cap(tmp_path, monkeypatch):
    from lagco.instances.formats import tsplib

    monkeypatch.setattr(tsplib, "MAX_EXPLICIT", 4)
    with pytest.raises(InstanceError, match="a matrix of 5 cities; at most 4 are read"):
        read(sample("legs.tsp"))


def test_many_cities_take_memory_in_proportion(tmp_path):
    n = 50_000
    points = np.random.default_rng(0).integers(0, 10_000, size=(n, 2)).tolist()
    rows = "".join(f"{k} {x} {y}\n" for k, (x, y) in enumerate(points, start=1))
    head = f"NAME: many\nTYPE: TSP\nDIMENSION: {n}\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
    path = written(tmp_path, head + rows)
    tracemalloc.start()
    assert read(path).size == n
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_detection_reads_no_more_than_it_must(tmp_path, monkeypatch):
    read_lines = []
    following = source.Lines.__next__

    def counted(lines):
        read_lines.append(lines)
        return following(lines)

    monkeypatch.setattr(source.Lines, "__next__", counted)
    assert detect(written(tmp_path, "p td 9 9\n" + "1 2\n" * 1000)) == "pace"
    assert 0 < len(read_lines) < 100
