"""Engines, which run tasks: processes on this machine, or a Ray cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, as_completed
from typing import Any, Protocol, TypeVar

from joblib.externals.loky import ProcessPoolExecutor

from lagco.errors import LagcoError, UsageError, require_extra, suggest

Given = TypeVar("Given")
Found = TypeVar("Found")

ENGINES = ("local", "ray")
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class WorkerLost(LagcoError):
    """A worker process died; the message says what is known about it."""


class Engine(Protocol):
    """Calls a function for many arguments, on several workers."""

    workers: int
    #: whether workers are child processes of this one
    children: bool

    def map(self, function: Callable[[Given], Found], given: Sequence[Given]) -> Iterator[Found]:
        """Results as they come, in any order.

        Raises:
            WorkerLost: a worker died; what has not been returned may or may not have been done.
        """
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...


class LocalEngine:
    """Processes on this machine (loky), one thread each."""

    children = True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self._executor: Any = None
        # loky replaces a worker that has grown, which is no concern of the user's
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")

    def map(self, function: Callable[[Given], Found], given: Sequence[Given]) -> Iterator[Found]:
        """See :class:`Engine`."""
        if self._executor is None:
            self._executor = ProcessPoolExecutor(max_workers=self.workers, env=_ONE_THREAD)
        try:
            for future in as_completed([self._executor.submit(function, g) for g in given]):
                yield future.result()
        except BrokenExecutor as error:
            self._stop(kill=True)
            raise WorkerLost(str(error)) from error
        except BaseException:  # nobody waits for the rest any more
            self._stop(kill=True)
            raise

    def close(self) -> None:
        """Stop the workers, which have nothing left to do."""
        self._stop(kill=False)

    def _stop(self, kill: bool) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=kill)


class RayEngine:
    """Workers of a Ray cluster, one CPU each; all machines must see the ledger's folder.

    Args:
        workers: most tasks at a time; as many as the cluster has CPUs by default.
        address: of a running cluster (``auto``, ``HOST:6379``); started on this machine without.
    """

    children = False

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._ray: Any = require_extra("ray", "cluster", "--engine ray")
        if not self._ray.is_initialized():
            try:
                self._ray.init(
                    address=address,
                    num_cpus=None if address else workers,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="error",
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise LagcoError(
                    f"--address {address}: no Ray cluster answers ({error})"
                ) from error
        self.workers = workers or int(self._ray.cluster_resources().get("CPU", 1))

    def map(self, function: Callable[[Given], Found], given: Sequence[Given]) -> Iterator[Found]:
        """See :class:`Engine`; Ray itself retries the task of a worker that died."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=3)(function)
        waiting = list(reversed(given))
        running: list[Any] = []
        while waiting or running:
            while waiting and len(running) < self.workers:
                running.append(remote.remote(waiting.pop()))
            ready, running = ray.wait(running, num_returns=1)
            try:
                yield ray.get(ready[0])
            except ray.exceptions.RayError as error:
                raise WorkerLost(str(error)) from error

    def close(self) -> None:
        """Leave the cluster; one that was started here stops."""
        self._ray.shutdown()


def engine_of(name: str, workers: int | None = None, address: str | None = None) -> Engine:
    """The engine of that name."""
    if name not in ENGINES:
        raise UsageError(suggest("engine", name, ENGINES))
    if workers is not None and workers < 1:
        raise UsageError(f"workers={workers}: at least 1")
    if name == "ray":
        return RayEngine(workers, address)
    if address is not None:
        raise UsageError(f"--address {address} is for --engine ray")
    return LocalEngine(workers)
