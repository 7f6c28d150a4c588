"""Placement and host inventories: what the files say, schemas, and errors that name the path."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import read, write
from lagco.instances.formats.document import load_schema
from lagco.problems.cyber_path import CyberPath
from lagco.problems.placement import Placement
from lagco.store import check
from tests.instances.formats.samples import sample, written


def content(name):
    return json.loads(sample(name).read_text())


def edited(name, *path, value=None, drop=False):
    """The JSON of a sample with what stands at `path` replaced or dropped."""
    changed = content(name)
    place = changed
    for part in path[:-1]:
        place = place[part]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(changed)


# -- placement


def test_placement():
    instance = read(sample("cluster.json"))
    arrays = instance.arrays
    assert instance.size == 4
    assert arrays["vm_demands"][3].tolist() == [6, 0, 16, 0]
    assert arrays["pm_capacities"][2].tolist() == [8, 6000, 32, 500]
    assert arrays["pm_idle"].tolist() == [80, 90, 75]
    assert arrays["tenants"].tolist() == [0, 0, 1, 1]
    assert arrays["allocation"].tolist() == [0, 1, 0, 2]
    assert arrays["vm_names"].tolist() == ["web", "store", "mail", "batch"]
    env = Placement(instance, start="current")
    env.reset(seed=0)
    terms = env.terms()
    # web and store are 1.5 apart, mail and batch 3.5, averaged over two tenants
    network = next(value for name, value in terms.items() if "network" in name)
    assert network == pytest.approx((7.5 * 1.5 + 1.0 * 3.5) / 2)


def test_csv_and_json_are_the_same_instance():
    assert read(sample("cluster.csv")).checksum == read(sample("cluster.json")).checksum


def test_columns_may_be_left_out_and_reordered(tmp_path):
    text = "pe;kind;name\n4;pm;big\n2;pm;small\n1;vm;a\n2;vm;b\n"
    instance = read(written(tmp_path, text))
    assert instance.arrays["vm_demands"][:, 0].tolist() == [1, 2]
    assert "allocation" not in instance.arrays
    Placement(instance, start="default").reset(seed=0)


def test_without_links_all_machines_are_one_apart(tmp_path):
    instance = read(written(tmp_path, edited("cluster.json", "links", drop=True)))
    assert instance.arrays["latency_links"].T.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert instance.arrays["latencies"].tolist() == [1, 1, 1]
    assert instance.origin["notes"] == ["no links: every two physical machines are 1 apart"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (edited("cluster.json", "vms", 2, "demand", "pe", value=-1), r"vms\[2\]\.demand\.pe: is -1"),
        (edited("cluster.json", "vms", 2, "demand", "pe", value="2"), r"\.pe: is '2', it must be a n"),
        (edited("cluster.json", "vms", 2, "demand", "pe", value=True), r"\.pe: is True, it must be a"),
        (edited("cluster.json", "vms", 2, "demand", "pe", value=1e20), r"\.pe: is 1e\+20, it must be"),
        (edited("cluster.json", "vms", 2, "demand", "pe", value=99), r"vms\[2\]: it is too large for"),
        (edited("cluster.json", "vms", 2, "demand", drop=True), r"vms\[2\]: has no 'demand'"),
        (edited("cluster.json", "vms", 2, "ram", value=4), r"vms\[2\]: unknown field 'ram': .*known are"),
        (edited("cluster.json", "vms", 2, "name", value="web"), r"vms\[2\]\.name: 'web' stands there"),
        (edited("cluster.json", "vms", 2, "name", value="a\tb"), r"vms\[2\]\.name: 'a\\tb' is not pri"),
        (edited("cluster.json", "vms", 2, "name", value="x" * 201), r"\.name: has 201 characters"),
        (edited("cluster.json", "vms", 2, "host", value="rack9"), r"vms\[2\]\.host: there is no 'rack9'"),
        (edited("cluster.json", "vms", 2, "host", drop=True), r"vms\[2\]: has no 'host', but others"),
        (edited("cluster.json", "vms", 1, "host", value="rack3"), r"vms\[3\]\.host: 'rack3' has no room"),
        (edited("cluster.json", "pms", value=[]), "pms: has 0 entries, there must be at least 2"),
        (edited("cluster.json", "pms", 0, "escape", value=1.5), r"pms\[0\]\.escape: is 1\.5, it must"),
        (
            edited("cluster.json", "traffic", 0, "between", value=["web", "web"]),
            r"traffic\[0\]\.between\[1\]: 'web' stands there twice",
        ),
        (
            edited("cluster.json", "traffic", 1, "between", value=["store", "web"]),
            r"traffic\[1\]: the two stand there twice",
        ),
        (
            edited("cluster.json", "links", 1, "between", value=["rack1", "disk"]),
            r"links\[1\]\.between\[1\]: there is no 'disk'",
        ),
        (
            edited("cluster.json", "links", value=[{"between": ["rack1", "rack2"], "latency": 1}]),
            r"pms\[2\]: no links lead there",
        ),
        (edited("cluster.json", "version", value=2), "version: is 2, this lagco reads 1"),
        (edited("cluster.json", "format", value="x"), "JSON whose 'format' is neither"),
        ('{"format": "lagco-placement",\n"a": 1,\n"a": 2}', "the key 'a' stands there twice"),
        ('{"format": "lagco-placement",\n"a": NaN}', "NaN is not a number"),
        ('{"format": "lagco-placement",\n"a": ' + "9" * 999 + "}", "has 999 digits"),
        ('{"format": "lagco-placement",\n"a": }', "line 2: damaged JSON: Expecting value"),
        ('{"format": "lagco-placement", "a": ' + "[" * 100_000, "nested too deep"),
    ],
)  # fmt: skip
def test_wrong_machines_are_named(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mail,2,", "mail,two,", "line 7: pe is 'two', not a number"),
        ("mail,2,", "mail,-2,", "line 7: demand.pe: is -2.0, it must be 0 to"),
        ("vm,mail", "vm,web", "line 7: name: 'web' stands there twice"),
        ("vm,mail", "lm,mail", "line 7: unknown kind of row 'lm': did you mean 'vm'"),
        ("rack1,,,,,,,\nvm,batch", "rack7,,,,,,,\nvm,batch", "line 7: host: there is no 'rack7'"),
        ("batch,1,", "batch,,", r"line 10: has no 'volume'"),
        ("batch,1,", "batch,1,9", "line 10: a row of kind traffic has no latency"),
        ("memory", "ram", "line 1: unknown column 'ram'"),
        ("memory", "pe", "line 1: two columns have the same name"),
        ("pm,rack3,8,", "pm,rack3,8,,", "line 4: 16 cells, the header has 15"),
    ],
)
def test_wrong_rows_are_named(tmp_path, old, new, message):
    text = sample("cluster.csv").read_text()
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(InstanceError, match=message):
        read(path)


# -- hosts


def test_hosts():
    instance = read(sample("office.json"))
    assert instance.size == 4
    assert instance.params == {
        "p_recon": 0.5,
        "p_feature_visible": 0.6,
        "p_detection": 0.05,
        "p_data_present": 0.5,
        "start": 0,
    }
    assert instance.arrays["services"][0].tolist() == ["ssh-server", "windows-workstation"]
    assert instance.arrays["services"][3].tolist() == ["java-application-server", ""]
    assert instance.arrays["data"].tolist() == [0, 1, 0, 1]
    env = CyberPath(instance, start="current")
    env.reset(seed=0)
    assert env.host_of[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            edited("office.json", "hosts", 1, "vulnerabilities", 0, value="app-sql-injektion"),
            r"hosts\[1\]\.vulnerabilities\[0\]: unknown vulnerability .*mean 'app-sql-injection'",
        ),
        (
            edited("office.json", "hosts", 0, "services", 0, value="abacus"),
            r"hosts\[0\]\.services\[0\]: unknown service 'abacus'",
        ),
        (
            edited("office.json", "hosts", 1, "vulnerabilities", 1, value="app-sql-injection"),
            r"hosts\[1\]\.vulnerabilities\[1\]: 'app-sql-injection' stands there twice",
        ),
        (edited("office.json", "hosts", 1, "name", value="desk"), r"hosts\[1\]\.name: 'desk' stands"),
        (edited("office.json", "hosts", 1, "data", value=1), r"hosts\[1\]\.data: is 1, it must be a b"),
        (edited("office.json", "start", value="cellar"), "start: there is no 'cellar'"),
        (edited("office.json", "chances", "recon", value=2), "chances.recon: is 2, it must be 0 to 1"),
        (edited("office.json", "chances", "luck", value=1), "chances: unknown field 'luck'"),
        (edited("office.json", "hosts", value=[]), "hosts: has 0 entries, there must be at least 2"),
        (edited("office.json", "hosts", value=[{}] * 2001), "has 2001 entries, there must be at most"),
        (
            edited(
                "office.json", "hosts",
                value=[{"name": name, "vulnerabilities": []} for name in ("desk", "b")],
            ),
            "no host has a vulnerability",
        ),
    ],
)  # fmt: skip
def test_wrong_hosts_are_named(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


# -- what we generate can be written, and the schemas


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        ("placement", ("x.json", "x.csv")),
        ("cyber-path", ("x.json",)),
        ("max-cut", ("x.rud", "x.col")),
        ("min-vertex", ("x.gr", "x.col", "x.rud")),
        ("ospf", ("x.txt", "x.xml")),
        ("traffic", ("x.txt", "x.xml")),
    ],
)
def test_generated_instances_are_written_and_read_again(tmp_path, problem, names):
    instance = generate_instance(problem, size=8)
    for name in names:
        write(instance, tmp_path / name)
        again = read(tmp_path / name, problem)
        assert again.size == instance.size
        for array in instance.arrays.keys() - {"tenants"}:  # they are numbered anew
            np.testing.assert_array_equal(
                again.arrays[array], instance.arrays[array], err_msg=array
            )


def test_the_vigilance_of_a_network_is_kept(tmp_path):
    drawn = generate_instance("cyber-path", size=6)
    assert "vigilance" not in read(sample("office.json")).params
    write(drawn, tmp_path / "x.json")
    assert read(tmp_path / "x.json").params["vigilance"] == drawn.params["vigilance"] > 0


def test_what_we_write_fits_the_schemas(tmp_path):
    for problem, schema in (("placement", "placement"), ("cyber-path", "hosts")):
        write(generate_instance(problem, size=6), tmp_path / "x.json")
        check(json.loads((tmp_path / "x.json").read_text()), load_schema(schema))


def test_schemas_are_package_data():
    folder = resources.files("lagco.instances.formats") / "schemas"
    assert {file.name for file in folder.iterdir()} == {
        "placement.schema.json",
        "hosts.schema.json",
        "solution.schema.json",
    }
