"""Bridges of a graph: links without which it falls apart."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array


def bridges(n: int, edges: Array) -> Array:
    """Flags (E,) of the links (2, E) that lie on no cycle; by depth-first search, O(n + E)."""
    lists: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for link, (u, v) in enumerate(edges.T.tolist()):
        lists[u].append((v, link))
        lists[v].append((u, link))
    found = np.zeros(edges.shape[1], dtype=bool)
    entered, lowest = [-1] * n, [0] * n
    clock = 0
    for root in range(n):
        if entered[root] >= 0:
            continue
        entered[root] = lowest[root] = clock
        clock += 1
        stack = [(root, -1, iter(lists[root]))]
        while stack:
            v, came, rest = stack[-1]
            for w, link in rest:
                if link == came:
                    continue
                if entered[w] >= 0:
                    lowest[v] = min(lowest[v], entered[w])
                    continue
                entered[w] = lowest[w] = clock
                clock += 1
                stack.append((w, link, iter(lists[w])))
                break
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    lowest[above] = min(lowest[above], lowest[v])
                    if lowest[v] > entered[above]:
                        found[came] = True
    return found
