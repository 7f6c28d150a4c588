"""Studies that several tests share."""

from __future__ import annotations

from contextlib import closing

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
    with closing(lagco.study.LocalEngine(2)) as engine:
        for study in ("generalization", "scalability", "embeddings", "tune"):
            getattr(lagco.study, study)(folder, preset="tiny", engine=engine)
    return lagco.study.Ledger(folder)
