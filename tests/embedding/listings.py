"""The paper's two listings (its appendix on the library), with toy logic behind the ellipses."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import gymnasium as gym
import networkx as nx
import numpy as np

from lagco.core.declaring.descriptors import get_num_nodes
from lagco.core.env import ContinuousEnv
from lagco.core.pooling import Concat, Mean, Sum
from lagco.core.spec import Attribute, Edge, Function, Graph, Node, Object, Path

VULNERABILITIES = (
    "Remote code execution in the web server through a crafted header",
    "SQL injection in the login form of the web shop",
    "Default password on the database administrator account",
    "Path traversal lets anyone read files outside the document root",
    "Local privilege escalation through a race in the print service",
    "Outdated kernel allows a local user to become root",
    "Open share exposes configuration files with credentials",
    "Weak cipher lets traffic be decrypted by an eavesdropper",
)


def fake_sentence_encoder(texts: list[str]) -> np.ndarray:
    """Stands for MiniLM: unit vectors (k, 48), a bag of hashed words."""
    vectors = np.zeros((len(texts), 48), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode()).digest()
            vectors[row, digest[0] % 48] += 1.0 if digest[1] % 2 else -1.0
        vectors[row] /= max(float(np.linalg.norm(vectors[row])), 1e-6)
    return vectors


class CyberAttack(gym.Env):  # type: ignore[type-arg]
    """Hosts with vulnerabilities; an attack from a controlled host may take over another one.

    Only discovered hosts are visible, so the graph grows. Action: (source, target, vulnerability
    of the target), as positions among the visible hosts.
    """

    def __init__(self, hosts: int = 8, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.hosts = hosts
        self._vulns = [
            [VULNERABILITIES[v] for v in rng.permutation(len(VULNERABILITIES))[: rng.integers(4)]]
            for _ in range(hosts)
        ]
        self._vulns[1] = [VULNERABILITIES[0]]  # something can be attacked from the start
        self.action_space = gym.spaces.MultiDiscrete([hosts, hosts, 4])
        self.observation_space = gym.spaces.Discrete(hosts + 1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.visible = [0, 1, 2]
        self.owned = {0}
        self.attempts: dict[tuple[int, int], int] = {}
        self.steps = 0
        return len(self.owned), {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        source, target = self.visible[action[0]], self.visible[action[1]]
        pair = (source, target)
        self.attempts[pair] = self.attempts.get(pair, 0) + 1
        gained = target not in self.owned and self.np_random.random() < 0.7
        if gained:
            self.owned.add(target)
            hidden = [host for host in range(self.hosts) if host not in self.visible]
            self.visible += hidden[:2]
        self.steps += 1
        done = len(self.owned) == self.hosts
        return len(self.owned), float(gained), done, self.steps >= 3 * self.hosts, {}


class CyberAttackExt(CyberAttack, ContinuousEnv):
    """The first listing."""

    def __init__(self, hosts: int = 8, seed: int = 0) -> None:
        super().__init__(hosts, seed)
        self._observation_type = {
            "graph": Graph(poolings=[Mean, Sum], graph="attack_G"),
            "nodes_num": Function(get_num_nodes, graph="attack_G"),
        }
        self._action_type = {
            "source": Node(graph="attack_G", spec={"controlled": True}),
            "target": Node(graph="attack_G"),
            "vuln": Object(extractor="bert", reference="target", key="vulns"),
        }
        self._node_attributes = {
            "vulns": Attribute(extractor="bert", type="continuous", reduce=6),
            "controlled": Attribute(type="binary"),
        }
        self._edge_attributes = {"attempts": Attribute(low=0.0)}

    def get_graphs(self) -> dict[str, Any]:
        G: nx.DiGraph[int] = nx.DiGraph()
        for host in self.visible:
            G.add_node(host, vulns=self._vulns[host], controlled=host in self.owned)
        for (source, target), attempts in self.attempts.items():
            G.add_edge(source, target, attempts=attempts)
        return {"attack_G": G}

    def is_valid_action(self, action: Any) -> bool:
        source, target, vuln = action
        return (
            max(source, target) < len(self.visible)
            and self.visible[source] in self.owned
            and source != target
            and vuln < len(self._vulns[self.visible[target]])
        )

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Any:
        valid = self.valid_actions()
        return valid[(rng or self.np_random).integers(len(valid))] if len(valid) else None


class TrafficEngineering(gym.Env):  # type: ignore[type-arg]
    """Demands routed over a network. Action: (demand, path as node indices padded with n)."""

    def __init__(self, nodes: int = 7, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.nodes = nodes
        self.links: nx.Graph[int] = nx.cycle_graph(nodes)
        self.links.add_edge(0, nodes // 2)
        self.links.add_edge(1, nodes - 2)
        for edge in self.links.edges:
            self.links.edges[edge]["capacity"] = float(rng.uniform(5, 10))
        pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
        chosen = rng.permutation(len(pairs))[: 2 * nodes]
        self.demands = [(*pairs[i], float(rng.uniform(1, 4))) for i in sorted(chosen)]
        self.action_space = gym.spaces.MultiDiscrete([len(self.demands), *[nodes + 1] * nodes])
        self.observation_space = gym.spaces.Box(0.0, np.inf, (1,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.paths = [nx.shortest_path(self.links, u, v) for u, v, _ in self.demands]
        self.steps = 0
        return np.array([self.utilisation()]), {}

    def loads(self) -> dict[tuple[int, int], float]:
        """Load over capacity per link."""
        loads = {tuple(sorted(edge)): 0.0 for edge in self.links.edges}
        for path, (_, _, volume) in zip(self.paths, self.demands, strict=True):
            for hop in itertools.pairwise(path):
                loads[tuple(sorted(hop))] += volume
        return {e: load / self.links.edges[e]["capacity"] for e, load in loads.items()}

    def utilisation(self) -> float:
        """Of the busiest link."""
        return max(self.loads().values())

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        before = self.utilisation()
        self.paths[action[0]] = [int(v) for v in action[1:] if v < self.nodes]
        self.steps += 1
        now = self.utilisation()
        return np.array([now]), before - now, False, self.steps >= 3 * self.nodes, {}


class TrafficEngineeringExt(TrafficEngineering, ContinuousEnv):
    """The second listing."""

    def __init__(self, nodes: int = 7, seed: int = 0) -> None:
        super().__init__(nodes, seed)
        self._observation_type = {
            "comm": Graph(poolings=[Mean], graph="comm_G"),
            "traffic": Graph(poolings=[Mean], graph="traffic_G"),
        }
        self._action_type = {
            "traffic_link": Edge(graph="traffic_G", pooling=Concat),
            "communication_path": Path(graph="comm_G", pooling=Concat),
        }
        self._node_attributes = {"outgoing_traffic": Attribute(norm="min_max")}
        self._edge_attributes = {
            "utilisation": Attribute(low=0.0),
            "capacity": Attribute(norm="z_score", static=True),
            "volume": Attribute(norm="min_max", static=True),
        }

    def get_graphs(self) -> dict[str, Any]:
        comm_G: nx.Graph[int] = nx.Graph()
        comm_G.add_nodes_from(range(self.nodes))
        for edge, load in self.loads().items():
            comm_G.add_edge(*edge, utilisation=load, capacity=self.links.edges[edge]["capacity"])
        traffic_G: nx.DiGraph[int] = nx.DiGraph()
        outgoing = [0.0] * self.nodes
        for u, _, volume in self.demands:
            outgoing[u] += volume
        for node in range(self.nodes):
            traffic_G.add_node(node, outgoing_traffic=outgoing[node])
        for u, v, volume in self.demands:
            traffic_G.add_edge(u, v, volume=volume)
        return {"comm_G": comm_G, "traffic_G": traffic_G}

    def is_valid_action(self, action: Any) -> bool:
        demand, *padded = (int(v) for v in action)
        path = [v for v in padded if v < self.nodes]
        u, v, _ = self.demands[demand]
        return (
            len(path) >= 2
            and (path[0], path[-1]) == (u, v)
            and nx.is_simple_path(self.links, path)
            and path != self.paths[demand]
            and padded[: len(path)] == path
        )

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Any:
        rng = rng or self.np_random
        for demand in rng.permutation(len(self.demands)):
            u, v, _ = self.demands[demand]
            paths = [p for p in nx.all_simple_paths(self.links, u, v) if p != self.paths[demand]]
            if paths:
                path = paths[rng.integers(len(paths))]
                return np.array([demand, *path, *[self.nodes] * (self.nodes - len(path))])
        return None
