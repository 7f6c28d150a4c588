"""Random actions with a path or a connected subgraph, drawn by what is declared.

Hardly any list of nodes is one.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.graphs.growing import grow
from lagco.core.graphs.hops import hop_distances
from lagco.core.spec import Component, Edge, Node, Path, SubGraph


class NodesSampler:
    """Draws actions with one path or connected subgraph in the present state of an environment.

    Not all are valid. Nodes and edges are uniform over those that meet their spec, other components
    over their values. A path is a random walk that keeps near enough to its end; a subgraph grows
    from a random node to a random size.
    """

    def __init__(self, env: ContinuousEnv, space: gym.spaces.MultiDiscrete) -> None:
        self._env, self._sizes = env, space.nvec
        self._views = env.graph_views()
        self._components = env._action_type
        self._elements: dict[str, Array] = {}
        for name, kind in self._components.items():
            if kind.takes_nodes:
                view = self._view(kind)
                self._nodes = view.num_nodes
                self._first, self._heads = _arcs(view, kind)
                if isinstance(kind, Path):
                    self._hops = hop_distances(self._first, self._heads)
                self._allowed = np.zeros(view.num_nodes, dtype=bool)
                self._allowed[view.select_nodes(kind.spec)] = True
            elif isinstance(kind, Node | Edge):
                view = self._view(kind)
                select = view.select_edges if isinstance(kind, Edge) else view.select_nodes
                elements = select(kind.spec)
                if kind.none:
                    count = view.num_edges if isinstance(kind, Edge) else view.num_nodes
                    elements = np.append(elements, count)
                self._elements[name] = elements

    def _view(self, kind: Component) -> GraphView:
        """The view that a component is chosen from; without a name the only one."""
        return self._views[kind.graph] if kind.graph else next(iter(self._views.values()))

    def draw(self, rng: np.random.Generator) -> Any:
        """A raw action; None where there is no element to choose, or no way on."""
        room = len(self._sizes) - len(self._components) + 1  # columns of the several nodes
        parts: list[int] = []
        chosen: dict[str, int] = {}
        for name, kind in self._components.items():
            if kind.takes_nodes:
                nodes: list[int] = []
                if isinstance(kind, Path):
                    nodes = self._path(kind, chosen, room, rng)
                elif isinstance(kind, SubGraph):
                    most = min(room, kind.max_size or room)
                    nodes = grow(rng, self._first, self._heads, self._allowed, most)
                parts += nodes + [self._nodes] * (room - len(nodes))
                if not nodes:
                    return None
                continue
            elements = self._elements.get(name)
            among = np.arange(self._sizes[len(parts)]) if elements is None else elements
            if not len(among):
                return None
            chosen[name] = int(rng.choice(among))
            parts.append(chosen[name])
        return self._env.actions_from_parts(np.array([parts]))[0]

    def _path(
        self, path: Path, chosen: dict[str, int], room: int, rng: np.random.Generator
    ) -> list[int]:
        """Nodes of a random path, none where the walk came to a dead end."""
        n = self._nodes
        most = min(room, n) - 1  # hops
        if path.ends is None:
            nodes, end = [int(rng.integers(n))], -1
            longest = most if path.max_len is None else min(path.max_len, most)
            most = int(rng.integers(1, max(longest, 1) + 1))
        else:
            edges = self._view(self._components[path.ends]).edges
            begin, end = edges[:, chosen[path.ends]].tolist()
            nodes = [begin]
            if path.max_len is not None:
                most = min(most, max(path.max_len, int(self._hops[begin, end])))
        while nodes[-1] != end and len(nodes) <= most:
            left = most - len(nodes)
            beyond = self._heads[self._first[nodes[-1]] : self._first[nodes[-1] + 1]].tolist()
            on = [v for v in beyond if v not in nodes and (end < 0 or self._hops[v, end] <= left)]
            if not on:
                return []
            nodes.append(on[rng.integers(len(on))])
        return nodes if len(nodes) > 1 and end in (-1, nodes[-1]) else []


def _arcs(view: GraphView, kind: Component) -> tuple[Array, Array]:
    """Arcs between the nodes that meet its spec: those of v go to heads[first[v] : first[v + 1]].

    Those of subgraphs go in both directions.
    """
    inside = np.zeros(view.num_nodes, dtype=bool)
    inside[view.select_nodes(kind.spec)] = True
    edges = view.edges[:, inside[view.edges].all(axis=0)]
    if not view.directed or not isinstance(kind, Path):
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    tails, heads = edges[:, np.argsort(edges[0], kind="stable")]
    return np.searchsorted(tails, np.arange(view.num_nodes + 1)), heads
