"""Claims: one worker per task, and dead ones do not block anybody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from lagco.study.running import claims as module
from lagco.study.running.claims import ClaimLost, Claims

_TAKE = """
import sys
from pathlib import Path
from lagco.study.running.claims import Claims
claim = Claims(Path(sys.argv[1])).take("task")
print("taken" if claim else "refused", flush=True)
sys.stdin.read()  # until this process is killed, or the other has ended
"""


def _other(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", _TAKE, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, process.stdout.readline().strip()


def test_a_claim_is_respected_until_its_process_dies(tmp_path):
    process, answer = _other(tmp_path)
    claims = Claims(tmp_path)
    assert answer == "taken"
    assert claims.take("task") is None
    assert claims.holder("task")["pid"] == process.pid
    assert not claims.abandoned("task")
    process.kill()
    process.wait()
    process.stdout.close()
    process.stdin.close()
    assert claims.holder("task") is None
    assert claims.abandoned("task")
    claim = claims.take("task")
    assert claims.holder("task")["pid"] == os.getpid()
    claim.release()
    assert not claims.abandoned("task")
    assert claims.holder("task") is None


def test_many_threads_get_one_claim(tmp_path):
    found = []
    barrier = threading.Barrier(8)

    def try_it():
        barrier.wait()
        found.append(Claims(tmp_path).take("task"))

    threads = [threading.Thread(target=try_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = [claim for claim in found if claim is not None]
    assert len(taken) == 1
    taken[0].release()


def test_a_process_id_that_is_used_again_does_not_hold_a_claim(tmp_path):
    claims = Claims(tmp_path)
    claims.take("task").release()
    owner = {"owner": "x", "host": "here", **module._process(), "born": "1"}
    module.CLAIM.write_file(tmp_path / "task.json", owner)
    assert claims.holder("task") is None


@pytest.fixture
def clock(monkeypatch):
    """The observer's monotonic clock, moved by hand."""
    now = [1000.0]
    monkeypatch.setattr(module, "_now", lambda: now[0])
    return now


@pytest.fixture
def from_elsewhere(tmp_path, monkeypatch):
    """A claim of another machine; its heart beats by hand."""
    monkeypatch.setattr(module, "HEARTBEAT", 3600.0)
    monkeypatch.setattr(module, "_machine", lambda: "there")
    claim = Claims(tmp_path).take("task")
    monkeypatch.setattr(module, "_machine", lambda: "here")
    yield tmp_path / "task.json"
    claim._done.set()


def test_claims_from_elsewhere_live_by_their_heartbeat(tmp_path, clock, from_elsewhere):
    claims = Claims(tmp_path, stale=100.0)
    for beat in range(5):
        assert claims.take("task") is None
        assert claims.silent("task") is None and not claims.abandoned("task")
        clock[0] += 90.0
        os.utime(from_elsewhere, ns=(beat, beat))
    assert claims.take("task") is None
    clock[0] += 100.0
    assert claims.abandoned("task")
    mine = claims.take("task")
    assert mine is not None
    mine.check()
    mine.release()


def test_no_clock_decides_whether_a_claim_is_stale(tmp_path, clock, from_elsewhere):
    """A file server's clock that jumps, or is behind, makes no claim look old."""
    for stamp in (0, 10**18, 4 * 10**18):
        os.utime(from_elsewhere, ns=(stamp, stamp))
        assert Claims(tmp_path, stale=100.0).take("task") is None
        assert Claims(tmp_path, stale=100.0).holder("task") is not None


def test_one_process_waits_and_another_takes_over(tmp_path, clock, from_elsewhere):
    """As a study does: it finds a claim stale, and its worker takes that very claim over."""
    study = Claims(tmp_path, stale=100.0)
    assert study.holder("task") is not None
    clock[0] += 100.0
    assert study.holder("task") is None
    over = study.silent("task")
    assert over is not None
    os.utime(from_elsewhere, ns=(5, 5))  # it was only slow
    assert Claims(tmp_path, stale=100.0).take("task", over) is None
    assert study.silent("task") is None
    clock[0] += 100.0
    taken = Claims(tmp_path, stale=100.0).take("task", study.silent("task"))
    assert taken is not None
    taken.release()


def test_one_that_was_taken_over_notices(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    claim = Claims(tmp_path).take("task")
    claim.check()
    other = {"owner": "another", "host": "there", **module._process()}
    module.CLAIM.write_file(tmp_path / "task.json", other)
    deadline = time.monotonic() + 120
    while not claim._lost and time.monotonic() < deadline:
        time.sleep(0.02)
    with pytest.raises(ClaimLost, match="another process"):
        claim.check()
    claim.release()
    assert (tmp_path / "task.json").exists()  # the other's claim stays
