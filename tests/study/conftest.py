"""Studies that several tests share; so do test processes, as several may work on one ledger."""

from __future__ import annotations

from contextlib import closing

import pytest

import lagco.study
from tests.study.small import finish, start


def _shared(tmp_path_factory, name):
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / name


@pytest.fixture(scope="session")
def smallest(tmp_path_factory):
    """The ledger of the smallest study, never interrupted."""
    folder = _shared(tmp_path_factory, "smallest-study")
    finish(start(folder))
    return lagco.study.Ledger(folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The ledger of six studies with the preset `tiny`."""
    folder = _shared(tmp_path_factory, "tiny-study")
    with closing(lagco.study.LocalEngine(2)) as engine:
        for study in ("generalization", "scalability", "embeddings", "tune"):
            getattr(lagco.study, study)(folder, preset="tiny", engine=engine)
        methods = ("p-discrete-m", "projection")
        lagco.study.training_time(folder, preset="tiny", methods=methods, engine=engine)
        lagco.study.throughput(folder, preset="tiny", methods=methods, engine=engine)
    return lagco.study.Ledger(folder)
