"""Claims: one worker per task, and dead ones do not block anybody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from lagco.study import claims as module
from lagco.study.claims import ClaimLost, Claims

_TAKE = """
import sys, time
from pathlib import Path
from lagco.study.claims import Claims
claim = Claims(Path(sys.argv[1])).take("task")
print("taken" if claim else "refused", flush=True)
time.sleep(60)
"""


def _other(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", _TAKE, str(folder)], stdout=subprocess.PIPE, text=True
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


def test_claims_from_elsewhere_live_by_their_heartbeat(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    claims = Claims(tmp_path, stale=0.5)
    monkeypatch.setattr(module, "_machine", lambda: "there")
    claim = claims.take("task")
    monkeypatch.setattr(module, "_machine", lambda: "here")
    time.sleep(0.7)
    assert claims.take("task") is None  # it beats
    claim._done.set()
    claim._thread.join()
    time.sleep(0.7)
    mine = claims.take("task")
    assert mine is not None
    mine.check()
    mine.release()


def test_one_that_was_taken_over_notices(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    claim = Claims(tmp_path).take("task")
    claim.check()
    other = {"owner": "another", "host": "there", **module._process()}
    module.CLAIM.write_file(tmp_path / "task.json", other)
    deadline = time.monotonic() + 5
    while not claim._lost and time.monotonic() < deadline:
        time.sleep(0.02)
    with pytest.raises(ClaimLost, match="another process"):
        claim.check()
    claim.release()
    assert (tmp_path / "task.json").exists()  # the other's claim stays
