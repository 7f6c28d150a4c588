"""Files made to do harm: nothing is allocated that a file only declares, nothing is expanded."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import time
import tracemalloc

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import detect, read
from lagco.instances.formats import source
from lagco.instances.formats.networks import markup
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


LONG = 40_000
#: tokens on which a pattern that can match a run in two ways takes square time
TOKENS = {
    "digits": "9" * LONG,
    "digits and a letter": "9" * LONG + "x",
    "digits with a point": "9" * (LONG // 2) + "." + "9" * (LONG // 2) + "x",
    "a point and digits": "." + "9" * LONG + "x",
    "an exponent": "1e" + "9" * LONG + "x",
    "letters": "a" * LONG + ":",
    "spaces": " " * LONG + "x",
    "line ends": "\n" * LONG + "x",
}
READ = (
    "towns.tsp", "legs.tsp", "harbours.tsp", "kite.col", "kite.gr", "ring.rud", "islands.txt",
    "islands.xml", "backbone.graphml", "cluster.json", "cluster.csv", "office.json",
)  # fmt: skip


def places(text, most=16):
    """Words of a text, one of each look, as (begin, end)."""
    found = {}
    for word in re.finditer(r"[\w.+-]+", text):
        look = re.sub(r"\d+", "0", word[0])[:12], text[: word.start()].count("\n") > 6
        found.setdefault(look, word.span())
    return list(found.values())[:most]


def tried(path, **options):
    """CPU seconds until a file is read or refused by a message about it."""
    begin = time.process_time()
    try:
        read(path, **options)
    except InstanceError as error:
        assert str(path) in str(error) and len(str(error)) < 2000
    return time.process_time() - begin


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("name", READ)
def test_long_tokens_take_linear_time(tmp_path, name, token):
    text = sample(name).read_text()
    for begin, end in [(0, 0), *places(text)]:
        path = written(tmp_path, text[:begin] + TOKENS[token] + text[end:])
        assert tried(path) < 3.0, f"in the place of {text[begin:end]!r}"


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    ("network", "name"),
    [("backbone.graphml", "backbone-demands.csv"), ("islands.txt", "islands-matrix.csv")],
)
def test_long_tokens_in_demands_take_linear_time(tmp_path, network, name, token):
    text = sample(name).read_text()
    for begin, end in [(0, 0), *places(text)]:
        table = written(tmp_path, text[:begin] + TOKENS[token] + text[end:], "demands.csv")
        start = time.process_time()
        with contextlib.suppress(InstanceError):
            read(sample(network), demands=table)
        assert time.process_time() - start < 3.0, f"in the place of {text[begin:end]!r}"


def test_a_packed_number_of_many_digits_is_refused_at_once(tmp_path):
    city = "9" * LONG + "x"
    text = (
        "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
        f"1 0 0\n2 0 {city}\nEOF\n"
    )
    packed = gzip.compress(text.encode())
    assert len(packed) < 300
    path = written(tmp_path, packed)
    with pytest.raises(InstanceError, match="line 6: a coordinate is '9999"):
        read(path)
    assert tried(path) < 3.0


@pytest.mark.parametrize("digits", ["1." + "0" * 60, "0" * 90 + "1", "1e5", ".5", "5.", "+1.5E-3"])
def test_numbers_in_every_spelling_are_read(tmp_path, digits):
    text = (
        "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
        f"1 0 0\n2 0 {digits}\nEOF\n"
    )
    assert read(written(tmp_path, text)).array("coordinates")[1, 1] == float(digits)


def test_a_named_pipe_is_not_opened(tmp_path):
    path = tmp_path / "pipe.tsp"
    os.mkfifo(path)
    for function in (detect, read):
        with pytest.raises(InstanceError, match="pipe.tsp: cannot be read .*not a plain file"):
            function(path)
    with pytest.raises(InstanceError, match="pipe.tsp: cannot be read"):
        read(sample("backbone.graphml"), demands=path)


@pytest.mark.parametrize("name", ["large.tsp", "large.npz"])
def test_a_file_of_three_gigabytes_is_not_opened(tmp_path, bounded, name):
    path = tmp_path / name
    with path.open("wb") as stream:
        stream.truncate(3 << 30)
    with pytest.raises(InstanceError, match=f"{name}: cannot be read .*3221225472 bytes"):
        read(path)


def test_a_file_of_zeros_is_no_text(tmp_path):
    path = tmp_path / "zeros.tsp"
    with path.open("wb") as stream:
        stream.write(b"NAME : zeros\n")
        stream.truncate(64 << 20)
    with pytest.raises(InstanceError, match=r"zeros.tsp: not a text, 64 zero bytes .*byte 13 on"):
        read(path)


def test_a_link_that_people_name_is_followed(tmp_path):
    path = tmp_path / "linked.tsp"
    path.symlink_to(sample("towns.tsp"))
    assert read(path).checksum == read(sample("towns.tsp")).checksum
