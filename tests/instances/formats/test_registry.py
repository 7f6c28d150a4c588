"""Any file: which format it is, what it can serve, packed or not, wherever lagco takes one."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import gymnasium
import pytest
from typer.testing import CliRunner

import lagco
from lagco.cli import app
from lagco.errors import InstanceError, UnknownName
from lagco.instances import DataSet, detect, read, write
from lagco.instances.formats import FORMATS as KNOWN
from tests.instances.formats.samples import DEMANDS, FORMATS, sample, written

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "instance-files.md"


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_detected_by_content(tmp_path, name):
    path = shutil.copy(sample(name), tmp_path / "nameless")
    assert detect(path) == FORMATS[name]
    instance = read(path)
    assert instance.problem == KNOWN[FORMATS[name]].problems[0]
    assert instance.origin["file"] == "nameless"
    assert instance.origin["format"] == FORMATS[name]


@pytest.mark.parametrize("name", DEMANDS)
def test_demand_files_are_detected(name):
    assert detect(sample(name)) == ("demands" if name.endswith(".csv") else "repetita-demands")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_line_ends_and_packing_do_not_matter(tmp_path, name, ending):
    content = sample(name).read_bytes()
    mark = b"" if name.endswith((".xml", ".graphml")) else b"\xef\xbb\xbf"
    packed = gzip.compress(mark + content.replace(b"\n", ending))
    instance = read(written(tmp_path, packed, f"{name}.gz"))
    assert instance.checksum == read(sample(name)).checksum
    assert instance.name == read(sample(name)).name


@pytest.mark.parametrize("name", FORMATS)
def test_lagco_reads_what_it_writes(tmp_path, name):
    kind = KNOWN[FORMATS[name]]
    for problem in kind.problems:
        instance = read(sample(name), problem)
        path = tmp_path / f"again{kind.suffixes[0]}.gz"
        write(instance, path)
        assert detect(path) == kind.name
        again = read(path, problem)
        if kind.name != "graphml":  # its demands are those of the gravity model, here as well
            assert again.checksum == instance.checksum
        write(instance, path.with_suffix(".npz"))
        assert read(path.with_suffix(".npz")).checksum == instance.checksum


def test_formats_of_lagco(tmp_path):
    path = tmp_path / "x.npz"
    write(read(sample("towns.tsp")), path)
    assert detect(path) == "lagco"
    renamed = shutil.copy(path, tmp_path / "x.tsp")
    assert detect(renamed) == "lagco"
    assert read(renamed, "tsp").name == "towns"
    with pytest.raises(InstanceError, match="an instance of 'tsp', not of 'max-cut'"):
        read(path, "max-cut")
    with pytest.raises(InstanceError, match="has its demands already"):
        read(path, demands=sample("islands-matrix.csv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"hello\n", "unknown format; lagco reads tsplib, gset"),
        (b"\x00\x01\x02\xff", "unknown format"),
        (b"{}", "JSON whose 'format' is neither 'lagco-placement' nor 'lagco-hosts'"),
        (b"<html></html>", "XML about <html>, unknown format"),
        (b"\xff\xfe\x00", "not UTF-16, though it begins like that"),
    ],
)
def test_what_is_of_no_format(tmp_path, content, message):
    path = written(tmp_path, content)
    for function in (detect, read):
        with pytest.raises(InstanceError, match=message) as caught:
            function(path)
        assert str(path) in str(caught.value)


def test_what_is_no_file(tmp_path):
    with pytest.raises(InstanceError, match="nowhere: no such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(InstanceError, match="a folder, not a file"):
        read(tmp_path)
    with pytest.raises(InstanceError, match="not a plain file"):
        read("/dev/null")
    with pytest.raises(InstanceError, match="cannot be read"):
        read("a\0b")


def test_utf_16_is_read(tmp_path):
    text = sample("cluster.csv").read_text()
    instance = read(written(tmp_path, text.encode("utf-16")))
    assert instance.checksum == read(sample("cluster.csv")).checksum


def test_comments_may_be_in_any_encoding_but_names_are_utf_8(tmp_path):
    text = sample("towns.tsp").read_bytes().replace(b"a bay", b"a b\xe4y")
    assert read(written(tmp_path, text)).size == 8
    text = sample("islands.txt").read_bytes().replace(b"North", b"N\xf6rth")
    with pytest.raises(InstanceError, match=r"line 10: .* has bytes that are not UTF-8"):
        read(written(tmp_path, text))
    text = sample("islands.txt").read_bytes().replace(b"North", "Nörth".encode())
    assert read(written(tmp_path, text)).arrays["names"][0] == "Nörth"
    text = sample("islands.xml").read_bytes().replace(b"North", b"N\xf6rth")  # it says ISO-8859-1
    assert read(written(tmp_path, text)).arrays["names"][0] == "Nörth"


def test_how_to_write_must_be_clear(tmp_path):
    instance = read(sample("ring.rud"))
    with pytest.raises(InstanceError, match=r"give format= or a suffix .*gset \(\.rud"):
        write(instance, tmp_path / "x.tsp")
    with pytest.raises(
        InstanceError, match=r"cannot be written as 'tsplib'; it can as lagco, gset"
    ):
        write(instance, tmp_path / "x", format="tsplib")
    with pytest.raises(UnknownName, match="unknown format 'gsett': did you mean 'gset'"):
        write(instance, tmp_path / "x", format="gsett")
    assert list(tmp_path.iterdir()) == []


# -- wherever lagco takes a file


def test_environments_take_any_file():
    env = gymnasium.make("lagco/MinVertex-v0", instance=sample("ring.rud"))
    assert env.unwrapped.instance.problem == "min-vertex"
    env.reset(options={"instance": sample("kite.col")})
    assert env.unwrapped.instance.size == 7
    with pytest.raises(InstanceError, match="max-cut or min-vertex, not 'tsp'"):
        gymnasium.make("lagco/TSP-v0", instance=sample("ring.rud"))


def test_a_file_is_a_data_set_of_one():
    data = DataSet.load(sample("ring.rud"), "min-vertex")
    assert (len(data), data.problem) == (1, "min-vertex")
    assert data[0].checksum == data.entries[0].checksum
    assert DataSet.load(sample("ring.rud")).problem == "max-cut"


def test_evaluate_takes_any_file():
    result = lagco.evaluate("greedy", sample("towns.tsp"), episodes=2)
    assert result.problem == "tsp"
    assert result.results[0].episodes[0].feasible
    assert result.results[0].episodes[0].score is None
    result = lagco.evaluate("greedy", sample("ring.rud"), episodes=1, problem="min-vertex")
    assert result.problem == "min-vertex"


def test_the_command_line_takes_any_file():
    run = CliRunner().invoke(app, ["info", str(sample("backbone.graphml")), "--json"])
    described = json.loads(run.stdout)
    assert described["problem"] == "ospf"
    assert "demands by the gravity model" in described["origin"]["notes"]
    run = CliRunner().invoke(
        app,
        ["evaluate", "--policy", "greedy", "--data", str(sample("kite.gr")), "--json"],
    )
    assert json.loads(run.stdout)[0]["problem"] == "min-vertex"


def test_the_guide_names_every_format():
    text = GUIDE.read_text()
    for kind in KNOWN.values():
        assert f"`{kind.name}`" in text, kind.name
    for suffix in {suffix for kind in KNOWN.values() for suffix in kind.suffixes}:
        assert suffix in text, suffix


@pytest.mark.parametrize("size", ["big", 5.5])
def test_a_size_that_is_no_whole_number_is_refused(size):
    with pytest.raises(lagco.errors.UsageError, match="give a whole number"):
        gymnasium.make("lagco/TSP-v0", size=size)


def test_a_keyword_of_a_section_suggests_a_section(tmp_path):
    text = sample("towns.tsp").read_text().replace("NODE_COORD_SECTION", "NODE_COORDS")
    with pytest.raises(InstanceError, match="'NODE_COORDS': did you mean 'NODE_COORD_SECTION'"):
        read(written(tmp_path, text))
    text = sample("towns.tsp").read_text().replace("EDGE_WEIGHT_TYPE", "EDGE_WEIGHTS_TYP")
    with pytest.raises(InstanceError, match="did you mean 'EDGE_WEIGHT_TYPE'"):
        read(written(tmp_path, text))


def test_an_unknown_node_of_a_demand_lists_near_names(tmp_path):
    network = read(sample("backbone.graphml"))
    name, other = network.array("names")[:2].tolist()
    table = written(tmp_path, f"source,target,volume\n{name}x,{other},1\n", "demands.csv")
    message = rf"demands.csv, line 2: there is no node '{name}x'; did you mean '{name}'"
    with pytest.raises(InstanceError, match=message):
        read(sample("backbone.graphml"), demands=table)
    table = written(tmp_path, f"source,target,volume\n@@@@,{other},1\n", "demands.csv")
    with pytest.raises(InstanceError, match=rf"no node '@@@@'; the nodes are '{name}'.*, …"):
        read(sample("backbone.graphml"), demands=table)


def test_a_plain_table_of_machines_says_which_columns_it_needs(tmp_path):
    for head in ("vm,cpu,ram", "name,cpu,memory", "name,pes,ram"):
        path = written(tmp_path, f"{head}\na,1,2\nb,2,4\nc,1,1\n", "vms.csv")
        square = written(tmp_path, f"{head}\na,1,2\nb,2,4\n", "square.csv")  # as a matrix is
        for place in (path, square):
            with pytest.raises(InstanceError) as caught:
                read(place)
            message = str(caught.value)
            columns = head.replace(",", ", ")
            assert message.startswith(f"{place}: a table with the columns {columns}: of two tables")
    for column in ("kind (pm, vm, traffic or link)", "name", "pe, mips, memory, storage", "volume"):
        assert column in message


SUMS = """?SNDlib native format; type: network; version: 1.0
NODES (
A ( 0 0 )
B ( 1 0 )
C ( 1 1 )
)
LINKS (
L1 ( A B ) {} 0 0 0 ( )
L2 ( B C ) 1 0 0 0 ( )
L3 ( A B ) {} 0 0 0 ( )
)
DEMANDS (
D1 ( A C ) 1 {} UNLIMITED
D2 ( A C ) 1 {} UNLIMITED
)
"""


@pytest.mark.parametrize("problem", ["ospf", "traffic"])
@pytest.mark.parametrize("numbers", [("9e14", "9e14", 1, 1), (1, 1, "9e14", "9e14")])
def test_sums_that_no_problem_takes_are_refused_when_read(tmp_path, problem, numbers):
    path = written(tmp_path, SUMS.format(*numbers))
    with pytest.raises(InstanceError, match=r"file: instance .*holds .* numbers reach 1e\+15"):
        read(path, problem)
    assert read(written(tmp_path, SUMS.format(1, 1, 1, 1)), problem).problem == problem


def test_weights_of_parallel_edges_that_add_up_to_too_much(tmp_path):
    text = "3 3\n1 2 900000000000000\n2 1 900000000000000\n2 3 1\n"
    with pytest.raises(InstanceError, match=r"file: instance .*weights holds .*reach 1e\+15"):
        read(written(tmp_path, text), "max-cut")
