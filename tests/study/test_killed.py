"""Processes that share a ledger, and workers that are killed.

Studies that are killed themselves: `tests/attack/kills.py`.
"""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

import lagco.study
from tests.study.small import finish, start


@pytest.mark.slow
def test_two_processes_share_a_ledger(tmp_path, smallest):
    folder = tmp_path / "shared"
    both = [start(folder), start(folder)]
    for process in both:
        finish(process)
    ledger = lagco.study.Ledger(folder)
    assert ledger.equals(smallest)
    workers = {record.measured["pid"] for record in ledger.records()}
    assert len(workers) >= 2  # one of each; a worker may have been replaced


def test_a_worker_that_is_killed_is_replaced(tmp_path, smallest):
    """What the system does to a process that takes too much memory."""
    folder = tmp_path / "worker"
    process = start(folder)
    killed = None
    deadline = time.monotonic() + 600
    while killed is None and process.poll() is None and time.monotonic() < deadline:
        for claim in folder.glob("claims/run-*.json"):
            try:
                killed = json.loads(claim.read_text())["pid"]
            except (OSError, ValueError):
                continue
            assert killed != process.pid
            os.kill(killed, signal.SIGKILL)
            break
        time.sleep(0.02)
    finish(process)
    assert killed is not None
    assert lagco.study.Ledger(folder).equals(smallest)
