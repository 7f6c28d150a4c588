"""First-order effects of changes of weights: traffic that moves, and the change of costs.

A transfer is traffic of one node to one destination that leaves an arc, or moves onto it, once the
weight of its link has changed by more than a gap, assuming that nodes upstream keep their next
hops. The effect of any change of a link is then a sum over the transfers with smaller gaps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.ospf.searching.state import CUT

LEAVING, COMING = 0, 1
#: changes per link and direction that are evaluated
RUNGS = 4
#: prices that arcs have, and columns of `effects`: traffic moved, then what is saved by each price
PRICES, MOVED = 3, 0


class Transfers(NamedTuple):
    """A table with a row per transfer.

    Attributes:
        where: (M, 3) `LEAVING` or `COMING`, the arc, and the gap
        amounts: (M, 2 + 3) traffic that moves if the change equals the gap, and beyond it; what a
            unit of it saves, by each price
    """

    where: Array
    amounts: Array


def empty_transfers(nodes: int, arcs: int) -> Transfers:
    """A table with room for all transfers of a network."""
    rows = 2 * nodes * arcs  # where ways are equally good, some leaves and more may come
    return Transfers(np.empty((rows, 3), dtype=np.int64), np.empty((rows, 2 + PRICES)))


@njit(cache=True)
def _note(table, row, kind, arc, gap, partly, amount):  # type: ignore[no-untyped-def]
    """Write a row without its savings, and return the array for these."""
    where, amounts = table.where[row], table.amounts[row]
    where[0], where[1], where[2] = kind, arc, gap
    amounts[0], amounts[1] = partly, amount
    return amounts[2:]


@njit(cache=True)
def find_transfers(scenarios, routing, prices, reach, table):  # type: ignore[no-untyped-def]
    """Write all transfers with gaps of at most `reach` to a table; return how many.

    prices: (2 E, 3) of a unit on each arc.
    """
    network, ecmp, volumes = scenarios.network, scenarios.ecmp, scenarios.volumes[0]
    first, heads, arcs, steps = network.first, network.heads, network.arcs, routing.steps[0]
    n, count = first.shape[0] - 1, 0
    cost, through = np.zeros((n, PRICES)), np.zeros(n)
    gaps, way = np.empty(n, np.int64), np.empty((n, PRICES))
    for t in scenarios.targets:
        far, order = routing.distance[0, t], routing.order[0, t]
        for d in range(scenarios.first[t], scenarios.first[t + 1]):
            through[scenarios.sources[d]] += volumes[d]
        _price_ways(network, steps, ecmp, far, order, prices, cost)
        for place in range(n - 1, 0, -1):
            v = order[place]
            amount, here = through[v], far[v]
            through[v] = 0.0
            if amount == 0.0 or v == t or here >= CUT:
                continue
            low, degree = first[v], first[v + 1] - first[v]
            ties, taken, margin = 0, -1, CUT
            for k in range(degree):
                head, arc = heads[low + k], arcs[low + k]
                gaps[k] = gap = far[head] + steps[low + k] - here
                for q in range(PRICES):
                    way[k, q] = prices[arc, q] + cost[head, q]
                if gap == 0:
                    taken = k if taken < 0 else taken
                    ties += 1
                elif gap < margin:
                    margin = gap
            share = amount / ties if ecmp else amount
            near, nearest = 0, -1
            for k in range(degree):
                if gaps[k] == 0 and (ecmp or k == taken):
                    through[heads[low + k]] += share
                if gaps[k] == margin and (ecmp or near == 0):
                    near, nearest = near + 1, k
            for k in range(degree):
                gap, arc = gaps[k], arcs[low + k]
                if gap > reach or (gap == 0 and ties == 1 and margin > reach):
                    continue
                if gap > 0:
                    partly = amount / (ties + 1)
                    if not ecmp:
                        partly = amount if k < taken else 0.0
                    saved = _note(table, count, COMING, arc, gap, partly, amount)
                    for q in range(PRICES):
                        saved[q] = cost[v, q] - way[k, q]
                    count += 1
                elif ties == 1:
                    partly = amount * near / (near + 1)
                    if not ecmp:
                        partly = amount if nearest < k else 0.0
                    saved = _note(table, count, LEAVING, arc, margin, partly, amount)
                    for q in range(PRICES):
                        saved[q] = way[k, q]
                    for j in range(degree):
                        if gaps[j] == margin and (ecmp or j == nearest):
                            for q in range(PRICES):
                                saved[q] -= way[j, q] / near
                    count += 1
                elif ecmp:
                    leaves = _note(table, count, LEAVING, arc, 0, share, share)
                    comes = _note(table, count + 1, COMING, arc, 0, amount - share, amount - share)
                    for q in range(PRICES):
                        rest = (cost[v, q] * ties - way[k, q]) / (ties - 1)
                        leaves[q], comes[q] = way[k, q] - rest, rest - way[k, q]
                    count += 2
                else:
                    other = taken
                    if k == taken:  # the next of the equally good ways
                        for j in range(degree - 1, k, -1):
                            other = j if gaps[j] == 0 else other
                    kind = LEAVING if k == taken else COMING
                    saved = _note(table, count, kind, arc, 0, amount, amount)
                    for q in range(PRICES):
                        saved[q] = way[taken, q] - way[other if k == taken else k, q]
                    count += 1
        through[t] = 0.0
    return count


@njit(cache=True)
def _price_ways(network, steps, ecmp, far, order, prices, cost):  # type: ignore[no-untyped-def]
    """What a unit costs from every node to a destination, by each price."""
    first, heads, arcs = network.first, network.heads, network.arcs
    for q in range(PRICES):
        cost[order[0], q] = 0.0
    for place in range(1, order.shape[0]):
        v = order[place]
        if v == order[0] or far[v] >= CUT:
            continue
        ways = 0
        for q in range(PRICES):
            cost[v, q] = 0.0
        for k in range(first[v], first[v + 1]):
            if far[heads[k]] + steps[k] == far[v] and (ecmp or ways == 0):
                ways += 1
                for q in range(PRICES):
                    cost[v, q] += prices[arcs[k], q] + cost[heads[k], q]
        for q in range(PRICES):
            cost[v, q] /= ways


@njit(cache=True)
def telling_changes(table, count, up, down):  # type: ignore[no-untyped-def]
    """Changes of every link at which most traffic moves, up and down: (E, 4) each, 0 for none.

    Those are the two gaps over which most is moved, and one more than each of them.
    """
    links = up.shape[0]
    gaps = np.full((2, links, 2), -1, dtype=np.int64)
    moved = np.zeros((2, links, 2))
    for i in range(count):
        kind, link, gap = table.where[i, 0], table.where[i, 1] >> 1, table.where[i, 2]
        amount = table.amounts[i, 1]
        known, most = gaps[kind, link], moved[kind, link]
        place = 0 if known[0] == gap or (known[1] != gap and most[0] < most[1]) else 1
        if known[place] == gap:
            most[place] += amount
        elif amount > most[place]:
            known[place], most[place] = gap, amount
    for link in range(links):
        for i in range(2):
            for kind in range(2):
                gap = gaps[kind, link, i]
                changes = up[link] if kind == LEAVING else down[link]
                changes[2 * i] = max(gap, 0)
                changes[2 * i + 1] = gap + 1


@njit(cache=True)
def add_up(table, count, up, down, effects):  # type: ignore[no-untyped-def]
    """Effects of changes of every link: (2, 2 E, 4, 4), by kind, arc, change and column."""
    effects[:] = 0.0
    for i in range(count):
        kind, arc, gap = table.where[i, 0], table.where[i, 1], table.where[i, 2]
        partly, amount = table.amounts[i, 0], table.amounts[i, 1]
        changes = up[arc >> 1] if kind == LEAVING else down[arc >> 1]
        for r in range(RUNGS):
            moves = amount if changes[r] > gap else (partly if changes[r] == gap else 0.0)
            effects[kind, arc, r, MOVED] += moves
            for q in range(PRICES):
                effects[kind, arc, r, 1 + q] += moves * table.amounts[i, 2 + q]
