"""CPU time of a step of a networkx environment, beyond the environment's own code.

python benchmarks/networkx_border.py [--clients 60] [--steps 300]

The facility-location environment of ``examples/facility.py`` (60 clients, 20 sites, two networkx
graphs whose attributes change in place) and the same with graphs built anew in every state take
random actions. Printed are microseconds of CPU per state, medians: the environment's own
``step()`` and ``get_graphs()``, and what reading the graphs adds to that.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import networkx as nx
import numpy as np

from examples.facility import Facility
from lagco.core.graph import GraphView


class Rebuilt(Facility):
    """The same with every pair of client and site as an edge, in a graph that is built anew."""

    def get_graphs(self) -> dict[str, Any]:
        graph = nx.Graph()
        graph.add_nodes_from((("client", i), dict(v)) for i, v in self.near.nodes.items())
        graph.add_nodes_from((("site", j), {"served": 0, "best": 0.0}) for j in self.sites)
        n, m = self.way.shape
        graph.add_edges_from(
            (("client", i), ("site", j), {"way": float(self.way[i, j])})
            for i in range(n)
            for j in range(m)
        )
        return {"clients": graph, "sites": self.sites}


def measure(env: Facility, clients: int, steps: int, read: Any) -> dict[str, float]:
    """Medians over steps, in microseconds."""
    rng = np.random.default_rng(0)
    ended = True
    own, beyond = [], []
    for _ in range(steps):
        if ended:
            env.reset(seed=int(rng.integers(2**31)), options={"clients": clients})
            read(env, env.get_graphs())
        action = env.sample_valid_action(rng)
        began = time.process_time_ns()
        _, _, ended, _, _ = env.step(action)
        graphs = env.get_graphs()
        middle = time.process_time_ns()
        read(env, graphs)
        beyond.append(time.process_time_ns() - middle)
        own.append(middle - began)
    return {"own": float(np.median(own)) / 1e3, "reading": float(np.median(beyond)) / 1e3}


def cached(env: Facility, graphs: dict[str, Any]) -> None:
    """As lagco reads them: one view per graph, brought up to date."""
    for name, graph in graphs.items():
        env._converted(name, graph)


def from_scratch(env: Facility, graphs: dict[str, Any]) -> None:
    """Every graph converted as a whole."""
    for graph in graphs.values():
        GraphView.from_networkx(graph)


def main() -> None:
    """Print a line per kind of environment and of reading."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    for kind in (Facility, Rebuilt):
        for read in (cached, from_scratch):
            found = measure(kind(), given.clients, given.steps, read)
            print(
                f"{kind.__name__:9} {read.__name__:13} own {found['own']:7.0f} us, "
                f"reading {found['reading']:7.0f} us"
            )


if __name__ == "__main__":
    main()
