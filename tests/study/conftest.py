"""Studies that several tests share."""

from __future__ import annotations

import pytest

import lagco.study
from tests.study.small import SMALLEST, finish, start


@pytest.fixture(scope="session")
def smallest(tmp_path_factory):
    """The ledger of the smallest study, never interrupted."""
    folder = tmp_path_factory.mktemp("study") / "smallest"
    finish(start(folder))
    return lagco.study.Ledger(folder)


@pytest.fixture
def settings():
    return lagco.study.running.GeneralizationSettings.of(**SMALLEST)
