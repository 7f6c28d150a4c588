"""Simple paths of a demand, enumerated lazily.

The walk goes depth first and enters a node only if the target is still within reach from there,
so it never runs into a dead end that hop distances can tell.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.errors import UsageError
from lagco.problems.networks.network import Network
from lagco.problems.random_stream import next_below

MAX_PATH_LEN = 4


def hop_limits(network: Network, max_path_len: int) -> Array:
    """Most hops of a path of each demand: `max_path_len`, or the hop distance if that is more."""
    return np.maximum(network.hops[network.sources, network.targets], max_path_len)


def list_paths(
    network: Network, limits: Array, most: int | None = None, cap: int | None = None
) -> tuple[Array, Array]:
    """Admissible paths, shortest first.

    Args:
        network: the network.
        limits: (D,) most hops.
        most: paths per demand at most; all by default.
        cap: paths in all at most.

    Returns:
        Rows (N, 1 + T) of demand and path, padded with n, and where each demand begins (D + 1,).

    Raises:
        UsageError: there are more than `cap`.
    """
    each = np.iinfo(np.int64).max if most is None else most
    total = np.iinfo(np.int64).max if cap is None else cap
    nothing = np.empty((0, 2 + int(limits.max())), dtype=np.int64)
    first = np.zeros(network.num_demands + 1, dtype=np.int64)
    if _list(network, limits, each, total, first, nothing) > total:
        raise UsageError(
            f"there are more than {cap} admissible paths; sample them or search among them instead"
        )
    rows = np.empty((int(first[-1]), nothing.shape[1]), dtype=np.int64)
    _list(network, limits, each, total, first, rows)
    return rows, first


def count_paths(network: Network, limits: Array) -> int:
    """Number of admissible pairs of demand and path, by walking them."""
    nothing = np.empty((0, 2 + int(limits.max())), dtype=np.int64)
    first = np.zeros(network.num_demands + 1, dtype=np.int64)
    most = np.iinfo(np.int64).max
    return int(_list(network, limits, most, most, first, nothing))


@njit(cache=True)
def _write_path(path, depth, target, n, out):  # type: ignore[no-untyped-def]
    """The nodes ``path[: depth + 1]`` and the target, padded with n."""
    for i in range(out.shape[0]):
        out[i] = path[i] if i <= depth else n
    out[depth + 1] = target


@njit(cache=True)
def _visits(path, depth, v):  # type: ignore[no-untyped-def]
    """Whether ``path[: depth + 1]`` has a node."""
    i = 0
    while i <= depth and path[i] != v:
        i += 1
    return i <= depth


@njit(cache=True)
def _list(network, limits, most, cap, begins, rows):  # type: ignore[no-untyped-def]
    """Write all paths to `rows` (or none, if it has no room), begins to `begins`; return how many.

    Stops soon after `cap` of them; `most` per demand.
    """
    n, first, heads, hops = network.num_nodes, network.first, network.heads, network.hops
    sources, targets = network.sources, network.targets
    positions = rows.shape[1] - 1
    path = np.empty(positions, dtype=np.int64)
    pointer = np.empty(positions, dtype=np.int64)
    count = 0
    for d in range(sources.shape[0]):
        begins[d] = count
        left = most
        for length in range(hops[sources[d], targets[d]], limits[d] + 1):
            if left <= 0:
                break
            depth = 0
            path[0] = sources[d]
            pointer[0] = first[sources[d]]
            while depth >= 0 and left > 0:
                v = path[depth]
                if pointer[depth] == first[v + 1]:
                    depth -= 1
                    continue
                w = heads[pointer[depth]]
                pointer[depth] += 1
                if hops[w, targets[d]] > length - depth - 1:
                    continue
                if w == targets[d]:
                    if depth + 1 == length:
                        if rows.shape[0] > 0:
                            rows[count, 0] = d
                            _write_path(path, depth, w, n, rows[count, 1:])
                        count += 1
                        left -= 1
                        if count > cap:
                            return count
                    continue
                if depth + 1 < length and not _visits(path, depth, w):
                    depth += 1
                    path[depth] = w
                    pointer[depth] = first[w]
    begins[sources.shape[0]] = count
    return count


@njit(cache=True)
def draw_open_path(demand, network, limits, room, present, stop, stream, chosen):  # type: ignore[no-untyped-def]
    """Draw a path over arcs with `room` that differs from the `present` one; return how many.

    room: (2 E,) bool. stop: walk no further than to this many; 1 finds the first one there is.
    Writes the drawn one, uniform over those walked, to `chosen`, padded with n.
    """
    n, first, heads, hops = network.num_nodes, network.first, network.heads, network.hops
    source, target, limit = network.sources[demand], network.targets[demand], limits[demand]
    positions = chosen.shape[0]
    path = np.empty(positions, dtype=np.int64)
    pointer = np.empty(positions, dtype=np.int64)
    count = 0
    depth = 0
    path[0] = source
    pointer[0] = first[source]
    while depth >= 0:
        v = path[depth]
        if pointer[depth] == first[v + 1]:
            depth -= 1
            continue
        k = pointer[depth]
        w = heads[k]
        pointer[depth] += 1
        if hops[w, target] > limit - depth - 1 or not room[network.arcs[k]]:
            continue
        if w == target:
            same = present[depth + 1] == w
            for i in range(depth + 1):
                same = same and present[i] == path[i]
            if same:
                continue
            count += 1
            if next_below(stream, count) == 0:
                _write_path(path, depth, w, n, chosen)
            if count == stop:
                return count
            continue
        if depth + 1 < limit and not _visits(path, depth, w):
            depth += 1
            path[depth] = w
            pointer[depth] = first[w]
    return count


@njit(cache=True)
def count_walks(network, longest):  # type: ignore[no-untyped-def]
    """Walks of at most so many hops to a target, which they enter once: (longest + 1, target, n).

    Their numbers are exact up to 2^53; walks that visit a node twice count too.
    """
    n, first, heads = network.num_nodes, network.first, network.heads
    walks = np.zeros((longest + 1, n, n))
    for hops in range(longest + 1):
        for target in range(n):
            for v in range(n):
                if v == target:
                    walks[hops, target, v] = 1.0
                elif hops > 0:
                    for k in range(first[v], first[v + 1]):
                        walks[hops, target, v] += walks[hops - 1, target, heads[k]]
    return walks


@njit(cache=True)
def path_arcs(row, arc_of, source, target, limit, out):  # type: ignore[no-untyped-def]
    """Arcs of a padded path, to `out` (T - 1,); return how many, 0 if it is no admissible path."""
    n, v = arc_of.shape[0], row[0]
    if v != source:
        return 0
    length = 0
    for position in range(1, row.shape[0]):
        w = row[position]
        if w == n:
            break
        if w < 0 or w > n or position > limit:
            return 0
        again = False  # looked for without a branch per node
        for i in range(position):
            again |= row[i] == w
        if again or arc_of[v, w] < 0:
            return 0
        out[length] = arc_of[v, w]
        length += 1
        v = w
    if v != target:
        return 0
    for position in range(length + 1, row.shape[0]):
        if row[position] != n:
            return 0
    return length


@njit(cache=True)
def all_arcs(rows, network, limits, out):  # type: ignore[no-untyped-def]
    """Arcs of a path per demand, to `out` (D, T - 1) padded with -1; the first wrong one, or -1.

    A demand that failures cut off may have any path and uses none.
    """
    arc_of, sources, targets = network.arc_of, network.sources, network.targets
    for d in range(rows.shape[0]):
        if network.hops[sources[d], targets[d]] >= network.num_nodes:
            out[d, :] = -1
            continue
        length = path_arcs(rows[d], arc_of, sources[d], targets[d], limits[d], out[d])
        if length == 0:
            return d
        out[d, length:] = -1
    return -1


@njit(cache=True)
def mend_paths(rows, network, limits, others):  # type: ignore[no-untyped-def]
    """Write another path (D, T) in place of every one that is not admissible."""
    arcs = np.empty(rows.shape[1] - 1, dtype=np.int64)
    for d in range(rows.shape[0]):
        ends = network.sources[d], network.targets[d]
        if path_arcs(rows[d], network.arc_of, ends[0], ends[1], limits[d], arcs) == 0:
            for i in range(rows.shape[1]):
                rows[d, i] = others[d, i]


@njit(cache=True)
def shortest_paths(network, paths):  # type: ignore[no-untyped-def]
    """For every demand the path with the fewest hops, to the lowest id where there are several.

    One that failures cut off stays at its source.
    """
    n, first, heads, hops = network.num_nodes, network.first, network.heads, network.hops
    for d in range(network.sources.shape[0]):
        v, target = network.sources[d], network.targets[d]
        for i in range(paths.shape[1]):
            paths[d, i] = n
        paths[d, 0] = v
        position = 1
        while v != target and hops[v, target] < n:
            for k in range(first[v], first[v + 1]):
                if hops[heads[k], target] == hops[v, target] - 1:
                    v = heads[k]
                    break
            paths[d, position] = v
            position += 1
