"""Progress on a logarithmic scale."""

from __future__ import annotations

import math

from lagco.instances import Instance

_SMALLEST = 1e-12


def logarithmic_change(before: float, after: float, start: float, instance: Instance) -> float:
    """log(before / after), over log(start / best) where the instance's sweeps know the best.

    From a bad start the first few moves make up most of the score; on this scale halving the
    utilisation is worth the same at any time.
    """
    change = math.log(max(before, _SMALLEST) / max(after, _SMALLEST))
    sweeps = instance.references.sweeps
    if sweeps is None:
        return change
    span = math.log(max(start, _SMALLEST) / max(sweeps.best, _SMALLEST))
    return change / span if span > 0.01 else change
