"""Source files that make up the code of a task."""

from __future__ import annotations

from pathlib import Path

import lagco
from lagco.store import sources
from lagco.store.sources import _path_of, closure
from lagco.study.running.code import TRAINING, code_version

GENERATION = ("lagco.commands.generate",)


def test_what_a_task_reaches():
    found = closure(["lagco.agents.training.trainer", "lagco.problems.tsp.env"], {"lagco"})
    assert {
        "lagco.agents.training.vector_env",
        "lagco.latent.kernels",
        "lagco.core.problem",
    } <= found
    assert not any(name.startswith(("lagco.cli", "lagco.study", "lagco.report")) for name in found)
    assert not any(name.startswith("lagco.problems.ospf") for name in found)
    assert all(_path_of(name).is_file() for name in found if _path_of(name) is not None)


def test_problems_differ():
    assert code_version("tsp", GENERATION) != code_version("ospf", GENERATION)
    assert code_version("tsp", GENERATION) == code_version("tsp", GENERATION)
    assert code_version("tsp", GENERATION)["version"] == lagco.__version__


def test_methods_differ():
    """The registry names modules in texts, which no import shows."""
    names = ("p-discrete", "iterative", "projection", "soft-projection")
    assert len({code_version("tsp", TRAINING, name)["hash"] for name in names}) == len(names)
    reached = closure(["lagco.agents.methods.iterative", *TRAINING], {"lagco"})
    assert "lagco.agents.learning.replay" in reached
    assert not {"lagco.agents.methods.soft_projection", "lagco.agents.inference.ranker"} & reached


def _hash():
    for function in (sources._imports, sources._path_of, code_version):
        function.cache_clear()
    return code_version("their_package.problem:Mine", GENERATION)["hash"]


def test_an_edit_of_a_method_concerns_its_own_runs_alone(monkeypatch):
    def version(name):
        code_version.cache_clear()
        return code_version("tsp", TRAINING, name)["hash"]

    def made(module):
        code_version.cache_clear()
        return code_version("tsp", (module,))["hash"]

    makers = ("lagco.commands.generate", "lagco.embedding.pretraining.pretrain")
    before = {name: version(name) for name in ("iterative", "projection")}
    data_and_encoder = [made(module) for module in makers]
    read = Path.read_bytes
    edit = b"# edited"
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: read(path) + edit * (path.name == "iterative.py")
    )
    assert version("iterative") != before["iterative"]
    assert version("projection") == before["projection"]
    assert [made(module) for module in makers] == data_and_encoder
    code_version.cache_clear()


def test_an_edit_of_a_users_own_package_is_noticed(tmp_path, monkeypatch):
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("FACTOR = 1\n")
    (package / "unused.py").write_text("A = 1\n")
    (package / "problem.py").write_text(
        "from lagco.problems.tsp import TSP\nfrom .rules import FACTOR\n"
        "class Mine(TSP):\n    name = 'mine'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = _hash()
    (package / "unused.py").write_text("A = 2\n")
    assert _hash() == before
    (package / "rules.py").write_text("FACTOR = 2\n")
    assert _hash() != before
