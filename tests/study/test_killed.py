"""Studies that are killed, at any moment, go on where they were."""

from __future__ import annotations

import json
import os
import random
import signal
import time

import pytest

import lagco.study
from tests.study.small import TASKS, finish, start


def _kill(process, whole_group):
    """Kill -9 the study: with its workers, or alone, which leaves them to notice."""
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    process.stderr.close()


def _steps(folder):
    """Everything that happens, in files that appear or change."""
    return sum(1 for _ in folder.rglob("*")) + sum(
        len(path.read_bytes()) for path in folder.rglob("progress.csv")
    )


def _interrupt(folder, rng, number, changes):
    """Start the study and kill it soon after it has begun to write."""
    before = _steps(folder)
    process = start(folder, **changes)
    deadline = time.monotonic() + 120
    while _steps(folder) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(rng.random() * 4.0)
    finished = process.poll() is not None
    if finished:
        assert process.returncode == 0, process.stderr.read().decode()
        process.stderr.close()
    else:
        _kill(process, whole_group=number % 2 == 0)
    return finished


def _killed_often(folder, whole, times, seed, **changes):
    rng = random.Random(seed)
    done = 0
    for number in range(times):
        if _interrupt(folder, rng, number, changes):
            done += 1
            # it got to its end: take a record away, so that there is something to interrupt
            records = sorted(folder.glob("records/run/*.json"))
            rng.choice(records).unlink()
    finish(start(folder, **changes))
    ledger = lagco.study.Ledger(folder)
    assert len(ledger.records()) == (6 if changes else TASKS)
    assert ledger.contents() == whole.contents()
    assert done < times
    assert not list(folder.glob("claims/*.json"))
    assert not list(folder.rglob("*.part"))


@pytest.mark.slow
def test_killed_ten_times(tmp_path, smallest):
    _killed_often(tmp_path / "killed", smallest, 10, seed=1)


@pytest.mark.slow
def test_other_methods_killed_ten_times(tmp_path):
    """`iterative` keeps a replay buffer, `soft-projection` candidates; on two workers."""
    changes = {
        "problems": ("ospf",),
        "methods": ("iterative", "soft-projection", "g-discrete"),
        "strategies": ("varied",),
        "steps": (1200,),
        "workers": 2,
    }
    finish(start(tmp_path / "whole", **changes))
    whole = lagco.study.Ledger(tmp_path / "whole")
    _killed_often(tmp_path / "killed", whole, 10, 2, **changes)


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
    deadline = time.monotonic() + 120
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
