"""Timelines as files, and series of matrices as timelines."""

import io
import itertools
import json
import tarfile

import pytest

from lagco.core.events import Event
from lagco.errors import InstanceError, UsageError
from lagco.instances import read
from lagco.instances.timelines import Timeline, read_series, read_timeline, write_timeline
from lagco.problems.ospf import OSPF
from tests.shared_instances import DATA, shared_instance


@pytest.fixture(scope="module")
def network():
    return read(DATA / "islands.txt", "ospf")


@pytest.fixture
def file(network, tmp_path):
    timeline = OSPF.draw_timeline(network, seed=3, until=1500.0, failures=0.5)
    write_timeline(timeline, tmp_path / "day.jsonl")
    return tmp_path / "day.jsonl"


def names_of(instance):
    return [str(name) for name in instance.array("names")]


def test_a_timeline_is_written_and_read_back(network, file):
    read_back = read_timeline(file)
    drawn = OSPF.draw_timeline(network, seed=3, until=1500.0, failures=0.5)
    assert [(m.time, m.event) for m in read_back] == [(m.time, m.event) for m in drawn]
    assert read_back.instance.checksum == network.checksum
    assert read_back.is_synthetic
    assert read_back.origin["seed"] == 3
    assert next(iter(read_back)).where.endswith("day.jsonl, line 2")


def test_events_are_read_when_they_are_reached(file):
    lines = file.read_text().splitlines()
    lines[4] = "{broken"
    file.write_text("\n".join(lines))
    moments = iter(read_timeline(file))
    assert len(list(itertools.islice(moments, 3))) == 3
    with pytest.raises(InstanceError, match=r"day.jsonl, line 5: broken, no JSON"):
        next(moments)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"time": 1', "line 3: broken, no JSON"),
        ('{"time": 1, "event": "rain"}', "line 3: unknown event of ospf 'rain'"),
        ('{"event": "node-up", "node": "x"}', "line 3: time is None"),
        ('{"time": -5, "event": "node-up", "node": "x"}', "line 3: time runs backwards, from 0"),
        ('{"time": 9, "event": "node-up"}', "line 3: event 'node-up': has no 'node'"),
        ('{"time": 9, "event": "node-up", "node": 4}', "line 3: .* node is 4, it must be a text"),
        ('{"time": 9, "event": "node-up", "node": "x", "extra": 1}', "unknown field 'extra'"),
        ("[1, 2]", "line 3: time is None"),
    ],
)
def test_a_broken_line_is_named_with_its_reason(file, line, message):
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:2], line]))
    with pytest.raises(InstanceError, match=message):
        list(read_timeline(file))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"format": "lagco-timeline", "version": 1}, "line 1: .*has no 'problem'"),
        ({"format": "lagco-timeline", "version": 2, "problem": "ospf"}, "version"),
        (
            {"format": "lagco-timeline", "version": 1, "problem": "ospf", "instance": "/etc/x"},
            "it has to lie beside it",
        ),
        ({"format": "lagco-timeline", "version": 1, "problem": "own:X"}, "not one of lagco's"),
        ({"format": "lagco-timeline", "version": 1, "problem": "ospf"}, "names no instance"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path, header, message):
    (tmp_path / "t.jsonl").write_text(json.dumps(header) + "\n")
    with pytest.raises(InstanceError, match=message):
        read_timeline(tmp_path / "t.jsonl")


def test_time_in_memory_does_not_run_backwards_either(network):
    event = Event("node-up", node="x")
    timeline = Timeline.of(network, [(5.0, event), (4.0, event)])
    with pytest.raises(InstanceError, match="time runs backwards, from 5 to 4"):
        list(timeline)


# -- series


def matrix_xml(pairs):
    rows = "".join(
        f'<demand id="{k}"><source>{s}</source><target>{t}</target>'
        f"<demandValue>{v}</demandValue></demand>"
        for k, (s, t, v) in enumerate(pairs)
    )
    nodes = "".join(f'<node id="{n}"/>' for n in sorted({n for s, t, _ in pairs for n in (s, t)}))
    return (
        '<network xmlns="http://sndlib.zib.de/network" version="1.0"><networkStructure>'
        f"<nodes>{nodes}</nodes></networkStructure><demands>{rows}</demands></network>"
    )


