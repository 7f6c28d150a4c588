"""A package of somebody else's: its problem, method and format go through every command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lagco.agents.registry import METHODS, method_of
from lagco.errors import LagcoError, UnknownName
from lagco.registry import Registry

PACKAGE = Path(__file__).parent / "outside_package"

#: runs commands one after the other in one process, and prints what each printed as JSON
_SCRIPT = """
import json, sys
from typer.testing import CliRunner
from lagco.cli import app
for line in json.load(sys.stdin):
    found = CliRunner().invoke(app, line)
    print(json.dumps([found.exit_code, found.output, repr(found.exception)]))
"""


def run(commands, folder):
    """Results of `lagco` commands in a fresh process that finds the package."""
    path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_package_goes_through_every_command(tmp_path):
    (tmp_path / "town.conflicts").write_text("conflicts 6\n0 1\n1 2\n2 3\n3 4\n4 5\n")
    small = ["--set", "rollout=64", "--set", "envs=2", "--set", "epochs=1"]
    study = [
        *("study", "generalization", "--out", "study", "--problems", "independent-set"),
        *("--methods", "near-projection", "--preset", "tiny", "--workers", "1"),
    ]
    commands = [
        ["problems", "--json"],
        ["check", "independent-set", "--episodes", "1"],
        [*("generate", "independent-set", "-n", "3", "--out", "data"), *("--references", "sweeps")],
        [
            *("train", "independent-set", "--method", "near-projection", "--data", "data"),
            *("--out", "agent", "--steps", "128", *small),
        ],
        ["evaluate", "agent", "--data", "data", "--episodes", "2"],
        ["solve", "town.conflicts", "--agent", "agent", "--turns", "20", "--json"],
        study,
        ["report", "study", "--out", "page.html"],
    ]
    results = run(commands, tmp_path)
    for command, (code, output, error) in zip(commands, results, strict=True):
        assert code == 0, (command, output, error)
    listed = json.loads(results[0][1])
    assert listed[-1]["name"] == "independent-set"
    assert "near-projection" in results[4][1]
    answer = json.loads(results[5][1])
    assert answer["problem"] == "independent-set"
    assert answer["objective"] == 3
    page = (tmp_path / "page.html").read_text()
    assert "near (ours)" in page
    assert "#123456" in page


def test_lagcos_own_names_cannot_be_taken(monkeypatch):
    points = [EntryPoint("projection", "nowhere:x", "lagco.methods")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    registry = Registry("method", "lagco.methods", {"projection": 1})
    with pytest.warns(UserWarning, match="'projection' of .* is ignored"):
        assert list(registry) == ["projection"]
    assert registry["projection"] == 1


def test_a_broken_entry_point_is_named_when_it_is_asked_for(monkeypatch):
    points = [EntryPoint("odd", "no_such_module_at_all:x", "lagco.methods")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    registry = Registry("method", "lagco.methods", {})
    assert "odd" in registry
    with pytest.raises(LagcoError, match="'odd' = 'no_such_module_at_all:x'"):
        registry["odd"]


def test_an_unknown_name_is_answered_with_a_close_one():
    with pytest.raises(UnknownName, match="did you mean 'soft-projection'"):
        METHODS["soft-projektion"]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_everything_about_itself(name):
    method = method_of(name)
    assert method.name == method.config.method == name
    config = method.config()
    assert method.config.from_dict(config.as_dict()) == config
    assert method.style.colour.startswith("#")
