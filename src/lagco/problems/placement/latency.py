"""Latencies between PMs: shortest paths over the links, all at once or row by row on demand."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.heap import pop_node, push_node
from lagco.problems.placement.cloud import Cloud, Links

#: PMs up to which all latencies are kept
MATRIX_LIMIT = 1024
#: rows kept beyond that
ROWS_KEPT = 256
#: networks of PMs whose latencies are kept
_KEPT = 4


class Latencies:
    """Latency from any PM to all others.

    Args:
        links: between the PMs.

    Attributes:
        matrix: (P, P) up to `MATRIX_LIMIT` PMs, else None.
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        pms = len(links.first) - 1
        self.matrix: Array | None = None
        self._kept: OrderedDict[int, Array] = OrderedDict()
        if pms <= MATRIX_LIMIT:
            self.matrix = np.empty((pms, pms))
            for source in range(pms):
                latency_row(source, *links, self.matrix[source])

    def row(self, pm: int) -> Array:
        """Latency from `pm` to every PM: (P,)."""
        if self.matrix is not None:
            return self.matrix[pm]
        row = self._kept.get(pm)
        if row is None:
            row = np.empty(len(self.links.first) - 1)
            latency_row(pm, *self.links, row)
            self._kept[pm] = row
            if len(self._kept) > ROWS_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(pm)
        return row

    @classmethod
    def of(cls, links: Links) -> Latencies:
        """Latencies over some links, kept for a while: instances that change keep their links."""
        return _known(_Key(links))

    def around(self, moves: Array, cloud: Cloud, hosts: Array) -> tuple[Array, Array]:
        """Latencies from the PMs around moves: rows (m, P), and the row of each PM or -1: (P,).

        Args:
            moves: (k, 2) VMs and PMs.
            cloud: with the traffic of the VMs.
            hosts: (V,) PMs of all VMs.
        """
        if self.matrix is not None:
            return self.matrix, np.arange(cloud.num_pms)
        peers = [cloud.peers[cloud.first[v] : cloud.first[v + 1]] for v in moves[:, 0].tolist()]
        near = np.concatenate([moves[:, 1], hosts[moves[:, 0]], hosts[np.concatenate(peers)]])
        found = list(dict.fromkeys(near.tolist()))[: max(ROWS_KEPT, 2 * len(moves))]
        place = np.full(cloud.num_pms, -1)
        place[found] = np.arange(len(found))
        return np.stack([self.row(pm) for pm in found]), place


class _Key:
    """Links, equal where their numbers are."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self._hash = hash(tuple(array.tobytes() for array in links))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and all(
            np.array_equal(a, b) for a, b in zip(self.links, other.links, strict=True)
        )


@lru_cache(maxsize=_KEPT)
def _known(key: _Key) -> Latencies:
    return Latencies(key.links)


@njit(cache=True)
def latency_row(source, first, heads, lengths, out):  # type: ignore[no-untyped-def]
    """Shortest latencies from `source`, by Dijkstra with a binary heap, to `out`."""
    size = heads.shape[0] + 1
    keys = np.empty(size)
    nodes = np.empty(size, dtype=np.int64)
    out[:] = np.inf
    out[source] = 0.0
    keys[0], nodes[0] = 0.0, source
    count = 1
    while count > 0:
        key, v = keys[0], nodes[0]
        count -= 1
        pop_node(nodes, keys, count)
        if key > out[v]:
            continue
        for k in range(first[v], first[v + 1]):
            w = heads[k]
            reached = key + lengths[k]
            if reached < out[w]:
                out[w] = reached
                push_node(nodes, keys, count, w, reached)
                count += 1


@njit(cache=True)
def write_costs(cloud, links, state):  # type: ignore[no-untyped-def]
    """Write the costs of a state, PM by PM, so that a single row of latencies is kept at a time."""
    row = np.empty(state.head.shape[0])
    for p in range(state.head.shape[0]):
        v = state.head[p]
        if v < 0:
            continue
        latency_row(p, links.first, links.heads, links.lengths, row)
        while v >= 0:
            total = 0.0
            for k in range(cloud.first[v], cloud.first[v + 1]):
                total += cloud.volumes[k] * row[state.allocation[cloud.peers[k]]]
            state.cost[v] = total
            v = state.after[v]
