"""Cuts by the samplers of D-Wave: tabu search and simulated annealing."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from answering import Arrays, Solver, answer

#: sweeps with which the time that one takes is measured
_TRIAL = 20
#: anneals that share the time
_ANNEALS = 4


def _model(instance: Arrays) -> Any:
    """Spins -1 and 1; the energy is the weight inside the sides less that between them."""
    import dimod

    u, v = instance["edges"]
    weights = instance["weights"].astype(float)
    n = int(instance["nodes"])
    return dimod.BinaryQuadraticModel.from_numpy_vectors(np.zeros(n), (u, v, weights), 0.0, "SPIN")


def _sides(found: Any) -> dict[str, Any]:
    best = found.first.sample
    return {"solution": [int(best[k] > 0) for k in range(len(best))]}


def tabu(instance: Arrays) -> Solver:
    """Tabu search with restarts."""
    from dwave.samplers import TabuSampler

    model, sampler = _model(instance), TabuSampler()

    def solve(seconds: float) -> dict[str, Any]:
        return _sides(sampler.sample(model, timeout=int(1000 * seconds), num_reads=1, seed=1))

    return solve


def annealing(instance: Arrays) -> Solver:
    """Anneals, each with as many sweeps as its share of the time allows."""
    from dwave.samplers import SimulatedAnnealingSampler

    model, sampler = _model(instance), SimulatedAnnealingSampler()
    sampler.sample(model, num_reads=1, num_sweeps=1, seed=0)  # which loads code

    def solve(seconds: float) -> dict[str, Any]:
        began, each, found = time.perf_counter(), 0.0, []
        for k in range(_ANNEALS + 1):
            now = time.perf_counter()
            share = (seconds - (now - began)) / max(1, _ANNEALS + 1 - k)
            sweeps = max(1, int(share / each)) if k else _TRIAL
            found.append(sampler.sample(model, num_reads=1, num_sweeps=sweeps, seed=k))
            each = (time.perf_counter() - now) / sweeps
        return _sides(min(found, key=lambda sample: sample.first.energy))

    return solve


if __name__ == "__main__":
    answer({"D-Wave tabu": tabu, "D-Wave annealing": annealing})
