"""Reports that several tests share."""

from __future__ import annotations

import pytest

import lagco.report
from tests.report.fabricated import Extent, write_ledger

#: what a hostile file might call things
EVIL = "<script>alert(1)</script>"
WORD = ' </script><img src=x onerror=alert(2)> & "quoted" $a_b$ 100% #1 {x} \\end{table}'


@pytest.fixture(scope="session")
def ledger(tmp_path_factory):
    """A made-up ledger of two problems and all methods."""
    return write_ledger(tmp_path_factory.mktemp("ledger") / "study")


@pytest.fixture(scope="session")
def report(ledger):
    """Its report."""
    return lagco.report.build(ledger, ledger.parent / "report.html")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """The report of a ledger whose names try to break out of the page."""
    folder = tmp_path_factory.mktemp("hostile")
    extent = Extent(problems=("tsp", EVIL), methods=("projection", "p-discrete-m"), word=WORD)
    return lagco.report.build(write_ledger(folder / "study", extent), folder / "report.html")
