"""Incremental shortest paths: distances to a destination after one weight changed, compiled.

Mostly the distances of few nodes change, or of none: where the link is, or becomes, one of several
shortest paths, only the splitting of flow changes.
"""

from __future__ import annotations

from numba import njit

from lagco.problems.networks.search import copy_values
from lagco.problems.ospf.routing.shortest_paths import FAR


@njit(cache=True)
def resettle(change, ways, tree, reached, new_tree, scratch):  # type: ignore[no-untyped-def]
    """Write distances and order after one weight changed; False, without writing, if none did.

    change: ends of the link, its new and its old weight, and whether it leads only from the first
    to the second. ways: from `ways_of`, under the new weight. tree: distances and order, (n,) each,
    as `settle` left them under the old weight; reached: how many nodes are in order. scratch: nodes
    (n,) and flags (n,) all False, left so.
    """
    u, v, new, old, directed = change
    first, heads, steps, back_first, tails, back = ways
    distance, order = tree
    new_distance, new_order = new_tree
    moved, is_moved = scratch
    if not directed and distance[u] < distance[v]:
        u, v = v, u
    if new < old:
        if distance[u] - distance[v] == new:
            return False
        copy_values(new_distance, distance)
        new_distance[u] = distance[v] + new
        count = _come_nearer(u, back_first, tails, back, new_distance, moved, is_moved)
    else:
        for k in range(first[u], first[u + 1]):
            if distance[heads[k]] + steps[k] == distance[u]:
                return False
        copy_values(new_distance, distance)
        count = _find_cut_off(u, ways, tree, reached, moved, is_moved)
        _settle_cut_off(ways, new_distance, moved, is_moved, count)
    _sort(moved, count, new_distance)
    _merge(order, reached, new_distance, moved, is_moved, count, new_order)
    for i in range(count):
        is_moved[moved[i]] = False
    return True


@njit(cache=True)
def _come_nearer(start, first, heads, steps, distance, moved, is_moved):  # type: ignore[no-untyped-def]
    """Propagate a shorter distance; list the nodes that came nearer and return their number."""
    moved[0] = start
    is_moved[start] = True
    count = 1
    changes = True
    while changes:
        changes = False
        i = 0
        while i < count:
            v = moved[i]
            for k in range(first[v], first[v + 1]):
                w, way = heads[k], distance[v] + steps[k]
                if way < distance[w]:
                    distance[w] = way
                    changes = True
                    if not is_moved[w]:
                        is_moved[w] = True
                        moved[count] = w
                        count += 1
            i += 1
    return count


@njit(cache=True)
def _find_cut_off(u, ways, tree, reached, moved, is_moved):  # type: ignore[no-untyped-def]
    """List the nodes all of whose shortest paths led over u, which has lost its only one."""
    first, heads, steps, _, _, _ = ways
    distance, order = tree
    moved[0] = u
    is_moved[u] = True
    count = 1
    place = 0
    while order[place] != u:
        place += 1
    for i in range(place + 1, reached):
        x = order[i]
        here = distance[x]
        cut_off = True
        for k in range(first[x], first[x + 1]):
            w = heads[k]
            if not is_moved[w] and distance[w] + steps[k] == here:
                cut_off = False
                break
        if cut_off:
            is_moved[x] = True
            moved[count] = x
            count += 1
    return count


@njit(cache=True)
def _settle_cut_off(ways, distance, moved, is_moved, count):  # type: ignore[no-untyped-def]
    """New distances of the nodes that were cut off, by Dijkstra's algorithm among them."""
    first, heads, steps, back_first, tails, back = ways
    for i in range(count):
        x = moved[i]
        nearest = FAR
        for k in range(first[x], first[x + 1]):
            if not is_moved[heads[k]]:
                nearest = min(nearest, distance[heads[k]] + steps[k])
        distance[x] = nearest
    for i in range(count):
        least = i
        for j in range(i + 1, count):
            if distance[moved[j]] < distance[moved[least]]:
                least = j
        moved[i], moved[least] = moved[least], moved[i]
        x = moved[i]
        for k in range(back_first[x], back_first[x + 1]):
            if is_moved[tails[k]]:
                distance[tails[k]] = min(distance[tails[k]], distance[x] + back[k])


@njit(cache=True)
def _sort(nodes, count, distance):  # type: ignore[no-untyped-def]
    """Sort the first `count` by distance, then by id."""
    for i in range(1, count):
        x, j = nodes[i], i
        while j > 0 and (
            distance[nodes[j - 1]] > distance[x]
            or (distance[nodes[j - 1]] == distance[x] and nodes[j - 1] > x)
        ):
            nodes[j] = nodes[j - 1]
            j -= 1
        nodes[j] = x


@njit(cache=True)
def _merge(order, reached, distance, moved, is_moved, count, new_order):  # type: ignore[no-untyped-def]
    """Merge the moved nodes, sorted, into the order."""
    i = place = 0
    for k in range(reached):
        x = order[k]
        if is_moved[x]:
            continue
        while i < count and (
            distance[moved[i]] < distance[x] or (distance[moved[i]] == distance[x] and moved[i] < x)
        ):
            new_order[place] = moved[i]
            place += 1
            i += 1
        new_order[place] = x
        place += 1
    while i < count:
        new_order[place] = moved[i]
        place += 1
        i += 1
    for k in range(reached, order.shape[0]):
        new_order[k] = order[k]
