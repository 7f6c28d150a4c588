"""Workers as the server sees them: room in queues, turns between them, workers that hang or end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from lagco.serve.messages import Message, packed, received
from lagco.serve.serving import pool as pools
from lagco.serve.serving.live import Bucket
from lagco.serve.serving.pool import Busy, Pool, WorkerLost
from tests.serve.running import run_async

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


async def begin(pool, tmp_path, answer):
    """A worker whose answers a function gives; None for never."""
    server = await asyncio.start_unix_server(pool.welcome, str(tmp_path / "s"))
    process = subprocess.Popen(SLEEPER)
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
    writer.write(packed(Message({"pid": process.pid})))

    async def work():
        while True:
            asked = await received(reader)
            told = answer(asked)
            if told is None:
                return
            writer.write(packed(told))

    working = asyncio.ensure_future(work())
    while not pool.ready:
        await asyncio.sleep(0.001)
    return server, process, working, writer


def soon():
    return time.monotonic() + 60.0


def test_jobs_are_answered_in_turn_from_both_queues(tmp_path):
    order = []

    def answer(asked):
        order.append(asked.content["name"])
        return Message({"done": {"name": asked.content["name"]}}, (b"blob",))

    async def run():
        pool = Pool(1, 8)
        server, process, working, _ = await begin(pool, tmp_path, answer)
        slot = pool.slots[0]
        jobs = [("event", False)] * 3 + [("decision", True)] * 3
        sent = (pool.run(slot, {"name": n}, (), soon(), urgent=u) for n, u in jobs)
        told = await asyncio.gather(*sent)
        assert [one.content["name"] for one in told] == [name for name, _ in jobs]
        assert told[0].blobs == (b"blob",)
        assert order[:2] in (["event", "decision"], ["decision", "event"])
        assert order[0] != order[1] != order[2] != order[3]
        working.cancel()
        server.close()
        process.kill()
        process.wait()

    run_async(run)


def test_a_worker_that_hangs_is_killed_and_what_waits_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(pools, "_PATIENCE", 0.05)

    async def run():
        pool = Pool(1, 8)
        server, process, *_ = await begin(pool, tmp_path, lambda asked: None)
        slot = pool.slots[0]
        hanging = asyncio.ensure_future(pool.run(slot, {}, (), time.monotonic()))
        waiting = asyncio.ensure_future(pool.run(slot, {}, (), soon()))
        with pytest.raises(WorkerLost) as lost:
            await hanging
        assert lost.value.slow
        assert process.wait(60) == -9
        assert not waiting.done() and slot.worker == 0 and not pool.ready
        server.close()
        (tmp_path / "s").unlink(missing_ok=True)
        done = Message({"done": {}})
        server, process, working, _ = await begin(pool, tmp_path, lambda asked: done)
        assert (await waiting).content == {}
        working.cancel()
        server.close()
        process.kill()
        process.wait()

    run_async(run)


def test_a_worker_that_ends_loses_its_job_alone(tmp_path):
    async def run():
        pool = Pool(1, 8)
        server, process, working, writer = await begin(pool, tmp_path, lambda asked: None)
        job = asyncio.ensure_future(pool.run(pool.slots[0], {}, (), soon()))
        await working
        writer.close()
        with pytest.raises(WorkerLost) as lost:
            await job
        assert not lost.value.slow
        server.close()
        assert process.wait(60) == -9

    run_async(run)


def test_there_is_room_for_so_many_requests_and_for_what_can_begin_in_time():
    pool = Pool(1, 2)
    slot = pool.slots[0]
    with pool.place(slot), pool.place(slot):
        with pytest.raises(Busy):
            pool.place(slot).__enter__()
        with pool.place(slot, 1.0):  # decisions have room of their own
            pass
    slot.urgent.seconds, slot.others.seconds = 0.04, 0.01
    with pool.place(slot, 0.03):  # nobody waits
        with pytest.raises(Busy):
            pool.place(slot, 0.03).__enter__()
        with pool.place(slot, 0.05):
            pass
    assert pool.waiting == 0


def test_a_bucket_takes_a_rate_and_may_owe():
    bucket = Bucket(2.0)
    assert bucket.wait() == 0.0
    bucket.take(40)
    assert 10.0 < bucket.wait() < 20.0


def test_a_worker_cannot_use_more_memory_than_it_may():
    code = (
        "import numpy as np\n"
        "from lagco.serve.working.confining import confine\n"
        "confine(64)\n"
        "small = np.ones(1 << 20)\n"
        "try:\n    np.ones(1 << 25)\nexcept MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if not sys.platform.startswith("linux"):
        pytest.skip("the system does not limit it")
    assert done.stdout == "refused\n", done.stderr
