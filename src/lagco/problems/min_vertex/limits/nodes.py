"""Limits of covers: nodes that are in or out, and a budget of nodes that come in or go out.

A cover is a list of nodes; an element is a node, its value 1 where it is in the cover.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.core.events import Draft
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.adjacency import edges_of
from lagco.problems.decided import FORCED, decided

#: array (k,): nodes of the cover in force
COVER = "cover"


class CoverLimits(NamedTuple):
    """Limits of the covers of an instance, as compiled code takes them.

    Attributes:
        locked: bool (n,), nodes that are decided.
        inside: bool (n,), those of them that are in every cover.
        before: bool (n,), nodes of the incumbent.
        most: nodes that may come in or go out, together; n where any number may.
    """

    locked: Array
    inside: Array
    before: Array
    most: int


def members(instance: Instance, nodes: Array) -> Array:
    """Whether each node is in a cover: int8 (n,)."""
    chosen = np.asarray(nodes, dtype=np.int64)
    if chosen.ndim != 1 or (chosen.size and not 0 <= chosen.min() <= chosen.max() < instance.size):
        raise InstanceError(
            f"not a cover of {instance.name!r}: give nodes from 0 to {instance.size - 1}"
        )
    flags = np.zeros(instance.size, dtype=np.int8)
    flags[chosen] = 1
    return flags


def cover_limits(instance: Instance) -> CoverLimits | None:
    """The limits of an instance; None where it has none.

    Neighbours of nodes that are out are in. Within a budget, nodes that the incumbent has otherwise
    than they are forced to be stay as they are: there may be no way to what is wanted.

    Raises:
        InstanceError: an edge has both ends out.
    """
    most, n = instance.params.get(MAX_CHANGES), instance.size
    if most is None and FIXED not in instance.arrays and FORCED not in instance.arrays:
        return None
    cover = instance.arrays.get(COVER)
    before = None if cover is None else members(instance, cover)
    known = decided(instance, before)
    budget = n
    if before is not None and most is not None:
        budget = int(most)
        known = np.where(known >= 0, before, known)
    u, v = edges_of(instance)
    barred = np.flatnonzero((known[u] == 0) & (known[v] == 0))
    if barred.size:
        ends = f"{u[barred[0]] + 1}-{v[barred[0]] + 1}"
        raise InstanceError(
            f"instance {instance.name!r}: the edge {ends} has both ends out, so nothing covers it"
        )
    inside = known == 1
    inside[v[known[u] == 0]] = True
    inside[u[known[v] == 0]] = True
    old = np.zeros(n, dtype=bool) if before is None else before.astype(bool)
    return CoverLimits(inside | (known == 0), inside, old, budget)


def undecided(within: CoverLimits, edges: Array) -> Array:
    """The edges (2, k) between nodes that are not decided: all others are covered."""
    u, v = edges
    return edges[:, ~within.locked[u] & ~within.locked[v]]


def repair_cover(draft: Draft) -> None:
    """Let an end of every edge that the cover in force leaves open come in.

    The one with more edges, unless it is fixed and the other is not; it is not fixed any more.
    """
    cover = draft.arrays.get(COVER)
    if cover is None:
        return
    inside = np.zeros(draft.size, dtype=bool)
    inside[cover] = True
    u, v = edges = draft.arrays["edges"]
    degrees = np.bincount(edges.reshape(-1), minlength=draft.size)
    fixed = np.array(draft.arrays.get(FIXED, np.zeros(draft.size)), dtype=np.int8)
    for edge in np.flatnonzero(~inside[u] & ~inside[v]).tolist():
        ends = edges[:, edge].tolist()
        if not inside[ends].any():
            end = max(ends, key=lambda node: (-fixed[node], degrees[node], -node))
            inside[end], fixed[end] = True, 0
    draft.arrays[COVER] = np.flatnonzero(inside)
    if FIXED in draft.arrays:
        draft.arrays[FIXED] = fixed
