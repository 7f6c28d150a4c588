"""Imports of commands: nothing slow before it is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lagco.runtime import compiled_code

DATA = Path(__file__).parent / "data"


def loaded(code):
    """Names of the packages that are in memory after some code."""
    ending = "\nimport sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    found = subprocess.run([sys.executable, "-c", code + ending], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return set(json.loads(found.stdout.splitlines()[-1]))


def test_help_needs_neither_numpy_nor_what_is_built_on_it():
    code = """
import sys
sys.argv = ["lagco", "--help"]
from lagco.cli import main
try:
    main()
except SystemExit:
    pass
"""
    slow = {"numpy", "numba", "torch", "scipy", "gymnasium", "networkx", "matplotlib"}
    assert not slow & loaded(code)


def test_an_agent_answers_without_torch():
    code = f"""
import lagco
answer = lagco.solve({str(DATA / "towns.tsp")!r}, by="agent", turns=20)
assert answer.valid
"""
    slow = {"torch", "stable_baselines3", "networkx", "matplotlib", "pandas"}
    assert not slow & loaded(code)


def test_environments_are_registered_whoever_is_imported_first():
    for first, second in (("gymnasium", "lagco"), ("lagco", "gymnasium")):
        loaded(f"import {first}, {second}\nassert 'lagco/TSP-v0' in gymnasium.registry")


@pytest.fixture
def read_only(monkeypatch):
    """A package folder that cannot be written to, and no folder that the user has chosen."""
    package, access = Path(compiled_code.__file__).parent.parent, os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path) != package and access(path, mode)
    )
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setenv(compiled_code.VARIABLE, "")
    monkeypatch.delenv(compiled_code.VARIABLE)


def test_the_compiler_is_prepared_unless_the_user_has_decided(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setenv(compiled_code.SIDE_BY_SIDE, "0")
    compiled_code.prepare_compiler()
    assert os.environ[compiled_code.SIDE_BY_SIDE] == "0"
    monkeypatch.delenv(compiled_code.SIDE_BY_SIDE)
    compiled_code.prepare_compiler()
    assert os.environ[compiled_code.SIDE_BY_SIDE] == "1"


def test_compiled_code_goes_to_the_users_cache_folder(read_only, monkeypatch, tmp_path):
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    compiled_code.choose_folder()
    assert os.environ[compiled_code.VARIABLE] == str(tmp_path / "cache" / "lagco")


def test_without_a_cache_folder_compiled_code_is_kept_for_the_process(
    read_only, monkeypatch, tmp_path
):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "file" / name)
    compiled_code.choose_folder()
    assert Path(os.environ[compiled_code.VARIABLE]).is_dir()


def test_a_folder_that_the_user_has_chosen_stays(read_only, monkeypatch, tmp_path):
    monkeypatch.setenv(compiled_code.VARIABLE, str(tmp_path))
    compiled_code.choose_folder()
    assert os.environ[compiled_code.VARIABLE] == str(tmp_path)
