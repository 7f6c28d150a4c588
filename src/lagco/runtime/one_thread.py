"""Arithmetic on one thread: sums do not depend on the machine, and small networks are faster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch and the linear algebra of numpy and scipy on one thread inside the block.

    So results do not depend on ``OMP_NUM_THREADS`` and its kin, nor on the number of cores.
    """
    torch = sys.modules.get("torch")
    threads = 1 if torch is None else torch.get_num_threads()
    with _linear_algebra().limit(limits=1):
        if torch is None or threads == 1:
            yield
            return
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@cache
def _linear_algebra() -> Any:
    """Controller of the libraries that numpy and scipy compute with, found once."""
    import scipy.linalg  # noqa: F401  (has a library of its own, which compiled code uses)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
