"""The how-to page "Which patch first": its tables are what its commands find."""

import pytest

import lagco
from tests.documents import blocks, run

PAGE = "docs/how-to/which-patch-first.md"


def shown(head):
    """Rows of a table of the page, split where two spaces stand."""
    (code,) = (block.code for block in blocks(PAGE) if block.code.startswith(head))
    return [
        [cell.strip() for cell in row.split("  ") if cell.strip()] for row in code.splitlines()[1:]
    ]


def test_the_page_runs_and_shows_what_its_commands_find(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(PAGE, tmp_path)
    assert (tmp_path / "which_patch_first.png").stat().st_size > 10_000
    written = (tmp_path / "patches.csv").read_text().split()
    answer = lagco.solve("plant14.json", fixes=True, max_changes=2, turns=4, progress=False)
    assert answer.bound == answer.objective  # optimal
    assert written[1:] == list(answer.fixes[1].patches)
    for row, fix in zip(shown("patch "), answer.fixes, strict=False):
        assert row[0] == (", ".join(fix.patches) or "none")
        assert [float(cell) for cell in row[1:]] == pytest.approx(
            [fix.hosts, fix.owned, fix.by_agent]
        )
    trades = lagco.solve(
        "plant14.json", fixes=True, trade_off=True, by="solver", turns=40, progress=False
    ).trade_off
    assert [[float(c) for c in row] for row in shown("changes ")] == [
        [trade.changes, trade.objective] for trade in trades
    ]
