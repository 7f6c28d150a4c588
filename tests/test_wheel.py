"""The wheel, installed into a clean virtual environment and used there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command, cwd):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_wheel_works_in_a_clean_environment(tmp_path):
    run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        tmp_path,
        ROOT,
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("lagco-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    where = run(python, "-c", "import lagco; print(lagco.__file__)", cwd=tmp_path)
    assert str(tmp_path / "env") in where
    command = tmp_path / "env" / "bin" / "lagco"
    listed = json.loads(run(command, "problems", "--json", cwd=tmp_path))
    assert len(listed) >= 3
    run(
        command,
        "generate",
        "max-cut",
        "-n",
        "2",
        "--sizes",
        "8",
        "--sweeps",
        "10",
        "--out",
        "data",
        "--json",
        cwd=tmp_path,
    )
    assert "greedy" in run(
        command, "evaluate", "--policy", "greedy", "--data", "data", cwd=tmp_path
    )
    made = "import lagco, gymnasium; env = gymnasium.make('lagco/TSP-v0', size=8); print(env.reset(seed=0)[0]['visited'].sum())"
    assert run(python, "-c", made, cwd=tmp_path).strip() == "1"
    missing = "from lagco.generation import generate_instance as g; g('min-vertex', size=5, references='solver')"
    result = subprocess.run([python, "-c", missing], cwd=tmp_path, capture_output=True, text=True)
    assert "pip install 'lagco[solvers]'" in result.stderr
