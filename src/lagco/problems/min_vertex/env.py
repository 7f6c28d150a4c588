"""Minimum vertex cover: choose few nodes so that every edge has a chosen end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.changes.limits import Limits
from lagco.core.events import Draft, Event
from lagco.core.graph import GraphView
from lagco.core.pooling import Mean
from lagco.core.rewards.references import named_start
from lagco.core.spec import Attribute, Graph, Node
from lagco.errors import InstanceError, UsageError
from lagco.instances import ArrayForm, Instance, InstanceForm, References
from lagco.problems.adjacency import adjacency, edges_of
from lagco.problems.decided import FORCED, FORMS, excess, limits_from
from lagco.problems.edge_events import PLAIN, draw_edge_events
from lagco.problems.features import graph_observation
from lagco.problems.min_vertex.candidates import EACH, describe_nodes
from lagco.problems.min_vertex.generator import draw_graph
from lagco.problems.min_vertex.kernels import (
    count_leaves,
    count_lowest,
    cover_edges,
    exchange_around,
    select_most_bare,
    select_node,
    sole_neighbours,
    update_lowest,
)
from lagco.problems.min_vertex.limits.nodes import COVER, cover_limits, members, repair_cover
from lagco.problems.node_choice import NodeChoice
from lagco.results.numbers import of_things


class MinVertex(NodeChoice):
    """Choose nodes one by one until every edge is covered.

    Instance: ``edges`` (2, E); ``cover`` (k,) where a cover is in force; ``forced`` (n,), 1 for
    nodes that are in every cover, 0 for nodes that are in none, -1 for others.
    View ``graph``: the graph itself.
    Action: ``Discrete(n)``, a node that is not selected.
    Observation: ``selected`` (n,) and ``covered`` (E,); with `full` features also ``uncovered``
    (n,), log1p of the number of uncovered edges at the node, and ``leaves`` (n,), log1p of the
    number of its neighbours whose only uncovered edge leads to it, and ``lowest`` (n,), log1p of
    the fewest uncovered edges that a neighbour over an uncovered edge has (of the largest degree of
    the graph where there is none).
    Objective: selected nodes + n x share of uncovered edges, so that it is the size of the cover
    once there is one and n at the start. Reward: its decrease over (n - best), which is
    (n x newly covered / edges - 1) / (n - best). Score: (n - size) / (n - best), 0 unless covered.
    Change: a node that comes into the cover in force or goes out of it. Within limits what is
    decided beforehand is selected at the start, and an episode ends where every edge is covered
    and no more changes are made than allowed: selecting the others' nodes takes changes back.
    """

    name = "min-vertex"
    events = PLAIN
    present = COVER
    limiting = (FORCED,)
    builds_up = improves_within_limits = True
    candidate_columns = EACH
    form = InstanceForm(
        arrays={
            "edges": ArrayForm("integer", (2, "edges"), low=0, below="size"),
            COVER: ArrayForm("integer", (None,), low=0, below="size", optional=True),
            **FORMS,
        },
        solution=ArrayForm("integer", (None,), low=0, below="size"),
    )

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """Erdős–Rényi graphs: 10 to 50 nodes, edge probability 0.1 to 0.4."""
        return draw_graph(rng, size)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Smallest of many randomised greedy covers; the worst is n."""
        from lagco.problems.min_vertex.sweeps import sweep_covers

        return References(sweeps=sweep_covers(instance, 10_000 if sweeps is None else sweeps, seed))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """Smallest cover by CP-SAT."""
        from lagco.problems.min_vertex.solver import solve_cover

        return References(solver=solve_cover(instance, seed, effort))

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """Exchange of nodes, with weights on edges that stay uncovered."""
        from lagco.problems.min_vertex.local_search import improve_cover

        return improve_cover(instance, solution, seed, effort)

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """The better of the linear bound and CP-SAT's."""
        from lagco.problems.min_vertex.bound import size_bound

        return size_bound(instance, seconds)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, edges and raw actions."""
        edges = instance.array("edges").shape[1]
        return {"nodes": instance.size, "edges": edges, "actions": instance.size}

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Size of a cover given as its nodes; an error if an edge is not covered."""
        chosen = members(instance, solution).astype(bool)
        u, v = instance.array("edges")
        bare = np.flatnonzero(~(chosen[u] | chosen[v]))
        if bare.size:
            raise InstanceError(
                f"not a cover of {instance.name!r}: the edge {u[bare[0]]}-{v[bare[0]]} has no "
                "chosen end"
            )
        return float(chosen.sum())

    @classmethod
    def elements(cls, instance: Instance, solution: Array) -> Array:
        """Whether each node is in the cover: (n,)."""
        return members(instance, solution)

    @classmethod
    def element_names(cls, instance: Instance) -> list[str]:
        """Numbers of the nodes, from 1 on."""
        return [str(node) for node in range(1, instance.size + 1)]

    @classmethod
    def value_text(cls, instance: Instance, element: int, value: Any) -> str:
        """Whether a node is in the cover."""
        return "in" if value else "out"

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """Nodes that stay as they are, or (column ``value``) that have to be in or out."""
        names = cls.element_names(instance)
        return limits_from(instance, table, names, {"out": 0, "in": 1})

    @classmethod
    def excess(cls, instance: Instance, elements: Array, values: Array) -> Array:
        """1 for nodes that are not in or out as they have to be."""
        return excess(instance, elements, values)

    @classmethod
    def restored(cls, instance: Instance, solution: Array, element: int) -> Array | None:
        """The cover with a node as in the incumbent; None where an edge would be uncovered."""
        found = members(instance, solution)
        found[element] = 1 - found[element]
        u, v = instance.array("edges")
        return np.flatnonzero(found) if (found[u] | found[v]).all() else None

    @classmethod
    def repair(cls, draft: Draft) -> None:
        """An edge that appeared is covered by its end with more edges, if that is not fixed."""
        repair_cover(draft)

    @classmethod
    def draw_events(
        cls, instance: Instance, rng: np.random.Generator, step: float = 60.0
    ) -> Iterator[tuple[float, Event]]:
        """Edges that come and go or, where they have weights, change: one every `step` seconds."""
        return draw_edge_events(instance, rng, step)

    def _load(self, instance: Instance) -> None:
        n = instance.size
        edges = edges_of(instance)
        self._adjacency = adjacency(n, edges)
        self._num_edges = edges.shape[1]
        self._chosen = np.zeros(n, dtype=np.int8)
        self._covered = np.zeros(self._num_edges, dtype=np.int8)
        self._bare = np.zeros(n, dtype=np.int64)  # uncovered edges per node
        self._uncovered = np.zeros(n, dtype=np.float32)
        self._leaves = np.zeros(n, dtype=np.int64)
        self._single = np.zeros(n, dtype=np.float32)  # log1p of these
        self._low = np.zeros(n, dtype=np.int64)
        self._lowest = np.zeros(n, dtype=np.float32)  # log1p of these
        self._missing = int(np.diff(self._adjacency.first).max(initial=1))
        self._within = cover_limits(instance)
        self._changed = np.zeros(2 * n + 1, dtype=np.int64)  # scratch, as is the next
        self._lowered = np.zeros(n, dtype=bool)
        nodes: dict[str, Any] = {"selected": self._chosen}
        binary = Attribute(type="binary")
        self._node_attributes = {"selected": binary}
        self._edge_attributes = {"covered": binary}
        self._observation_type = graph_observation(self.features, "graph")
        self._action_type = {"node": Node(spec={"selected": False})}
        if self.features == "full":
            amount = Attribute(low=0.0)
            known = ["uncovered", "leaves", "lowest"]
            amounts = (self._uncovered, self._single, self._lowest)
            nodes |= dict(zip(known, amounts, strict=True))
            self._node_attributes = {"selected": binary} | dict.fromkeys(known, amount)
            self._observation_type |= {"selected": Graph(poolings=[Mean], spec={"selected": True})}
            self._action_type = {"node": Node(spec={"selected": False}, attributes=known)}
        self._view = GraphView(n, edges, nodes=nodes, edge_attributes={"covered": self._covered})
        self.action_space = gym.spaces.Discrete(n)

    def get_graphs(self) -> dict[str, GraphView]:
        """The view ``graph``."""
        return {"graph": self._view}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        chosen: Array = np.zeros(0, dtype=np.int64)
        if isinstance(start, np.ndarray | list | tuple):
            chosen = _checked_nodes(start, self.instance)
        else:
            named_start(start)
        if self._within is not None:
            chosen = self._started(chosen)
        self._chosen[:] = 0
        self._chosen[chosen] = 1
        self._size = len(chosen)
        first, neighbours, edge_ids = self._adjacency
        self._left = self._num_edges - cover_edges(
            first, neighbours, edge_ids, self._chosen, self._covered, self._bare
        )
        self._uncovered[:] = np.log1p(self._bare)
        count_leaves(first, neighbours, self._chosen, self._bare, self._leaves, self._single)
        count_lowest(
            first,
            neighbours,
            self._chosen,
            self._bare,
            self._missing,
            self._low,
            self._lowest,
        )

    def _started(self, chosen: Array) -> Array:
        """The start within the limits: what is decided is selected, and no more than may be."""
        within = self._within
        assert within is not None
        chosen = np.union1d(chosen, np.flatnonzero(within.inside))
        flags = members(self.instance, chosen).astype(bool)
        barred = np.flatnonzero(flags & within.locked & ~within.inside)
        if barred.size:
            raise UsageError(f"start: the node {barred[0]} of {self.instance.name!r} has to be out")
        if np.count_nonzero(flags & ~within.before) > within.most:
            raise UsageError(
                f"start: more than {of_things(within.most, 'nodes')} that are not in the cover in "
                f"force of {self.instance.name!r}"
            )
        return chosen

    def keep_limits(self, limits: Limits, actions: Array) -> Array:
        """Nodes that may be in, as long as that many may come in: (k,).

        Where every edge is covered, those alone that take a change back.
        """
        within = self._within
        assert within is not None
        nodes = np.asarray(actions, dtype=np.int64).reshape(-1)
        entered = np.count_nonzero(self._chosen[~within.before])
        fine = ~within.locked[nodes]
        if within.most < self.instance.size:
            full = entered >= within.most or self._left == 0
            fine &= within.before[nodes] | (not full)
        return fine

    def _changes_left(self) -> int:
        """How many more nodes may come in or go out; negative where too many have."""
        within = self._within
        if within is None or within.most >= self.instance.size:
            return self.instance.size
        return within.most - int(np.count_nonzero(self._chosen.astype(bool) != within.before))

    def _apply(self, action: Any) -> None:
        node = int(action)
        newly, changed = select_node(
            *self._adjacency,
            node,
            self._chosen,
            self._covered,
            self._bare,
            self._uncovered,
            self._leaves,
            self._single,
            self._changed,
        )
        self._left -= newly
        self._size += 1
        first, neighbours, edge_ids = self._adjacency
        update_lowest(
            first,
            neighbours,
            self._chosen,
            self._bare,
            self._missing,
            node,
            self._low,
            self._lowest,
            self._lowered,
        )
        around = slice(first[node], first[node + 1])
        view = self._view
        view.touch_node("selected", node)
        view.touch_edge("covered", edge_ids[around])
        if self.features == "full":
            view.touch_node("uncovered", neighbours[around])
            view.touch_node("uncovered", node)
            view.touch_node("leaves", self._changed[:changed].copy())
            view.touch_node("lowest", np.flatnonzero(self._lowered))

    def objective(self) -> float:
        """Selected nodes + n x share of uncovered edges."""
        if self._left == 0:
            return float(self._size)
        return self._size + self.instance.size * (self._left / self._num_edges)

    def recompute_objective(self) -> float:
        """The same from the selected flags alone."""
        u, v = self._view.edges
        bare = (self._chosen[u] == 0) & (self._chosen[v] == 0)
        share = float(bare.mean()) if self._num_edges else 0.0
        return float(self._chosen.sum() + self.instance.size * share)

    def solution(self) -> Array:
        """The selected nodes, in order."""
        return np.flatnonzero(self._chosen)

    def is_complete(self) -> bool:
        """Every edge is covered, with no more changes than allowed."""
        return self._left == 0 and self._changes_left() >= 0

    def is_feasible(self) -> bool:
        """Every edge is covered, with no more changes than allowed."""
        return self.is_complete()

    def has_valid_action(self) -> bool:
        """A node is not selected."""
        return self._size < self.instance.size

    def preview(self, actions: Array) -> Array:
        """Edges each node would newly cover: (k,)."""
        return self._bare[actions].astype(np.float64)

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Uncovered degrees, neighbourhoods and what remains, of candidate nodes."""
        nodes = np.asarray(actions, dtype=np.int64).reshape(-1)
        each = EACH.records(len(nodes))
        first, neighbours, _ = self._adjacency
        counts = self._bare, self._low, self._leaves
        describe_nodes(first, neighbours, self._chosen, *counts, nodes, each)
        return CandidateFeatures(EACH.matrix(each))

    def advise(self) -> Array:
        """Nodes that smallest covers of the rest take."""
        from lagco.problems.min_vertex.teacher import advised_nodes

        first, neighbours, _ = self._adjacency
        found: Array = advised_nodes(first, neighbours, self._bare)
        return found

    def completed(self) -> Array:
        """The nodes so far, then always one with the most uncovered edges."""
        first, neighbours, _ = self._adjacency
        selected = self._chosen.copy()
        select_most_bare(first, neighbours, selected, self._bare.copy(), self._left)
        return np.flatnonzero(selected)

    def reopened(self, solution: Array, share: float, rng: np.random.Generator) -> Any:
        """The cover with a share of the other nodes, near each other, and without what these cover.

        Nodes of the cover are left out whose neighbours outside of it are all among the new ones;
        the first of these is one for which there is such a node, if there is any.
        """
        first, neighbours, _ = self._adjacency
        chosen = np.zeros(self.instance.size, dtype=bool)
        chosen[solution] = True
        outside = np.flatnonzero(~chosen)
        if not len(outside):
            return None
        count = max(1, round(share * len(outside)))
        needs = np.flatnonzero(sole_neighbours(first, neighbours, chosen))
        centre = rng.choice(needs if len(needs) else outside)
        exchange_around(first, neighbours, int(centre), chosen, count)
        if self._within is None:
            return np.flatnonzero(chosen)
        locked, inside, before, most = self._within
        chosen &= ~locked | inside
        entered = np.flatnonzero(chosen & ~before)
        chosen[rng.permutation(entered)[most:]] = False
        return np.flatnonzero(chosen)

    def draw_on(self, axes: Any) -> None:
        """The graph, its cover so far, and what is still uncovered."""
        from lagco.problems.min_vertex.viewer import draw_cover

        draw_cover(axes, self._view, self._size)


def _checked_nodes(nodes: Any, instance: Instance) -> Array:
    chosen = np.asarray(nodes)
    n = instance.size
    whole = chosen.ndim == 1 and (not chosen.size or np.issubdtype(chosen.dtype, np.integer))
    if not whole or (chosen.size and (chosen.min() < 0 or chosen.max() >= n)):
        raise UsageError(f"start: give nodes of {instance.name!r} between 0 and {n - 1}")
    return np.unique(chosen.astype(np.int64))