def archive(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members:
            entry = tarfile.TarInfo(f"series/{name}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def series(network, tmp_path):
    a, b, *_ = names_of(network)
    return archive(
        tmp_path / "series.tgz",
        [
            ("demandMatrix-x-5min-20040301-0000.xml", matrix_xml([(a, b, 1.5)])),
            ("demandMatrix-x-5min-20040301-0015.xml", matrix_xml([(a, b, 4.5), (b, a, 1.0)])),
            ("demandMatrix-x-5min-20040301-0005.xml", matrix_xml([(a, b, 2.5)])),
            ("demandMatrix-x-5min-20040301-0020.xml", matrix_xml([])),
        ],
    )


def test_an_archive_is_read_in_order_of_time_and_its_holes_are_told(network, series):
    a, b, *_ = names_of(network)
    skipped = read_series(series, network)
    moments = list(skipped)
    assert [moment.time for moment in moments] == [0.0, 300.0, 900.0]
    assert moments[2].event.fields["volumes"] == [(a, b, 4.5), (b, a, 1.0)]
    assert skipped.notes == [
        "1 empty matrix, left out: 1200 s",
        "1 missing matrix, left out: 600 s",
    ]
    held = read_series(series, network, holes="hold")
    moments = list(held)
    assert [moment.time for moment in moments] == [0.0, 300.0, 600.0, 900.0, 1200.0]
    assert moments[2].event == moments[1].event
    assert moments[4].event == moments[3].event
    assert held.notes[0].startswith("1 empty matrix, the one before repeated")
    with pytest.raises(UsageError, match="holes"):
        read_series(series, network, holes="fill")


def test_a_matrix_about_an_unknown_node_is_named(network, tmp_path):
    path = archive(tmp_path / "s.tgz", [("m-20040301.xml", matrix_xml([("Atlantis", "X", 1.0)]))])
    with pytest.raises(InstanceError, match=r"m-20040301.xml, line 1: there is no node 'Atlantis'"):
        list(read_series(path, network))


def test_names_have_to_say_when(network, tmp_path):
    path = archive(tmp_path / "s.tgz", [("first.xml", "")])
    with pytest.raises(InstanceError, match="'series/first.xml' has neither a date nor a number"):
        list(read_series(path, network))
    path = archive(tmp_path / "s.tgz", [("m-20041301.xml", "")])
    with pytest.raises(InstanceError, match="the date in 'm-20041301' is none"):
        list(read_series(path, network))
    path = archive(tmp_path / "s.tgz", [("a-7.xml", ""), ("b-7.xml", "")])
    with pytest.raises(InstanceError, match="one of two matrices of that time"):
        list(read_series(path, network))


def test_a_damaged_archive_is_refused(network, series):
    series.write_bytes(series.read_bytes()[:-30])
    with pytest.raises(InstanceError, match="damaged archive|neither an archive"):
        list(read_series(series, network))


def test_matrices_as_csv_in_a_folder_and_in_one_table(network, tmp_path):
    a, b, *_ = names_of(network)
    folder = tmp_path / "matrices"
    folder.mkdir()
    for number, volume in ((1, 2.0), (2, 3.0)):
        (folder / f"matrix-{number}.csv").write_text(f"source,target,volume\n{a},{b},{volume}\n")
    moments = list(read_series(folder, network))
    assert [(m.time, m.event.fields["volumes"]) for m in moments] == [
        (0.0, [(a, b, 2.0)]),
        (3600.0, [(a, b, 3.0)]),
    ]
    (folder / "matrix-2.csv").write_text(f"source,target,volume\n{a},{b},0\n")
    holed = read_series(folder, network)
    assert [moment.time for moment in holed] == [0.0]
    assert holed.notes == ["1 empty matrix, left out: 3600 s"]
    table = tmp_path / "series.csv"
    table.write_text(f"time,source,target,volume\n60,{a},{b},1\n60,{b},{a},2\n360,{a},{b},3\n")
    moments = list(read_series(table, network))
    assert [(m.time, len(m.event.fields["volumes"])) for m in moments] == [(0.0, 2), (300.0, 1)]
    table.write_text(f"time,source,target,volume\n60,{a},{b},1\n30,{b},{a},2\n")
    with pytest.raises(InstanceError, match="line 3: time runs backwards, from 60 to 30"):
        list(read_series(table, network))
    table.write_text(f"time,source,target,volume\n60,{a},Nowhere,1\n")
    with pytest.raises(InstanceError, match="line 2: unknown node 'Nowhere'"):
        list(read_series(table, network))


def test_real_series_are_read_with_their_holes():
    network = read(shared_instance("sndlib_dynamic/geant.xml"), "ospf")
    timeline = read_series(shared_instance("sndlib_dynamic/geant-15min-20050504-05.tgz"), network)
    moment = next(iter(timeline))
    assert moment.time == 1800.0
    changed = OSPF.after(network, moment.event).instance
    assert changed.array("volumes").sum() > 0.0
    assert timeline.notes == ["2 empty matrices, left out: 0 s, 900 s"]
