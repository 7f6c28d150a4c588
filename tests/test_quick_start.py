"""What commands import: nothing slow before it is needed."""

import json
import subprocess
import sys
from pathlib import Path

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
