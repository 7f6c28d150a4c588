"""Published traces of virtual machines, read lazily and checked."""

import sqlite3

import pytest

import lagco
from lagco.errors import InstanceError
from lagco.instances.timelines import read_vm_trace
from lagco.problems.placement import Placement

HEAD = "vmid,cpu,memory,time,type\n"


@pytest.fixture
def cluster():
    return Placement.generate(10, seed=1, load=0.3)


@pytest.fixture
def azure(tmp_path):
    """A packing trace of four machines of two kinds, one of which has no share of machine 0."""
    path = tmp_path / "packing.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE vmType (id, vmTypeId, machineId, core, memory, hdd, ssd, nic)"
        )
        database.execute("CREATE TABLE vm (vmId, tenantId, vmTypeId, priority, starttime, endtime)")
        database.executemany(
            "INSERT INTO vmType VALUES (?,?,?,?,?,0,0,0)",
            [(1, 7, 0, 0.25, 0.125), (2, 8, 0, 0.5, 0.5), (3, 9, 1, 0.5, 0.5)],
        )
        database.executemany(
            "INSERT INTO vm VALUES (?,?,?,0,?,?)",
            [
                (1, 5, 7, -1.0, 0.5),
                (2, 5, 8, 0.25, None),
                (3, 6, 7, 0.5, 1.0),
                (4, 6, 9, 0.1, 0.2),
                (5, 6, 7, -3.0, -1.0),
            ],
        )
    return path


def told(timeline):
    return [(m.time, m.event.kind, m.event.fields["vm"]) for m in timeline]


def test_azures_packing_trace_is_read_in_the_order_of_time(azure, cluster):
    timeline = read_vm_trace(azure, cluster)
    assert told(timeline) == [
        (0.0, "vm", "1"),
        (21600.0, "vm", "2"),
        (43200.0, "vm-gone", "1"),
        (43200.0, "vm", "3"),
        (86400.0, "vm-gone", "3"),
    ]
    assert timeline.notes == ["1 virtual machine left out, which have no shares of machine 0"]
    first = next(iter(timeline)).event.fields
    capacity = cluster.array("pm_capacities")[0]
    assert (first["pe"], first["memory"]) == (0.25 * capacity[0], 0.125 * capacity[2])
    assert [vm for _, _, vm in told(read_vm_trace(azure, cluster, machine=1))] == ["4", "4"]


def test_a_trace_is_replayed(azure, cluster):
    result = lagco.live(
        cluster, series=azure, controllers="hold,greedy", turns=3, max_changes=1, progress=False
    )
    assert [len(result.of(by)) for by in result.controllers] == [4, 4]


def test_vmagents_table_is_read_and_unknown_deletions_are_counted(tmp_path, cluster):
    path = tmp_path / "huawei.csv"
    path.write_text(HEAD + "a,2,4,0,0\nb,4,8,5,0\nz,1,1,6,1\na,2,4,9,1\n")
    timeline = read_vm_trace(path, cluster)
    assert told(timeline) == [(0.0, "vm", "a"), (5.0, "vm", "b"), (9.0, "vm-gone", "a")]
    assert timeline.notes == ["1 deletion of machines that were never created"]
    instance = cluster
    for moment in timeline:
        instance = Placement.after(instance, moment.event).instance
    assert instance.array("vm_names").tolist()[-1] == "b"
    assert instance.array("vm_demands")[-1].tolist() == [4.0, 0.0, 8.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,x,4,0,0\n", "line 2: .*'x'"),
        ("a,2,4,0,3\n", "line 2: type is '3'"),
        ("a,2,4,0,0\na,2,4,1,0\n", "line 3: 'a' is created while it is there"),
        ("a,2,4,5,0\nb,2,4,1,0\n", "line 3: time runs backwards"),
        ("a,2,4\n", "line 2: 3 cells below 5 columns"),
    ],
)
def test_broken_lines_are_named(tmp_path, cluster, rows, message):
    path = tmp_path / "trace.csv"
    path.write_text(HEAD + rows)
    with pytest.raises(InstanceError, match=message):
        list(read_vm_trace(path, cluster))


def test_files_of_other_kinds_say_what_they_lack(tmp_path, azure, cluster):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InstanceError, match="has the columns vmid, cpu, memory, time, type"):
        read_vm_trace(path, cluster)
    with pytest.raises(InstanceError, match="no shares of machine 9; there are 0, 1"):
        read_vm_trace(azure, cluster, machine=9)
    with sqlite3.connect(azure) as database:
        database.execute("ALTER TABLE vmType DROP COLUMN core")
    with pytest.raises(InstanceError, match="lacks the columns core of the table 'vmType'"):
        read_vm_trace(azure, cluster)
    azure.write_bytes(azure.read_bytes()[:100] + b"\0" * 4000)
    with pytest.raises(InstanceError, match="damaged, or no packing trace|lacks"):
        read_vm_trace(azure, cluster)
