"""The how-to page "Empty a host": its plan is what its command writes."""

from tests.documents import blocks, run


def test_the_page_shows_the_plan_that_its_command_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "docs/how-to/empty-a-host.md"
    run(page, tmp_path)
    (shown,) = (block.code for block in blocks(page) if block.code.startswith("step,"))
    assert (tmp_path / "plan.csv").read_text() == shown
    assert (tmp_path / "emptied.png").stat().st_size > 10_000
