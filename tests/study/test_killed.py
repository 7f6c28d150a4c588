"""Processes that share a ledger, and workers that are killed.

Studies that are killed themselves: `tests/attack/kills.py`.
"""

from __future__ import annotations

import pytest

import lagco.study
from tests.killed import killed_at
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
    folder, marker = tmp_path / "worker", tmp_path / "marker"
    process = start(folder, env=killed_at("*/agent.json", marker))
    finish(process)
    assert int(marker.read_text()) != process.pid
    assert lagco.study.Ledger(folder).equals(smallest)
