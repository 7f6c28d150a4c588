"""The paper's tables, as we ship them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lagco.agents.config import train_config
from lagco.study import paper_score, paper_tables
from lagco.study.planning.search_space import paper_space
from tests.study.latex_tables import all_tables

SOURCE = (
    Path(__file__).resolve().parents[3] / "shared" / "paper" / "projecting-latent-rl-actions.tex"
)


@pytest.mark.skipif(not SOURCE.exists(), reason="the paper's source is not here")
def test_tables_are_those_of_the_source():
    found, known = json.loads(json.dumps(all_tables(SOURCE.read_text()))), paper_tables()
    assert found == {name: known[name] for name in found}
    assert known.keys() - found.keys() == {"environments"}  # words, put into ours by hand


def test_every_cell_is_there():
    tables = paper_tables()
    assert len(tables["generalization"]) == len(tables["extended"]) == len(tables["scaling"]) == 7
    for problem, methods in tables["generalization"].items():
        assert len(methods) == len(tables["extended"][problem]) == 6
        for method, row in methods.items():
            assert len(row) == 5
            for strategy, iqm in row.items():
                if strategy != "delta":
                    # the two tables were rounded, or computed, apart
                    details = tables["extended"][problem][method][strategy]
                    assert details["iqm"] == pytest.approx(iqm, abs=0.0151)


def test_cells():
    found = paper_score("tsp", "iterative", "varied")
    assert (found["iqm"], found["delta"], found["mean"]) == (0.99, -0.04, 1.01)
    assert found["interval"] == [0.98, 1.03] and found["normal"] and found["p"] == 0.07
    assert paper_score("traffic", "projection", "varied")["iqm"] == 0.83
    assert paper_score("tsp", "soft-projection", "varied") is None
    assert paper_score("mine:Mine", "projection", "varied") is None


@pytest.mark.parametrize(
    ("space", "method"),
    [("projection", "projection"), ("discrete", "p-discrete-m"), ("iterative", "iterative")],
)
def test_the_papers_best_values_are_those_of_its_preset(space, method):
    config = train_config(method=method, preset="paper")
    best = paper_tables()["search_spaces"][space]
    for path in paper_space(space).domains:
        field = path.removeprefix("agent.")
        name = "n_steps" if field in ("rollout", "n_step") else field
        assert getattr(config, field) == best[name]["best"], field
