"""The wheel: what is in it, and following the start page in an environment with nothing else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from tests.documents import DATA, FILES, Block, blocks, brief

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    (path,) = builders.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


def test_everything_that_is_read_at_run_time_is_in_the_wheel(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("lagco/")}
    listed = subprocess.run(
        ["git", "ls-files", "src/lagco"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    if not listed:
        pytest.skip("not a git checkout")
    there = {name.removeprefix("src/") for name in listed if (ROOT / name).exists()}
    assert there <= packed
    assert "lagco/py.typed" in packed
    assert not [name for name in packed if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]


def test_the_citation_names_the_version_of_the_package(wheel):
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {wheel.name.split('-')[1]}\n" in citation


def run(*command, cwd):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_start_page_works_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    command = tmp_path / "env" / "bin" / "lagco"
    constraints = ("-c", ROOT / "constraints.txt")
    run(python, "-m", "pip", "install", "-q", *constraints, wheel, cwd=tmp_path)
    where = run(python, "-c", "import lagco; print(lagco.__file__)", cwd=tmp_path)
    assert str(tmp_path / "env") in where
    assert len(json.loads(run(command, "problems", "--json", cwd=tmp_path))) >= 7
    missing = "from lagco.commands.generate import generate_instance as g; g('min-vertex', size=5, references='solver')"
    result = subprocess.run([python, "-c", missing], cwd=tmp_path, capture_output=True, text=True)
    assert "pip install 'lagco[solvers]'" in result.stderr
    run(python, "-m", "pip", "install", "-q", *constraints, f"{wheel}[report]", cwd=tmp_path)
    for name, stand_in in FILES.items():
        (tmp_path / name).write_bytes((DATA / stand_in).read_bytes())
    followed = []
    for block in blocks("docs/index.md"):
        if block.language != "commands" or block.mark:
            continue
        for words in Block("", "commands", brief(block.code)).commands():
            run(command, *words[1:], cwd=tmp_path)
            followed.append(words[1])
    assert {"solve", "train", "report"} <= set(followed), shlex.join(followed)
