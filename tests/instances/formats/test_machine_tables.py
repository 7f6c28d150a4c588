"""Two plain tables of machines: columns of any names, and errors that say what a table needs."""

import numpy as np
import pytest

import lagco
from lagco.errors import InstanceError, UsageError
from lagco.instances import read
from lagco.problems.placement import Placement

VMS = "vm_id;vcpus;ram_gb;runs_on\nweb;8;16;n1\ndb;16;64;n2\n"
PMS = "id,cores,ram_gb\nn1,32,128\nn2,32,128\n"


@pytest.fixture
def tables(tmp_path):
    def write(vms=VMS, pms=PMS):
        paths = tmp_path / "vms.csv", tmp_path / "pms.csv"
        for path, content in zip(paths, (vms, pms), strict=True):
            path.write_text(content)
        return paths

    return write


def test_tables_with_columns_of_any_names_are_read(tables):
    vms, pms = tables()
    found = read(vms, hosts=pms, columns="host=runs_on")
    assert found.array("vm_names").tolist() == ["web", "db"]
    assert found.array("vm_demands")[:, [0, 2]].tolist() == [[8, 16], [16, 64]]
    assert found.array("pm_capacities")[:, [0, 2]].tolist() == [[32, 128], [32, 128]]
    assert found.array("allocation").tolist() == [0, 1]
    assert "allocation" not in read(vms, hosts=pms).arrays
    answer = lagco.solve(vms, hosts=pms, columns={"host": "runs_on"}, turns=2, progress=False)
    assert answer.before is not None


def test_large_tables_without_traffic_need_no_links(tables):
    hosts = "".join(f"n{p},32,128\n" for p in range(600))
    instance = read(*tables()[:1], hosts=tables(pms=f"id,cores,ram\n{hosts}")[1])
    assert instance.array("latency_links").shape == (2, 599)
    Placement(instance, start="default").reset(seed=0)


@pytest.mark.parametrize(
    ("vms", "pms", "columns", "message"),
    [
        (
            "a,b\n1,2\n",
            PMS,
            None,
            r"vms.csv, line 1: a table of virtual machines needs name and pe",
        ),
        (VMS, "id,speed\nx,1\ny,2\n", None, r"pms.csv, line 1: .* known to be pe: say which"),
        (VMS + "x;y;1;n1\n", PMS, None, r"vms.csv, line 4: .*'y'"),
        (VMS + "web;1;1;n1\n", PMS, None, r"vms.csv, line 4: .*stands there twice"),
        (VMS, PMS + "n1,1,1\n", None, r"pms.csv, line 4: .*stands there twice"),
        (VMS + "x;1\n", PMS, None, r"line 4: 2 cells, the header has 4"),
        (VMS + "x;1;1;n9\n", PMS, "host=runs_on", r"vms.csv, line 4: .*there is no 'n9'"),
        (
            VMS + "x;25;1;n1\n",
            PMS,
            "host=runs_on",
            r"vms.csv, line 4: .*'n1' has no room left for it: 33 of 32 pe .* give what may be",
        ),
        (
            VMS,
            "id,cores,ram_gb\na,16,16\nb,8,64\n",
            None,
            r"line 3: .*too large for every physical",
        ),
    ],
)
def test_tables_that_do_not_fit_say_what_they_need(tables, vms, pms, columns, message):
    first, second = tables(vms, pms)
    with pytest.raises(InstanceError, match=message):
        read(first, hosts=second, columns=columns)


def test_usual_names_are_found_however_they_are_written(tables):
    vms = "VM Name;vCPU;RAM (GB);Hypervisor\nweb;8;16;n1\ndb;16;64;n2\n"
    found = read(tables(vms)[0], hosts=tables(vms)[1])
    assert found.array("vm_names").tolist() == ["web", "db"]
    assert found.array("vm_demands")[:, [0, 2]].tolist() == [[8, 16], [16, 64]]
    assert found.array("allocation").tolist() == [0, 1]


def test_a_comma_inside_a_quoted_name_of_a_column_separates_nothing(tables):
    vms, pms = tables(vms='"notes, if any",name,vcpus,ram\n"x, y",web,2,8\n,db,4,16\n')
    found = read(vms, hosts=pms)
    assert found.array("vm_names").tolist() == ["web", "db"]
    assert found.array("vm_demands")[:, [0, 2]].tolist() == [[2.0, 8.0], [4.0, 16.0]]


def test_options_that_do_not_fit_are_refused(tables):
    vms, pms = tables()
    with pytest.raises(UsageError, match=r"memory=ram: unknown column 'ram': did you mean 'ram_gb"):
        read(vms, hosts=pms, columns="memory=RAM")
    with pytest.raises(UsageError, match="did you mean 'host'"):
        read(vms, hosts=pms, columns="hst=runs_on")
    with pytest.raises(UsageError, match="give the other as hosts="):
        read(vms, columns="host=runs_on")
    with pytest.raises(UsageError, match="for placement alone"):
        read(vms, "ospf", hosts=pms)
    with pytest.raises(InstanceError, match="the second is given as hosts=FILE; a"):
        read(vms)


def test_numbers_are_those_of_the_tables(tables):
    vms, pms = tables(pms="id,cores,ram\nn1,32.5,128\nn2,8,8\n")
    found = read(vms, hosts=pms)
    np.testing.assert_array_equal(found.array("pm_capacities")[:, 0], [32.5, 8])
