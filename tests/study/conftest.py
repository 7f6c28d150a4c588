"""Studies that several tests share."""

from __future__ import annotations

import pytest

import lagco.study
from tests.study.small import finish, start


@pytest.fixture(scope="session")
def smallest(tmp_path_factory):
    """The ledger of the smallest study, never interrupted."""
    folder = tmp_path_factory.mktemp("study") / "smallest"
    finish(start(folder))
    return lagco.study.Ledger(folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The ledger of all studies with the preset `tiny`; test processes share one folder."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "tiny-study"
    lagco.study.generalization(folder, preset="tiny", workers=2)
    lagco.study.scalability(folder, preset="tiny", workers=2)
    lagco.study.embeddings(folder, preset="tiny", workers=2)
    lagco.study.tune(folder, preset="tiny", workers=2)
    return lagco.study.Ledger(folder)
