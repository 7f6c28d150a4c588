"""The command line, as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


def lagco(*arguments, cwd=None):
    command = [sys.executable, "-m", "lagco", *map(str, arguments)]
    wide = os.environ | {"COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=wide)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "cut"
    result = lagco(
        "generate", "max-cut", "-n", 4, "--out", folder, "--sizes", "8-12", "--sweeps", 20, "--json"
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["instances"] == 4
    return folder


def test_problems():
    listed = json.loads(lagco("problems", "--json").stdout)
    assert {"tsp", "min-vertex", "max-cut"} <= {entry["name"] for entry in listed}
    assert "lagco/TSP-v0" in lagco("problems").stdout


def test_info(data):
    assert "max-cut" in lagco("info", data).stdout
    described = json.loads(lagco("info", data / "0002.npz", "--json").stdout)
    assert described["kind"] == "instance"
    assert described["references"]["sweeps"]["sweeps"] == 20


def test_evaluate(data):
    table = lagco("evaluate", "--data", data, "--episodes", 2).stdout
    assert all(word in table for word in ("random", "greedy", "solver", "gap %"))
    results = json.loads(lagco("evaluate", "--policy", "greedy", "--data", data, "--json").stdout)
    assert [result["policy"] for result in results] == ["greedy"]
    assert len(results[0]["instances"][0]["episodes"]) == 5
    assert {"summary", "seen", "unseen", "train_test_gap", "refused"} <= results[0].keys()


def test_evaluate_shows_every_instance_on_request(data):
    table = lagco("evaluate", "--data", data, "--episodes", 1, "--per-instance").stdout
    assert table.count("max-cut-42-0003") == 3  # random, greedy, solver
    assert table.count("4/4") == 3


def test_policies_play_the_problem_of_the_agent_beside_them():
    from pathlib import Path

    from lagco.agents.shipped import FOLDER

    ring = Path(__file__).resolve().parents[1] / "data" / "ring.rud"
    bundle = Path(FOLDER) / "min-vertex"
    result = lagco("evaluate", bundle, "--data", ring, "--episodes", 1, "--json")
    assert result.returncode == 0, result.stderr
    assert {found["problem"] for found in json.loads(result.stdout)} == {"min-vertex"}


def test_what_has_no_reference_is_shown_by_its_objective(tmp_path):
    result = lagco(
        *("generate", "max-cut", "-n", 2, "--sizes", 8, "--references", "none"),
        *("--out", tmp_path / "plain"),
    )
    assert result.returncode == 0, result.stderr
    table = lagco("evaluate", "--policy", "greedy", "--data", tmp_path / "plain").stdout
    assert "return: first" in table
    assert "objective: first" in table
    assert table.count("max-cut-42") == 2


def test_options_go_to_the_generator(tmp_path):
    recipe = ("cyber-path", "-n", 1, "--sizes", 6, "--references", "none", "--json")
    result = lagco("generate", *recipe, "--option", "profile=open", "--out", tmp_path / "open")
    assert result.returncode == 0, result.stderr
    described = json.loads(lagco("info", tmp_path / "open" / "0000.npz", "--json").stdout)
    assert described["origin"]["options"] == {"profile": "open"}


def test_a_data_set_may_grow_but_not_shrink(data):
    recipe = ("max-cut", "--sizes", "8-12", "--sweeps", 20, "--out", data)
    result = lagco("generate", *recipe, "-n", 2)
    assert result.returncode == 1
    assert "n is 4 there and 2 here" in " ".join(result.stderr.split())


def test_a_file_that_cannot_be_written_is_named(tmp_path, data):
    (tmp_path / "taken").write_text("")
    for command in (
        ("generate", "max-cut", "-n", 1, "--sizes", 8, "--sweeps", 5, "--out", tmp_path / "taken"),
        ("solve", data / "0000.npz", "--seconds", 0.2, "--out", tmp_path),
        ("solve", data / "0000.npz", "--seconds", 0.2, "--out", tmp_path / "taken" / "x.json"),
        ("solve", data / "0000.npz", "--seconds", 0.2, "--plot", tmp_path / "x.foo"),
    ):
        result = lagco(*command)
        assert result.returncode == 1
        assert result.stderr.startswith("error: ")
        assert str(tmp_path) in "".join(result.stderr.split())
        assert "Traceback" not in result.stderr


def test_check_passes_and_fails(tmp_path):
    assert "passes every check" in lagco("check", "tsp").stdout
    (tmp_path / "mine.py").write_text(
        "from tests.core.test_checker import PreviewRanksWrongly\n"
        "from tests.core.toy import IndependentSet\n"
    )
    from pathlib import Path

    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    for cls, code in (("IndependentSet", 0), ("PreviewRanksWrongly", 1)):
        command = [sys.executable, "-m", "lagco", "check", f"mine:{cls}", "--json"]
        result = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert result.returncode == code, result.stderr
        assert [finding["check"] for finding in json.loads(result.stdout)] == ["preview"] * code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "tps", "--out", "x"], "unknown problem 'tps': did you mean 'tsp'"),
        (["generate", "nowhere:Thing", "--out", "x"], "there is no module 'nowhere'"),
        (["generate", "json:Thing", "--out", "x"], "unknown name in the module 'Thing'"),
        (["generate", "json:JSONDecoder", "--out", "x"], "not a lagco.ContinuousEnv"),
        (
            ["generate", "tsp", "--out", "x", "--option", "a"],
            "has no value; write --option a=VALUE",
        ),
        (
            ["generate", "tsp", "--out", "x", "--option", "a=1"],
            "the generator of tsp has no options",
        ),
        (["info", "nowhere"], "nowhere: no such file or folder"),
        (["bench", "decode", "--structures", "pears"], "unknown structure 'pears'"),
        (["bench", "decode", "--validities", "some"], "unknown validity 'some'"),
        (["bench", "decode", "--actions", "abc"], "--actions abc: expected positive"),
        (["bench", "latency", "--sizes", "10,-1"], "--sizes 10,-1: expected positive"),
        (["evaluate", "nowhere", "--data", "x"], "nowhere: no such folder, and unknown agent"),
        (["check", "tsp", "--episodes", "0"], "--episodes 0, --max-steps 200: at least 1"),
        (
            ["evaluate", "greedy", "--data", "x"],
            "greedy: a policy, not an agent; give it as --policy",
        ),
        (["evaluate", "--data", "nowhere"], "nowhere: no such folder or file; lagco generate"),
    ],
)
def test_errors_are_one_line_without_a_traceback(arguments, message, tmp_path):
    result = lagco(*arguments, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "x").exists()
