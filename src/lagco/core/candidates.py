"""Features of candidate actions: what a ranker sees of the few actions it chooses among."""

from __future__ import annotations

from typing import NamedTuple

from lagco.arrays import Array


class CandidateFeatures(NamedTuple):
    """Features of k candidate actions in one state.

    They should not depend on the size, unit or position of an instance, so that what was learnt on
    small ones holds on large ones: ratios, ranks, differences over a local scale.

    Attributes:
        each: (k, f) float32, a row per candidate.
        pairs: (k, k, g) float32, features of ordered pairs; None where there are none.
    """

    each: Array
    pairs: Array | None = None
