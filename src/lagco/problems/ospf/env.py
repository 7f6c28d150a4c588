"""OSPF weight engineering: shift link weights until no link is too full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numba import types

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.changes.moves import Moves
from lagco.core.pooling import Concat
from lagco.core.rewards.references import configured_start
from lagco.core.spec import Attribute, Edge, Object
from lagco.heuristics.known_plans import Goal
from lagco.instances import ArrayForm, Instance, InstanceForm, References
from lagco.problems.networks.elements import fullest_links, link_names
from lagco.problems.networks.network import ARRAYS, PARAMS, network_of
from lagco.problems.networks.problem import LINKS, PLAIN_LINKS, NetworkProblem
from lagco.problems.networks.views import COMMUNICATION
from lagco.problems.ospf.candidates import EACH, Memory, advised_changes, describe_changes
from lagco.problems.ospf.foresight import AHEAD, COLUMNS
from lagco.problems.ospf.generator import draw_weighted_network
from lagco.problems.ospf.kernels import preview_changes, valid_changes
from lagco.problems.ospf.limits import excess, limits_from
from lagco.problems.ospf.plan import PLANS, SUGGESTED, episode_plan
from lagco.problems.ospf.routing.shortest_paths import LARGEST, empty_routes
from lagco.problems.ospf.routing.states import reroute, reroute_and_foresee
from lagco.problems.ospf.routing.weights import (
    HIGHEST,
    LOWEST,
    checked_weights,
    routes_of,
    setting_of,
    utilisation_of,
    with_weights,
)
from lagco.problems.ospf.searching.tracking import Tracker, scenario_utilisations
from lagco.runtime.bound_arguments import bind

DELTAS = (-1, 0, 1)
#: by change, the column of `ahead` that says whether a compound move is under way
_BEGUN = {1: COLUMNS - 1, -1: 2 * COLUMNS - 1}
#: attributes of nodes and of links that a change of a weight may change, per feature set
_TOUCHED = LINKS[0], (*LINKS[1], "weight", "room", "recent", "shares", "ahead")
_PLAIN_TOUCHED = PLAIN_LINKS[0], (*PLAIN_LINKS[1], "weight")
#: the weight that a link has to have had, so that no shortest path is looked for anew
_NOTHING = -2
#: less than this share of what was there is a change
_SAME = 1.0 - 1e-9


class OSPF(NetworkProblem):
    """Change link weights one by one; traffic follows the shortest paths.

    Instance: ``edges`` (2, E), ``capacities`` (E,) the same in each direction, ``demands`` (2, D)
    from source to target, ``volumes`` (D,), ``params["nodes"]``; ``weights`` (E,) where it has a
    present state. With ``params["directed"]`` every link leads from its first end to its second, so
    both directions are links of their own. ``failed`` (E,) flags of links that carry nothing now;
    demands that they cut off do not count. ``params["ecmp"]``: split evenly over all next hops on
    shortest paths (default), or follow the one with the lowest id. Weights are whole numbers from
    ``params["min_weight"]`` to ``params["max_weight"]`` (1 and 5), or within ``lowest_weights``
    and ``highest_weights`` (E,). The size is E.
    Views: ``comm_G``, the links, undirected; ``traffic_G``, the demands, directed.
    Action: ``MultiDiscrete([E, 3])``, a link and the change -1, 0 or +1 (as 0, 1, 2) of its weight,
    times ``params["weight_step"]`` (1), which must stay within its bounds.
    Observation: with `paper` features ``comm_G.utilisation``, ``comm_G.load`` (of the busier
    direction) and ``comm_G.weight`` (E,). With `full` features ``comm_G.utilisation`` and
    ``comm_G.return_utilisation`` (E,), of the busier and the other direction over the largest of
    all; ``comm_G.weight`` and ``comm_G.room`` (E,), distance to the smallest and to the largest
    weight over their difference; ``comm_G.shares`` (E, 3), the shares of the three largest demands
    in the load of the busier direction; ``comm_G.peak`` (n,), utilisation of the node's busiest
    link over the largest, and ``comm_G.hot`` (n,), whether that is at least 0.9;
    ``comm_G.recent`` (E,), whether the link was changed recently. The view also carries ``ahead``
    (E, 3, 14), what changes of a weight will bring, to first order, and in the columns 6 and 13
    whether the last change was the same (1 where it brought nothing, else 0.5).
    Objective: U, the largest utilisation of any link in any direction. Reward: decrease of U over
    (U_start - U_best). Score: (U_start - U) / (U_start - U_best).
    Start: ``worst`` (the sweeps' worst weights), ``current`` (the instance's own), ``default``
    (all at the smallest weight), or weights given as an array; without the data for the first two,
    the default.
    """

    name = "ospf"
    present = "weights"
    size_axis = "links"
    limiting = (LOWEST, HIGHEST)
    improves_within_limits = True
    candidate_columns = EACH
    episode_coefficient = 2
    form = InstanceForm(
        arrays=ARRAYS
        | {
            "weights": ArrayForm("number", ("links",), optional=True),
            LOWEST: ArrayForm("integer", ("links",), low=1, optional=True),
            HIGHEST: ArrayForm("integer", ("links",), low=1, optional=True),
        },
        params={
            "required": ["nodes"],
            "properties": PARAMS
            | {
                "ecmp": {"type": "boolean"},
                "min_weight": {"type": "integer", "minimum": 1},
                "max_weight": {"type": "integer", "minimum": 1, "maximum": 65535},
                "weight_step": {"type": "integer", "minimum": 1, "maximum": 65535},
            },
        },
        solution=ArrayForm("number", ("links",)),
    )

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """Networks of 10 to 30 nodes (`size` of them if given), routed with ECMP."""
        return draw_weighted_network(rng, size)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Best and worst of a stochastic search over weights."""
        from lagco.problems.ospf.sweeps import sweep_weights

        return References(sweeps=sweep_weights(instance, 2_000 if sweeps is None else sweeps, seed))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """Best weights of a long annealing; optimal where they meet the flow bound."""
        from lagco.problems.ospf.solver import solve_weights

        return References(solver=solve_weights(instance, seed, effort))

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """The multi-commodity-flow bound."""
        from lagco.problems.ospf.solver import lower_bound

        return lower_bound(instance, seconds)

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """A run of annealing over single links."""
        from lagco.problems.ospf.solver import improve_weights

        return improve_weights(instance, solution, seed, effort)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, links, demands and raw actions."""
        links = instance.array("edges").shape[1]
        return {
            "nodes": int(instance.params["nodes"]),
            "edges": links,
            "demands": instance.array("demands").shape[1],
            "actions": len(DELTAS) * links,
        }

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Largest utilisation under the weights (E,)."""
        network = network_of(instance)
        weights = checked_weights(solution, instance, network.num_links)
        return utilisation_of(instance, network, weights)

    def _load(self, instance: Instance) -> None:
        network = network_of(instance)
        links = network.num_links
        self._clear_state(network, links)
        self._setting = setting_of(instance, network)
        self._low, self._high = self._setting.low, self._setting.high
        self._grouping = np.lexsort((network.sources, network.targets))  # as in `grouped_demands`
        self._weights = np.full(links, self._low, dtype=np.int64)
        self._routes = empty_routes(network)
        self._state = self._setting, self._weights, self._routes  # as compiled code takes it
        self._directions = np.zeros(links, dtype=np.int64)  # of the last change of each link
        self._last: tuple[int, int, bool] = (-1, 0, False)  # link, change, whether it was idle
        self._start_weights = self._weights.copy()
        self._plan: tuple[Array, float] | None = None  # weights and their utilisation, once asked
        self._weight = np.zeros(links, dtype=np.float32)
        self._room = np.zeros(links, dtype=np.float32)
        self._shares = np.zeros((links, LARGEST), dtype=np.float32)
        self._ahead = np.zeros((links, len(DELTAS), AHEAD), dtype=np.float32)
        self._tracker: Tracker | None = None  # of all scenarios, once asked
        self._declare()
        self._bind()
        self.action_space = gym.spaces.MultiDiscrete([links, len(DELTAS)])

    def _declare(self) -> None:
        full = self.features == "full"
        columns: dict[str, Any] = {"weight": self._weight}
        attributes = {"weight": Attribute(norm="min_max", low=0.0)}
        if full:
            columns |= {
                "room": self._room,
                "shares": self._shares,
                "recent": self._memory.recent,
                "deltas": np.tile(np.arange(len(DELTAS)), (self._network.num_links, 1)),
                "ahead": self._ahead,
            }
            share = Attribute(low=0.0, high=1.0)
            shares = Attribute(size=LARGEST, low=0.0, high=1.0)
            attributes = {"weight": share, "room": share, "shares": shares}
            attributes["recent"] = Attribute(type="binary")
        self._declare_views(columns, attributes)
        link = Edge(graph=COMMUNICATION, pooling=Concat)
        delta = Object(extractor="onehot", choices=DELTAS)
        if full:
            known = tuple(self._edge_attributes[COMMUNICATION])
            link = Edge(graph=COMMUNICATION, pooling=Concat, attributes=known)
            delta = Object(reference="link", key="deltas", extractor="onehot", attributes=["ahead"])
        self._action_type = {"link": link, "delta": delta}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        weights = configured_start(self.instance, start, "weights")
        if weights is None:
            self._weights[:] = self._low
        else:
            self._weights[:] = checked_weights(weights, self.instance, len(self._weights))
        self._begin_search()
        self._begin_routing(-1, 0)

    def _carry_on(self) -> None:
        grouped = self._setting.demands.volumes
        grouped[:] = self.instance.array("volumes")[self._grouping]
        weights = self.instance.array("weights")
        if np.array_equal(weights, self._weights):
            self._begin_routing(0, _NOTHING)
            return
        self._weights[:] = checked_weights(weights, self.instance, len(self._weights))
        self._begin_routing(-1, 0)

    def _begin_routing(self, link: int, old: int) -> None:
        """Begin an episode, as after a change of a link: see `_reroute`."""
        self._directions[:] = 0
        self._last = -1, 0, False
        self._plan = None
        self._start_weights[:] = self._weights
        self._ahead[:] = 0.0
        self._reroute(link, old)

    def _apply(self, action: Any) -> None:
        link, change = int(action[0]), DELTAS[action[1]]
        self._level_before = self._level_now
        if change == 0:
            return
        weights = self._weights
        old = int(weights[link])
        weights[link] = min(max(old + change * self._setting.step, self._low), self._high)
        largest, norm = self._largest, self._norm
        self._directions[link] = change
        self._reroute(link, old)
        idle = self._largest >= largest * _SAME and self._norm >= norm * _SAME
        before, self._last = self._last, (link, change, idle)
        self._memory.change(link)
        if self.features == "full":
            if before[1] != 0:
                self._ahead[before[0], before[1] + 1, _BEGUN[before[1]]] = 0.0
            self._ahead[link, change + 1, _BEGUN[change]] = 1.0 if idle else 0.5
            self._communication.touch(*_TOUCHED)
        else:
            self._communication.touch(*_PLAIN_TOUCHED)

    def _bind(self) -> None:
        """Gather the arguments of what is computed after a change."""
        call: Any = reroute
        columns: tuple[Any, ...] = (
            (self._load_column, self._link_columns.utilisation, self._weight),
        )
        if self.features == "full":
            call = reroute_and_foresee
            columns = self._link_columns, (self._weight, self._room, self._shares, self._ahead)
        self._routing = bind(call, (*self._state, *columns), types.int64, types.int64)

    def _reroute(self, link: int, old: int) -> None:
        """Loads and link states after `link` had the weight `old` (-1: after any change)."""
        measures, self._level_now = self._routing(link, old)
        self._measured(*measures)

    def recompute_objective(self) -> float:
        """The same from the weights alone."""
        return utilisation_of(self.instance, self._network, self._weights)

    def solution(self) -> Array:
        """Weight of every link: (E,)."""
        return self._weights.copy()

    @property
    def loads(self) -> Array:
        """Load of each link from its first to its second end, and back: (E, 2)."""
        return self._routes.loads.reshape(-1, 2).copy()

    def present_elements(self) -> Array:
        """The weights at hand: (E,)."""
        return self._weights

    @classmethod
    def element_names(cls, instance: Instance) -> list[str]:
        """Links by the names of their ends."""
        return link_names(instance)

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """Links that keep their weight, or ranges: the columns ``link``, ``min`` and ``max``."""
        return limits_from(instance, table)

    @classmethod
    def moves(cls) -> Moves:
        """Every weight that a link may get, or of a wide range those that move most traffic."""
        from lagco.problems.ospf.searching.moves import WeightMoves

        return WeightMoves()

    @classmethod
    def excess(cls, instance: Instance, elements: Array, values: Array) -> Array:
        """Distance of weights from the ranges of their links."""
        return excess(instance, elements, values)

    @classmethod
    def with_present(cls, instance: Instance, solution: Array) -> Instance:
        """Weights that are not of the usual range make the range of all as wide as routers do."""
        return with_weights(instance, solution)

    @classmethod
    def fullest(cls, instance: Instance, solution: Array, most: int = 5) -> list[tuple[str, float]]:
        """The fullest links, each direction by itself."""
        network = network_of(instance)
        weights = checked_weights(solution, instance, network.num_links)
        use = routes_of(instance, network, weights).loads / network.capacities
        return fullest_links(instance, network, use, most)

    def set_by(self, actions: Array) -> tuple[Array, Array]:
        """The link of each action, and its weight after it."""
        rows = np.asarray(actions, dtype=np.int64).reshape(-1, 2)
        after = self._weights[rows[:, 0]] + (rows[:, 1] - 1) * self._setting.step
        return rows[:, 0], np.clip(after, self._low, self._high)

    def has_valid_action(self) -> bool:
        """Always: a weight may stay."""
        return True

    def is_valid_action(self, action: Any) -> bool:
        """The link exists and its weight stays within its bounds."""
        link, delta = int(action[0]), int(action[1])
        if not (0 <= link < len(self._weights) and 0 <= delta < 3):
            return False
        weight = self._weights.item(link)
        return delta == 1 or (weight > self._low if delta == 0 else weight < self._high)

    def are_valid_actions(self, actions: Array) -> Array:
        """Weights that stay within their bounds: (k,)."""
        rows = np.asarray(actions, dtype=np.int64)
        valid = np.empty(len(rows), dtype=np.bool_)
        valid_changes(rows, self._weights, self._setting, valid)
        return valid

    def action_mask(self) -> Array:
        """The same for every link and change: (3 E,)."""
        mask = np.ones((len(self._weights), len(DELTAS)), dtype=bool)
        mask[:, 0] = self._weights > self._low
        mask[:, 2] = self._weights < self._high
        return mask.reshape(-1)

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Array:
        """Uniform over the valid ones; at least a third of all are."""
        source = rng or self.np_random
        while True:
            action = np.array(divmod(int(source.integers(len(DELTAS) * len(self._weights))), 3))
            if self.is_valid_action(action):
                return action

    def preview(self, actions: Array) -> Array:
        """Minus the largest utilisation after each change: (k,)."""
        return -preview_changes(np.asarray(actions, dtype=np.int64), *self._state)

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Effects of each change and of the best weight in its direction, the past, the plan."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        each = EACH.records(len(rows))
        plan, left = self._planned(), self.episode_length - self._steps
        promised = self._plan[1] if self._plan else np.inf
        goal = Goal(plan, promised, left, left / self.episode_length)
        describe_changes(rows, *self._state, self._remembered(rows[:, 0]), goal, each)
        return CandidateFeatures(EACH.matrix(each))

    def _remembered(self, links: Array) -> Memory:
        """Changes so far, for compiled code."""
        recent, reached = self._memory.recent, (self._least_norm, self._least)
        return Memory(self._past(links), recent, self._directions, self._last, *reached)

    def advise(self) -> Array:
        """The changes that a tabu search on the 8-norm would make: (k, 2).

        Before that, all changes that lead to the plan of the episode, while it is lower than what
        was reached and the steps left suffice.

        All weights of every link are evaluated. The value of a change is the gain of the best
        weight in its direction, over the root of the number of changes to get there.
        """
        planned = self._to_plan()
        if len(planned):
            return planned
        memory = self._remembered(np.arange(len(self._weights)))
        found: Array = advised_changes(*self._state, memory)
        return found

    def suggested_actions(self) -> Array:
        """A few changes that lead to the plan of the episode, of the links furthest from it."""
        return self._to_plan()[:SUGGESTED]

    def _to_plan(self) -> Array:
        """The changes (k, 2) that lead to the plan, of the links furthest from it first."""
        away = self._planned() - self._weights
        links = np.argsort(-np.abs(away), kind="stable")[: np.count_nonzero(away)]
        return np.stack([links, np.sign(away[links]) + 1], axis=1)

    def _planned(self) -> Array:
        """Weights (E,) to go to: the plan's, or the present ones once it has nothing to offer."""
        if not self.shows_plans:
            return self._weights
        if self._plan is None:
            # a stream of its own, so that episodes are the same whether a plan is asked for or not
            number = int(self.np_random.spawn(1)[0].integers(PLANS))
            self._plan = episode_plan(self.instance, self._start_weights, number)
        plan, promised = self._plan
        away = int(np.abs(plan - self._weights).sum()) // self._setting.step
        offers = promised < self._least * _SAME and away <= self.episode_length - self._steps
        return plan if offers else self._weights

    @classmethod
    def scenario_values(cls, instance: Instance, solution: Array) -> Array:
        """Largest utilisation in every scenario, all routes from scratch: (S,)."""
        links = instance.array("edges").shape[1]
        return scenario_utilisations(instance, checked_weights(solution, instance, links))

    def state_values(self) -> Array:
        """The same, brought up to date: (S,)."""
        return self._tracked().values(self._weights)

    def scenario_preview(self, actions: Array) -> Array:
        """Joint utilisation after each change: (k,)."""
        return self._tracked().after(self._weights, *self.set_by(actions))

    def _tracked(self) -> Tracker:
        if self._tracker is None:
            self._tracker = Tracker(self.instance)
        return self._tracker

    def draw_on(self, axes: Any) -> None:
        """The network, links by utilisation, with their weights."""
        from lagco.problems.networks.viewer import draw_network, shows_weights

        utilisation = (self._routes.loads / self._network.capacities).reshape(-1, 2).max(axis=1)
        draw_network(axes, self.instance, self._network, utilisation, weights=self._weights)
        shown = "weights on the links, " if shows_weights(self._network) else ""
        axes.set_title(f"{shown}largest utilisation {self._largest:.1%}", fontsize=8)
