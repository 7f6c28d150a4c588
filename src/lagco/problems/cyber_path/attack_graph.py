"""The view that agents see: visible hosts as nodes, executed attacks as edges. It grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.problems.cyber_path.catalogue.outcomes import (
    ADMIN,
    ALL_OUTCOMES,
    ESCALATION,
    OWNING,
    USER,
)
from lagco.problems.cyber_path.knowledge import Knowledge
from lagco.problems.cyber_path.network import GROUPS


class AttackGraph:
    """Keeps a directed view in step with the knowledge of the agent.

    Args:
        knowledge: what is known; its arrays are the node columns, cut to the visible rows.
        names: node columns that the view carries, beside ``vulns`` and ``ahead``.
        vectors: (K, w), vector of each vulnerability of the catalogue.
        capacity: most edges there can be.

    An edge joins a source to a target (to itself for a local attack); its column ``vulnerability``
    (E, w) is the mean over the different vulnerabilities used between the two.
    """

    def __init__(
        self, knowledge: Knowledge, names: tuple[str, ...], vectors: Array, capacity: int
    ) -> None:
        self._knowledge = knowledge
        self._names = names
        self._node_columns = [(name, knowledge.columns[name]) for name in names]
        self._carried = {*names, "vulns", "ahead"}
        self._vectors = vectors
        self._ends = np.zeros((2, capacity), dtype=np.int64)
        self._text = np.zeros((capacity, vectors.shape[1]), dtype=np.float32)
        self._edge_of: dict[tuple[int, int], int] = {}
        self._used: list[set[int]] = []
        self._fresh = True  # nothing was published since the last clearing
        self.view = GraphView(
            0, (), nodes=self._cut(0), edge_attributes=self._cut_edges(0), directed=True
        )

    def clear(self) -> None:
        """Remove all edges."""
        self._edge_of.clear()
        self._used.clear()
        self._fresh = True

    def record(self, source: int, target: int, vulnerability: int) -> None:
        """Note an executed attack between two rows."""
        edge = self._edge_of.get((source, target))
        vector = self._vectors[vulnerability]
        if edge is None:
            edge = len(self._used)
            if edge == len(self._text):
                self._ends = np.pad(self._ends, ((0, 0), (0, edge)))
                self._text = np.pad(self._text, ((0, edge), (0, 0)))
            self._edge_of[source, target] = edge
            self._used.append({vulnerability})
            self._ends[0, edge] = source
            self._ends[1, edge] = target
            self._text[edge] = vector
        elif vulnerability not in self._used[edge]:
            used = self._used[edge]
            used.add(vulnerability)
            text = self._text[edge]
            text += (vector - text) / len(used)
            self.view.touch_edge("vulnerability", edge)

    def show(self, steps: list[list[int]]) -> None:
        """Features of these attacks (source host, target host, vulnerability) if all succeed.

        Nothing else is known then.
        """
        known = self._knowledge
        network = known.network
        known.forget()
        self.clear()
        hosts = list(dict.fromkeys(host for step in steps for host in step[:2]))
        known.add(np.array(hosts), np.ones((len(hosts), len(GROUPS)), dtype=bool))
        row_of = {host: row for row, host in enumerate(hosts)}
        known.take(0, OWNING)
        known.raise_privilege(0, USER)
        for source, target, vulnerability in steps:
            if vulnerability < 0:  # the attacker only is there
                continue
            row = row_of[target]
            position = int((network.vulns[target] == vulnerability).nonzero()[0][0])
            outcomes = int(network.codes[target, position]) & ALL_OUTCOMES
            if outcomes & OWNING:
                outcomes |= OWNING
                known.raise_privilege(row, USER)
            if outcomes & ESCALATION:
                known.raise_privilege(row, ADMIN)
            known.take(row, outcomes)
            self.record(row_of[source], row, int(network.stand_in[vulnerability]))

    def publish(self) -> None:
        """Bring the view up to date with what was touched."""
        knowledge = self._knowledge
        nodes, edges = knowledge.size, len(self._used)
        view = self.view
        if self._fresh:
            self._fresh = False
            view.replace(
                nodes,
                self._ends[:, :edges].copy(),
                nodes=self._cut(nodes),
                edge_attributes=self._cut_edges(edges),
            )
        else:
            known = view.num_edges
            if nodes > view.num_nodes or edges > known:
                view.extend(
                    self._ends[:, known:edges],
                    num_nodes=nodes,
                    nodes=self._cut(nodes) if nodes > view.num_nodes else None,
                    edge_attributes=self._cut_edges(edges),
                )
            for name, rows in knowledge.touched:
                if name in self._carried:
                    view.touch_node(name, rows)
        knowledge.touched.clear()

    def _cut(self, size: int) -> dict[str, Any]:
        columns: dict[str, Any] = {name: column[:size] for name, column in self._node_columns}
        columns["vulns"] = self._knowledge.vulns
        columns["ahead"] = self._knowledge.ahead[:size]
        return columns

    def _cut_edges(self, size: int) -> dict[str, Any]:
        return {"vulnerability": self._text[:size]}
