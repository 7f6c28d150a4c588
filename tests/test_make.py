"""The Makefile's stages: the demo installs what it needs, everything else only what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def steps(tmp_path):
    """What `make` would do in a fresh clone."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def dry_run(target):
        command = ["make", "--dry-run", target]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    return dry_run


def extras(text):
    return [part.split(",") for part in re.findall(r"--editable '\.\[(.*?)\]'", text)]


def test_the_demo_installs_no_tools(steps):
    assert extras(steps("demo")) == [["solvers"]]


@pytest.mark.parametrize("target", ["test", "docs", "bench", "study-page"])
def test_other_targets_install_everything(steps, target):
    first, second = extras(steps(target))
    assert first == ["solvers"]
    assert {"solvers", "dev", "docs", "report", "cluster", "export"} < set(second)


def test_what_is_installed_is_not_installed_again(steps, tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / ".demo-ready").touch()
    assert extras(steps("demo")) == []
    assert len(extras(steps("test"))) == 1
    (tmp_path / ".venv" / ".ready").touch()
    assert extras(steps("test")) == []
