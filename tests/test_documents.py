"""Every command and code block of README, documents and tutorials; see tests/documents.py."""

from __future__ import annotations

import os
import sys

import pytest

from tests.documents import NOTEBOOKS, PAGES, ROOT, blocks, cells, check, run

#: pages and tutorials that are run with every change; the others are `slow`
QUICK = (
    "docs/guide/training-options.md",
    "docs/guide/how-learning-works.md",
    "docs/guide/instance-files.md",
    "docs/reference/files.md",
)
QUICK_TUTORIALS = ("quickstart", "network", "live")


def slow_unless(names, quick):
    return [n if n in quick else pytest.param(n, marks=pytest.mark.slow) for n in names]


RUN = [
    page
    for page in PAGES
    if any(b.language in ("python", "commands") and b.mark not in ("not run", "from") for b in blocks(page))
]  # fmt: skip


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_blocks_of_a_page_could_run(page):
    found = blocks(page)
    fences = PAGES[page].read_text().count("```") // 2
    assert len([b for b in found if b.mark != "run first"]) == fences, "a block is not recognised"
    for block in found:
        check(block)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(ROOT), *sys.path])
    monkeypatch.delitem(sys.modules, "decide", raising=False)  # another test's exported policy
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        origin = getattr(sys.modules[name], "__file__", None) or ""
        if origin.startswith(str(tmp_path) + os.sep):
            del sys.modules[name]


@pytest.mark.parametrize("page", slow_unless(RUN, QUICK))
def test_a_page_runs_from_top_to_bottom(page, empty_folder):
    run(page, empty_folder)


@pytest.mark.parametrize("notebook", slow_unless(NOTEBOOKS, QUICK_TUTORIALS))
def test_a_tutorial_runs_from_top_to_bottom(notebook, empty_folder):
    pytest.importorskip("IPython", reason="the extra `docs` is not installed")
    namespace: dict[str, object] = {"__name__": "tutorial"}
    for number, code in enumerate(cells(notebook)):
        exec(compile(code, f"{notebook}, cell {number + 1}", "exec"), namespace)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_tutorials_are_stored_without_outputs(notebook):
    import json

    document = json.loads(NOTEBOOKS[notebook].read_text())
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
