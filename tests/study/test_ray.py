"""The same study on a Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

import lagco.study
from tests.study.small import finish, start

pytest.importorskip("ray", reason="needs the extra 'cluster'")


@pytest.mark.slow
def test_a_killed_worker_does_not_stop_the_study(tmp_path, smallest):
    folder = tmp_path / "cluster"
    process = start(folder, engine="ray", workers=2)
    killed = None
    deadline = time.monotonic() + 300
    while killed is None and process.poll() is None and time.monotonic() < deadline:
        for claim in folder.glob("claims/run-*.json"):
            try:
                killed = json.loads(claim.read_text())["pid"]
            except (OSError, ValueError):
                continue
            os.kill(killed, signal.SIGKILL)
            break
        time.sleep(0.05)
    finish(process)
    assert killed is not None
    ledger = lagco.study.Ledger(folder)
    assert ledger.equals(smallest)  # the same results as on this machine's own processes
    assert killed not in {record.measured["pid"] for record in ledger.records("run")}
