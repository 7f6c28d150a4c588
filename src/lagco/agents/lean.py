"""Torch settings for the training of agents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.distributions import Distribution

from lagco.one_thread import one_thread


@contextmanager
def lean_torch() -> Iterator[None]:
    """One thread, and distributions that do not check their arguments; undone at the end.

    More threads slow small networks down, and the checks cost more than what they check.
    """
    checks = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    try:
        with one_thread():
            yield
    finally:
        Distribution.set_default_validate_args(checks)
