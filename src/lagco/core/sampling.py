"""Random actions with a path, drawn by what is declared: hardly any list of nodes is a path."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.declaration import read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.hops import hop_distances
from lagco.core.spec import Edge, Node, Path


class PathSampler:
    """Draws actions with one path in the present state of an environment; not all are valid.

    Nodes and edges are uniform over those that meet their spec, other components over their
    values. A path is a random walk that keeps near enough to its end.
    """

    def __init__(self, env: ContinuousEnv, space: gym.spaces.MultiDiscrete) -> None:
        self._env, self._sizes = env, space.nvec
        self._views = env.graph_views()
        self._components = read_declaration(env, self._views).action
        self._elements: dict[str, Array] = {}
        for name, kind in self._components.items():
            if isinstance(kind, Path):
                self._first, self._heads = _arcs(self._views[kind.graph or ""], kind.spec)
                self._hops = hop_distances(self._first, self._heads)
            elif isinstance(kind, Node | Edge):
                view = self._views[kind.graph or ""]
                select = view.select_edges if isinstance(kind, Edge) else view.select_nodes
                self._elements[name] = select(kind.spec)

    def draw(self, rng: np.random.Generator) -> Any:
        """A raw action; None where there is no element to choose, or no way on."""
        room = len(self._sizes) - len(self._components) + 1  # columns of the path
        parts: list[int] = []
        chosen: dict[str, int] = {}
        for name, kind in self._components.items():
            if isinstance(kind, Path):
                nodes = self._path(kind, chosen, room, rng)
                parts += nodes + [len(self._hops)] * (room - len(nodes))
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
        n = len(self._hops)
        most = min(room, n) - 1  # hops
        if path.ends is None:
            nodes, end = [int(rng.integers(n))], -1
            longest = most if path.max_len is None else min(path.max_len, most)
            most = int(rng.integers(1, max(longest, 1) + 1))
        else:
            edges = self._views[self._components[path.ends].graph or ""].edges
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


def _arcs(view: GraphView, spec: Any) -> tuple[Array, Array]:
    """Arcs between the nodes that meet `spec`: those of v go to heads[first[v] : first[v + 1]]."""
    inside = np.zeros(view.num_nodes, dtype=bool)
    inside[view.select_nodes(spec)] = True
    edges = view.edges[:, inside[view.edges].all(axis=0)]
    if not view.directed:
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    tails, heads = edges[:, np.argsort(edges[0], kind="stable")]
    return np.searchsorted(tails, np.arange(view.num_nodes + 1)), heads
