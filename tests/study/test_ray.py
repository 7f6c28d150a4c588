"""The same study on a Ray cluster."""

from __future__ import annotations

import pytest

import lagco.study
from tests.killed import killed_at
from tests.study.small import finish, start

pytest.importorskip("ray", reason="needs the extra 'cluster'")


@pytest.mark.slow
def test_a_killed_worker_does_not_stop_the_study(tmp_path, smallest):
    folder = tmp_path / "cluster"
    marker = tmp_path / "marker"
    # Ray nices its workers by 15 without it: beside other jobs they get a thirtieth of a core
    env = killed_at("*/agent.json", marker) | {"RAY_worker_niceness": "0"}
    finish(start(folder, env=env, engine="ray", workers=2))
    killed = int(marker.read_text())
    ledger = lagco.study.Ledger(folder)
    assert ledger.equals(smallest)  # the same results as on this machine's own processes
    assert killed not in {record.measured["pid"] for record in ledger.records("run")}
