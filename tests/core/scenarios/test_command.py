"""Scenarios from files and options, on the command line and in Python."""

import json

import pytest
from typer.testing import CliRunner

import lagco
from lagco.cli import app
from lagco.errors import InstanceError, UsageError
from lagco.instances import read
from tests.shared_instances import DATA

TOPOLOGY = DATA / "backbone.graphml"


@pytest.fixture
def matrices(tmp_path):
    first, second = tmp_path / "morning.csv", tmp_path / "evening.csv"
    text = (DATA / "backbone-demands.csv").read_text()
    first.write_text(text)
    head, *rows = text.strip().splitlines()
    changed = [f"{row.rpartition(',')[0]},{number}" for number, row in enumerate(rows, start=1)]
    second.write_text("\n".join([head, *changed[:-1]]))
    return first, second


def run(*words):
    return CliRunner().invoke(app, ["solve", str(TOPOLOGY), *map(str, words)])


@pytest.mark.parametrize("problem", ["ospf", "traffic"])
def test_matrices_and_failures_are_scenarios(matrices, problem):
    given = [word for file in matrices for word in ("--demands", file)]
    options = ["--problem", problem, "--failures", "links", "--turns", 5]
    found = json.loads(run(*given, *options, "--json").stdout)
    answer = lagco.solve(
        TOPOLOGY, problem=problem, demands=matrices, failures="links", turns=5, progress=False
    )
    assert found["objective"] == pytest.approx(answer.objective)
    names = {scenario["name"] for scenario in found["scenarios"]}
    assert "morning, all up" in names
    links = read(TOPOLOGY, problem, matrices[0]).array("edges").shape[1]
    assert len(names) == 2 * (1 + links)
    assert found["scenarios"][0]["after"] == pytest.approx(found["objective"])
    shown = run(*given, *options).stdout
    assert f"the worst 5 of {len(names)}" in shown
    assert found["scenarios"][0]["name"].split(", ")[0] in shown


def test_groups_fail_together(matrices, tmp_path):
    from lagco.problems.ospf import OSPF

    names = OSPF.element_names(read(TOPOLOGY, "ospf", matrices[0]))
    groups = tmp_path / "groups.csv"
    groups.write_text(f"group,link\nduct,{names[0]}\nduct,{names[1]}\n")
    answer = lagco.solve(
        TOPOLOGY, problem="ospf", demands=matrices[0], failures=groups, turns=3, progress=False
    )
    assert {scenario.name for scenario in answer.scenarios} == {"all up", "without duct"}
    assert answer.instance.array("variant_failed").sum() == 2
    groups.write_text(f"group,link\nduct,{names[0]}x\n")
    with pytest.raises(InstanceError, match=r"groups.csv: row 1.*" + names[0]):
        lagco.solve(TOPOLOGY, demands=matrices[0], failures=groups, progress=False)
    groups.write_text("group,link\nduct,A, or B-C\n")
    with pytest.raises(InstanceError, match="line 2: 3 cells below 2 columns; a cell with ','"):
        lagco.solve(TOPOLOGY, demands=matrices[0], failures=groups, progress=False)
    groups.write_text("duct,link\na,b\n")
    with pytest.raises(InstanceError, match="columns group and link"):
        lagco.solve(TOPOLOGY, demands=matrices[0], failures=groups, progress=False)


def test_a_mean_has_shares(matrices):
    options = {"problem": "ospf", "demands": matrices, "turns": 3, "progress": False}
    answer = lagco.solve(TOPOLOGY, scenarios="mean", shares="3,1", **options)
    by_name = {scenario.name: scenario.after for scenario in answer.scenarios}
    expected = (3 * by_name["morning"] + by_name["evening"]) / 4
    assert answer.objective == pytest.approx(expected)
    with pytest.raises(UsageError, match="shares='3,1'"):
        lagco.solve(TOPOLOGY, shares="3,1", **options)
    with pytest.raises(UsageError, match="number for each of the 2"):
        lagco.solve(TOPOLOGY, scenarios="mean", shares="1,2,3", **options)


def test_problems_without_failures_say_so():
    with pytest.raises(UsageError, match="nothing that fails"):
        lagco.solve(DATA / "towns.tsp", failures="links", progress=False)
