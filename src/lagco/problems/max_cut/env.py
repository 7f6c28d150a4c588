"""Maximum cut: two sides, as much weight as possible between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.events import Event
from lagco.core.graph import GraphView
from lagco.core.memory import SearchMemory
from lagco.core.pooling import Mean
from lagco.core.problem import Problem
from lagco.core.rewards.references import named_start
from lagco.core.spec import Attribute, Function, Graph, Node
from lagco.errors import InstanceError, UsageError
from lagco.heuristics.hints import planned_actions
from lagco.instances import ArrayForm, Instance, InstanceForm, References
from lagco.problems.adjacency import adjacency
from lagco.problems.decided import FORCED, FORMS, decided, excess, limits_from
from lagco.problems.edge_events import WEIGHTED, draw_edge_events
from lagco.problems.features import graph_observation
from lagco.problems.max_cut.candidates import EACH, describe_nodes
from lagco.problems.max_cut.chains import BASE, SHARE, SPREAD, TINY, Cut
from lagco.problems.max_cut.generator import draw_weights
from lagco.problems.max_cut.kernels import (
    flip_node,
    heaviest_edges,
    initial_gains,
    scale_gains,
)
from lagco.problems.max_cut.limits import SIDES, cut_limits, no_limits
from lagco.problems.max_cut.plan import episode_plan
from lagco.problems.max_cut.weights import cut_value, weighted_edges, weighted_graph
from lagco.results.numbers import of_things

HEAVIEST = 10


class MaxCut(Problem):
    """Move nodes from one side to the other.

    Instance: ``edges`` (2, E) and ``weights`` (E,), which may be negative; ``sides`` (n,) where the
    instance has a present state; ``forced`` (n,), the side that a node has to be on, -1 for any.
    View ``graph``: for every node its 10 edges of largest absolute weight; the cut counts all.
    Action: ``Discrete(n)``, the node to move; every node is valid.
    Observation: ``side`` (n,); with `full` features also ``gain`` (n,), what moving the node adds
    to the cut, as asinh(gain / unit), where the unit is the deviation of a node's gain under random
    sides; ``recent`` (n,), whether the node was moved lately; how far the cut is behind the best of
    the episode, the share of nodes whose move would improve it, and the share of steps left.
    Reward: change of cut / best. Score: cut / best. There is no "do nothing", so the best state of
    an episode matters beside the last one.
    Start: all nodes on side 0 (``current``: the instance's own sides), or sides given as an array.
    Change: a node on another side than in the present state.
    """

    name = "max-cut"
    present = SIDES
    limiting = (FORCED,)
    improves_within_limits = True
    events = WEIGHTED
    candidate_columns = EACH
    hints = ("plan",)
    maximise = True
    episode_coefficient = 2
    form = InstanceForm(
        arrays={
            "edges": ArrayForm("integer", (2, "edges"), low=0, below="size"),
            "weights": ArrayForm("number", ("edges",)),
            SIDES: ArrayForm("integer", ("size",), low=0, below=2, optional=True),
            **FORMS,
        },
        solution=ArrayForm("integer", ("size",), low=0, below=2),
    )

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """Weights on every pair: 10 to 100 nodes, largest weight 10 to 100."""
        return draw_weights(rng, size)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Largest of many randomised local searches; the worst is 0."""
        from lagco.problems.max_cut.sweeps import sweep_cuts

        return References(sweeps=sweep_cuts(instance, 2_000 if sweeps is None else sweeps, seed))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """Largest cut of a tabu search (best-known)."""
        from lagco.problems.max_cut.solver import solve_cut

        return References(solver=solve_cut(instance, seed, effort))

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """Tabu search over single flips."""
        from lagco.problems.max_cut.solver import improve_cut

        return improve_cut(instance, solution, seed, effort)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, edges of the view at most, and raw actions."""
        n, edges = instance.size, instance.array("edges").shape[1]
        return {"nodes": n, "edges": min(edges, n * HEAVIEST), "actions": n}

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Weight between the sides, given as 0 or 1 per node."""
        sides = _checked_sides(solution, instance)
        return cut_value(*weighted_edges(instance), sides)

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """Nodes that stay on their side, or (column ``value``) the side they have to be on."""
        names = [str(node) for node in range(1, instance.size + 1)]
        return limits_from(instance, table, names, {"0": 0, "1": 1})

    @classmethod
    def excess(cls, instance: Instance, elements: Array, values: Array) -> Array:
        """1 for nodes that are not on the side that they are forced to."""
        return excess(instance, elements, values)

    @classmethod
    def draw_events(
        cls, instance: Instance, rng: np.random.Generator, step: float = 60.0
    ) -> Iterator[tuple[float, Event]]:
        """Edges that come and go or, where they have weights, change: one every `step` seconds."""
        return draw_edge_events(instance, rng, step)

    def _load(self, instance: Instance) -> None:
        n = instance.size
        edges, weights = weighted_edges(instance)
        self._edges, self._weights = edges, weights
        neighbours = adjacency(n, edges)
        graph = self._graph = weighted_graph(neighbours, weights)
        self._side = np.zeros(n, dtype=np.int8)
        self._gain = np.zeros(n)
        self._scaled_gain = np.zeros(n, dtype=np.float32)
        self._degree = np.bincount(
            edges.reshape(-1), weights=np.abs(np.tile(weights, 2)), minlength=n
        )
        self._unit_gain = float(np.sqrt(np.square(graph.weights).sum() / n)) or 1.0
        self._memory = SearchMemory(n, round(BASE + SHARE * n + SPREAD / 2))
        kept = heaviest_edges(graph, neighbours.edge_ids, len(weights), HEAVIEST)
        full = self.features == "full"
        self._unit_weight = (float(np.abs(weights).max(initial=0.0)) or 1.0) if full else 1.0
        shown = (weights[kept] / self._unit_weight).astype(np.float32)
        binary = Attribute(type="binary")
        nodes: dict[str, Any] = {"side": self._side}
        self._node_attributes = {"side": binary}
        self._edge_attributes = {
            "weight": Attribute(low=-1.0, high=1.0, static=True)
            if full
            else Attribute(norm="min_max", static=True)
        }
        self._observation_type = graph_observation(self.features, "graph")
        self._action_type = {"node": Node()}
        if full:
            nodes |= {"gain": self._scaled_gain, "recent": self._memory.recent}
            self._node_attributes = {"side": binary, "gain": Attribute(), "recent": binary}
            self._observation_type = {
                **self._observation_type,
                "side 0": Graph(poolings=[Mean], spec={"side": 0}),
                "side 1": Graph(poolings=[Mean], spec={"side": 1}),
                "steps_left": Function(self.steps_left),
                "behind": Function(self._behind),
                "improving": Function(self._improving),
            }
            self._action_type = {"node": Node(attributes=["gain", "recent"])}
        self._view = GraphView(n, edges[:, kept], nodes=nodes, edge_attributes={"weight": shown})
        self.action_space = gym.spaces.Discrete(n)

    def pair_attributes(self) -> dict[str, Array]:
        """All weights, 0 where there is no edge: (n, n)."""
        n, (u, v) = self.instance.size, self._edges
        matrix = np.zeros((n, n))
        matrix[u, v] = matrix[v, u] = self._weights / self._unit_weight
        return {"weight": matrix}

    def get_graphs(self) -> dict[str, GraphView]:
        """The view ``graph``."""
        return {"graph": self._view}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        if isinstance(start, str):
            sides = None
            if named_start(start) == "current":
                sides = self.instance.arrays.get("sides")
            if sides is None:
                self._side[:] = decided(self.instance, None) == 1
            else:
                self._side[:] = _checked_sides(sides, self.instance)
        else:
            self._side[:] = _checked_sides(start, self.instance)
        self._cut = self._best_cut = cut_value(self._edges, self._weights, self._side)
        self._memory.begin()
        initial_gains(self._graph, self._side, self._gain)
        self._scaled_gain[:] = np.arcsinh(self._gain / self._unit_gain)

    def _apply(self, action: Any) -> None:
        node = int(action)
        graph = self._graph
        self._cut += flip_node(graph, node, self._side, self._gain)
        self._best_cut = max(self._best_cut, self._cut)
        changed = self._memory.change(node)
        view = self._view
        view.touch_node("side", node)
        if self.features == "full":
            scale_gains(graph, node, self._gain, self._unit_gain, self._scaled_gain)
            around = graph.neighbours[graph.first[node] : graph.first[node + 1]]
            view.touch_node("recent", np.array(changed, dtype=np.int64))
            view.touch_node("gain", around)
            view.touch_node("gain", node)

    def objective(self) -> float:
        """Weight between the sides."""
        return float(self._cut)

    def recompute_objective(self) -> float:
        """The same from the sides alone."""
        return cut_value(self._edges, self._weights, self._side)

    def _unit(self) -> float:
        return float(np.abs(self._weights).sum()) or 1.0  # the start is worth 0

    def solution(self) -> Array:
        """Side of every node, 0 or 1: (n,)."""
        return self._side.copy()

    def set_by(self, actions: Array) -> tuple[Array, Array]:
        """The node of each action, and the side that it moves to."""
        nodes = np.asarray(actions, dtype=np.int64).reshape(-1)
        return nodes, 1 - self._side[nodes]

    def has_valid_action(self) -> bool:
        """Always."""
        return True

    def is_valid_action(self, action: Any) -> bool:
        """The node exists."""
        return bool(0 <= action < len(self._side))

    def are_valid_actions(self, actions: Array) -> Array:
        """All of them: (k,)."""
        return np.ones(len(actions), dtype=bool)

    def action_mask(self) -> Array:
        """All of them: (n,)."""
        return np.ones(self.instance.size, dtype=bool)

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> int:
        """Any node, uniformly."""
        return int((rng or self.np_random).integers(self.instance.size))

    def preview(self, actions: Array) -> Array:
        """The cut after moving each node: (k,)."""
        return self._cut + self._gain[actions]

    def _behind(self, view: GraphView) -> float:
        """Distance of the cut to the best of the episode, scaled as gains are."""
        return float(np.arcsinh((self._best_cut - self._cut) / self._unit_gain))

    def _improving(self, view: GraphView) -> float:
        """Share of the nodes whose move improves the cut."""
        return float(np.count_nonzero(self._gain > TINY * self._unit_gain) / len(self._gain))

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Gains, chains of moves, times since the last move, the state of the search."""
        nodes = np.asarray(actions, dtype=np.int64).reshape(-1)
        each = EACH.records(len(nodes))
        left = 1.0 - self._steps / self.episode_length
        describe_nodes(nodes, self._state, self._degree, self._memory.ages(nodes), left, each)
        return CandidateFeatures(EACH.matrix(each))

    @property
    def _state(self) -> Cut:
        """The state as compiled code takes it."""
        known = self._graph, self._side, self._gain, self._unit_gain
        return Cut(*known, self._cut, self._best_cut)

    @property
    def usual_change(self) -> float:
        """Typical gain of a node."""
        return self._unit_gain

    def plan(self, number: int) -> tuple[Array, float]:
        """Sides that a short annealing finds, and their cut."""
        limits = cut_limits(self.instance) or no_limits(len(self._side))
        known = self.instance.checksum, self._graph, self._unit_gain, self._side
        return episode_plan(*known, limits, number)

    def demonstrate(self, solution: Array) -> Array:
        """The nodes that it has on the other side."""
        return np.flatnonzero(solution != self._side)

    def advise(self) -> Array:
        """Nodes that the plan of the episode has on the other side, those of most gain.

        Once it has nothing to offer: what a tabu search that looks ahead would move.
        """
        from lagco.problems.max_cut.teacher import advised_nodes

        planned = planned_actions(self)
        if len(planned):
            return planned
        ages = self._memory.ages(np.arange(self.instance.size))
        found: Array = advised_nodes(self._state, ages, self._memory.steps)
        return found

    def draw_on(self, axes: Any) -> None:
        """Nodes by side, edges of the view that are cut in colour."""
        from lagco.problems.max_cut.viewer import draw_cut

        draw_cut(axes, self._view, self._cut)


def _checked_sides(sides: Any, instance: Instance) -> Array:
    array = np.asarray(sides)
    if array.shape != (instance.size,) or not np.isin(array, (0, 1)).all():
        error = InstanceError if sides is instance.arrays.get("sides") else UsageError
        raise error(
            f"sides of {instance.name!r} must be {of_things(instance.size, 'values')} 0 or 1, got "
            f"shape {array.shape}"
        )
    return array.astype(np.int8)
