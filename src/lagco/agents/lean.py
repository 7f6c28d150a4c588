"""How torch runs while an agent is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.distributions import Distribution


@contextmanager
def lean_torch() -> Iterator[None]:
    """One thread, and distributions that do not check their arguments; undone at the end.

    More threads slow small networks down, and the checks cost more than what they check.
    """
    threads, checks = torch.get_num_threads(), Distribution._validate_args
    torch.set_num_threads(1)
    Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        Distribution.set_default_validate_args(checks)
