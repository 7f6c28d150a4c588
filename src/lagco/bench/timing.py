"""Repeated timing, and a clock of the parts of a decision."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def median_us(seconds: Sequence[float]) -> float:
    """Median of times in seconds, in microseconds."""
    return 1e6 * float(np.median(seconds))


def timed(
    run: Callable[[int], T], repeats: int, most: float = math.inf
) -> tuple[list[T], list[float]]:
    """Results of `run(0)`, `run(1)`, … and the seconds that each took.

    Args:
        run: what is timed.
        repeats: how often, at most.
        most: seconds in all after which no other run begins.
    """
    results, times = [], []
    for number in range(repeats):
        began = time.perf_counter()
        results.append(run(number))
        times.append(time.perf_counter() - began)
        if sum(times) > most:
            break
    return results, times


class DecisionClock:
    """Seconds of the parts of a decision; see :class:`~lagco.agents.method.ClockedActor`.

    Attributes:
        seconds: by part, since the last start.
    """

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A decision begins."""
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def ended(self, part: str) -> None:
        """A part ends, and the next one begins."""
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now
