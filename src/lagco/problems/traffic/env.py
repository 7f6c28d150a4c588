"""Traffic engineering: move demands from path to path until no link is too full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numba import types

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.changes.moves import Moves
from lagco.core.env import LISTING_CAP
from lagco.core.events import Draft
from lagco.core.pooling import Concat
from lagco.core.rewards.references import configured_start
from lagco.core.spec import Attribute, Edge, Path
from lagco.instances import ArrayForm, Instance, InstanceForm, References
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.elements import demand_names, fullest_links
from lagco.problems.networks.events.changes import moved_paths
from lagco.problems.networks.network import ARRAYS, FAILED, PARAMS, failed_links
from lagco.problems.networks.problem import NetworkProblem
from lagco.problems.networks.views import COMMUNICATION, TRAFFIC
from lagco.problems.random_stream import random_stream
from lagco.problems.traffic.candidates import (
    EACH,
    Search,
    advised_paths,
    describe_paths,
    suggested_paths,
)
from lagco.problems.traffic.generator import draw_routed_network
from lagco.problems.traffic.kernels import DemandColumns, Routed, Walks, preview_paths
from lagco.problems.traffic.limits import FORBIDDEN, excess, limits_from
from lagco.problems.traffic.paths import count_paths, count_walks, list_paths
from lagco.problems.traffic.routing import (
    checked_paths,
    default_paths,
    limits_of,
    loads_of,
    longest_path,
    mended_paths,
    paths_network,
    utilisation_of,
)
from lagco.problems.traffic.searching.state import (
    load_all,
    look,
    scenario_utilisations,
    scenarios_of,
)
from lagco.problems.traffic.states import (
    draw_path,
    find_path,
    judge_paths,
    reroute,
    reroute_and_judge,
)
from lagco.runtime.bound_arguments import bind

if TYPE_CHECKING:
    from lagco.problems.traffic.sweeps import Options

#: walks drawn before valid paths are walked one by one: these, and a share of all walks, which
#: take about as long as that
_TRIES, _SHARE, _MOST_TRIES = 64, 1 / 4, 1_000_000
#: attributes of demands that another path of one of them may change
_TOUCHED = "utilisation", "share", "hops", "gain", "crowded", "recent"
#: cached properties, which another instance makes anew
_CACHED = "_listed", "num_actions", "_walks", "_drawing", "_options", "_option_demands"
#: listed paths that are looked at together
_CHUNK = 65_536
#: types of an action, of several, and of what is found out about these
_ROW, _ROWS = (types.Array(types.int64, dimensions, "C") for dimensions in (1, 2))
_MASK = types.Array(types.boolean, 1, "C")


class Traffic(NetworkProblem):
    """Give demands other paths, one at a time.

    Instance: as for `ospf`: ``edges`` (2, E), ``capacities`` (E,) the same in each direction,
    ``demands`` (2, D) from source to target, ``volumes`` (D,), ``params["nodes"]``; ``paths``
    (D, any) of node ids padded with n where it has a present state. A path is simple and has at
    most max(``params["max_path_len"]``, hop distance) hops (4 by default). The size is D.
    Views: ``comm_G``, the links, undirected; ``traffic_G``, the demands, directed.
    Action: ``MultiDiscrete([D, n + 1, … , n + 1])``, a demand and a path for it as node ids padded
    with n; T positions, one more than the most hops of any demand. It must differ from the present
    path, and no link on it may end above max(1, U now). Paths are never listed, unless by
    :meth:`all_actions`: all admissible ones, by demand and length.
    Observation: with `paper` features ``comm_G.utilisation`` and ``comm_G.load`` (E,), of the
    busier direction. With `full` features ``comm_G.utilisation`` and ``comm_G.return_utilisation``
    (E,), of the busier and the other direction over the largest of all; ``comm_G.peak`` (n,),
    utilisation of the node's busiest link over the largest, and ``comm_G.hot`` (n,), whether that
    is at least 0.9; per demand ``traffic_G.utilisation``, of the fullest link on its present path
    over the largest, ``traffic_G.share``, its share in the load there, ``traffic_G.hops``, the
    length of its path over the most it may have, ``traffic_G.gain``, by which share the 8-norm
    of all utilisations would fall on the demand's cheapest path, to first order,
    ``traffic_G.crowded``, whether it uses the fullest arc, and ``traffic_G.recent``, whether it was
    changed recently (D,).
    Objective: U, the largest utilisation of any link in any direction. Reward: decrease of U over
    (U_start - U_best). Score: (U_start - U) / (U_start - U_best). There is no "do nothing", so the
    best state of an episode matters beside the last one.
    Start: ``worst`` (the sweeps' worst paths), ``current`` (the instance's own), ``default`` (the
    fewest hops, to the lowest id where there are several), or paths given as an array; without the
    data for the first two, the default.
    """

    name = "traffic"
    present = "paths"
    size_axis = "demands"
    padding = MappingProxyType({"paths": "nodes"})
    limiting = (FORBIDDEN,)
    improves_within_limits = True
    candidate_columns = EACH
    episode_coefficient = 3
    form = InstanceForm(
        arrays=ARRAYS
        | {
            "paths": ArrayForm("integer", ("demands", None), low=0, optional=True),
            FORBIDDEN: ArrayForm("integer", ("links",), low=0, below=2, optional=True),
        },
        params={
            "required": ["nodes"],
            "properties": PARAMS
            | {
                "max_path_len": {"type": "integer", "minimum": 1, "maximum": 1000},
                "episode_coefficient": {"type": "integer", "minimum": 1, "maximum": 1000},
            },
        },
        solution=ArrayForm("integer", ("demands", None), low=0),
    )

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        size: int | None = None,
        episode_coefficient: int | None = None,
    ) -> Instance:
        """Networks of 10 to 25 nodes (`size` of them if given).

        Args:
            rng: source of everything random.
            size: number of nodes.
            episode_coefficient: steps of an episode per demand; the usual 3 without.
        """
        return draw_routed_network(rng, size, episode_coefficient)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Best and worst of a stochastic search over paths."""
        from lagco.problems.traffic.sweeps import sweep_paths

        return References(sweeps=sweep_paths(instance, 2_000 if sweeps is None else sweeps, seed))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """Best paths of a long annealing; optimal where they meet the flow bound."""
        from lagco.problems.traffic.solver import solve_paths

        return References(solver=solve_paths(instance, seed, effort))

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """The multi-commodity-flow bound."""
        from lagco.problems.traffic.solver import lower_bound

        return lower_bound(instance, seconds)

    @classmethod
    def relaxed(
        cls, instance: Instance, seconds: float | None = None
    ) -> tuple[float, Array] | None:
        """The bound where demands are split over their paths, and the largest part of each."""
        from lagco.problems.traffic.solver import relaxed_paths

        return relaxed_paths(instance, seconds)

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """A run of annealing over single demands."""
        from lagco.problems.traffic.solver import improve_paths

        return improve_paths(instance, solution, seed, effort)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, links, demands, positions of a path, and admissible actions."""
        network = paths_network(instance)
        limits = limits_of(instance, network)
        return {
            "nodes": network.num_nodes,
            "edges": network.num_links,
            "demands": network.num_demands,
            "positions": int(limits.max()) + 1,
            "actions": count_paths(network, limits),
        }

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Largest utilisation when the demands take the paths (D, any)."""
        network = paths_network(instance)
        limits = limits_of(instance, network)
        return utilisation_of(network, checked_paths(solution, instance, network, limits)[1])

    @classmethod
    def repair(cls, draft: Draft) -> None:
        """Give demands whose path is gone the fewest hops."""
        if "paths" in draft.arrays and moved_paths(draft):
            draft.arrays["paths"] = mended_paths(draft.finish())

    @property
    def episode_length(self) -> int:
        """Most steps an episode may take: 3 per demand, or as many as the instance says."""
        given = self.instance.params.get("episode_coefficient", self.episode_coefficient)
        return max(1, given * self.instance.size)

    def _load(self, instance: Instance) -> None:
        network = paths_network(instance)
        n, links, demands = network.num_nodes, network.num_links, network.num_demands
        self._clear_state(network, demands)
        self.hop_limits = limits_of(instance, network)  # (D,), most hops of each demand
        positions = int(self.hop_limits.max()) + 1
        self._paths = np.full((demands, positions), n, dtype=np.int64)
        self._used = np.full((demands, positions - 1), -1, dtype=np.int64)
        self._loads = np.zeros(2 * links)
        # demands with the paths they left, in turn
        self._history = np.full((demands, 1 + positions), -1, dtype=np.int64)
        self._routed = Routed(self._paths, self._used, self._loads)
        self._witness = 0  # a demand that had a valid path when we last looked
        self._stream = random_stream(0)
        self._scratch = np.empty(1 + positions, dtype=np.int64)
        for cached in _CACHED:
            self.__dict__.pop(cached, None)
        utilisation, share, hops, gain = (np.zeros(demands, dtype=np.float32) for _ in range(4))
        crowded = np.zeros(demands, dtype=np.int8)
        self._demand_columns = DemandColumns(utilisation, share, hops, crowded, gain)
        self._declare()
        self._bind()
        self.action_space = gym.spaces.MultiDiscrete([demands, *[n + 1] * positions])

    def _declare(self) -> None:
        columns: dict[str, Any] = {}
        attributes: dict[str, Attribute] = {}
        if self.features == "full":
            known = self._demand_columns
            shares = {
                "utilisation": known.utilisation,
                "share": known.share,
                "hops": known.hops,
                "gain": known.gain,
            }
            flags = {"crowded": known.crowded, "recent": self._memory.recent}
            columns = shares | flags
            attributes = dict.fromkeys(shares, Attribute(low=0.0, high=1.0))
            attributes |= dict.fromkeys(flags, Attribute(type="binary"))
        self._declare_views({}, {}, columns, attributes)
        pooled = tuple(self._edge_attributes[TRAFFIC]) if self.features == "full" else ()
        self._action_type = {
            "traffic_link": Edge(graph=TRAFFIC, pooling=Concat, attributes=pooled),
            "communication_path": Path(
                graph=COMMUNICATION,
                pooling=Concat,
                ends="traffic_link",
                max_len=longest_path(self.instance),  # or the hop distance, if that is more
            ),
        }

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        paths = configured_start(self.instance, start, "paths")
        if paths is None:
            paths = default_paths(self._network, self.hop_limits)
        self._paths[:], self._used[:] = checked_paths(
            paths, self.instance, self._network, self.hop_limits
        )
        self._begin_search()
        self._begin_routing()

    def _carry_on(self) -> None:
        self._paths[:], self._used[:] = checked_paths(
            self.instance.array("paths"), self.instance, self._network, self.hop_limits
        )
        self._begin_routing()

    def _begin_routing(self) -> None:
        self._witness = 0
        self._reroute(self._scratch, -1)

    def _apply(self, action: Any) -> None:
        row = np.ascontiguousarray(action, dtype=np.int64)
        self._level_before = self._level_now
        demand = int(row[0])
        place = self._memory.steps % len(self._history)
        self._memory.change(demand)
        self._reroute(row, place)
        self._touch_links()
        if self.features == "full":
            self._traffic.touch(edges=_TOUCHED)

    def _bind(self) -> None:
        """Gather the arguments of what is computed after a change, and to find the next one."""
        known = self._network, self.hop_limits, self._routed
        call: Any = reroute
        columns: tuple[Any, ...] = self._load_column, self._link_columns.utilisation
        if self.features == "full":
            call, columns = reroute_and_judge, (self._link_columns, self._demand_columns)
        self._routing = bind(call, (*known, self._history, columns), _ROW, types.int64)
        self._judging = bind(judge_paths, known, _ROWS, types.float64, _MASK)
        ways = *known, self._stream, self._scratch[1:]
        self._finding = bind(find_path, ways, types.float64, types.int64)

    def _reroute(self, row: Array, place: int) -> None:
        """Put a demand on a path, the one before to a place of the history, and measure all."""
        measures, self._level_now = self._routing(row, place)
        self._measured(*measures)

    def recompute_objective(self) -> float:
        """The same from the paths alone."""
        return self.evaluate_solution(self.instance, self._paths)

    def solution(self) -> Array:
        """Path of every demand as node ids padded with n: (D, T)."""
        return self._paths.copy()

    @classmethod
    def elements(cls, instance: Instance, solution: Array) -> Array:
        """Path of every demand, padded alike: (D, T)."""
        network = paths_network(instance)
        return checked_paths(solution, instance, network, limits_of(instance, network))[0]

    def present_elements(self) -> Array:
        """The paths at hand: (D, T)."""
        return self._paths

    @classmethod
    def element_names(cls, instance: Instance) -> list[str]:
        """Demands by the names of their ends."""
        return demand_names(instance)

    @classmethod
    def value_text(cls, instance: Instance, element: int, value: Any) -> str:
        """The nodes of a path."""
        names = node_names(instance)
        return "-".join(names[v] for v in np.asarray(value).tolist() if v < len(names))

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """Demands that keep their path, links to avoid: the columns ``demand`` and ``link``."""
        return limits_from(instance, table)

    @classmethod
    def moves(cls) -> Moves:
        """Other paths for the demands on the fullest arcs."""
        from lagco.problems.traffic.moves import PathMoves

        return PathMoves()

    @classmethod
    def excess(cls, instance: Instance, elements: Array, values: Array) -> Array:
        """How often each path takes a forbidden link."""
        return excess(instance, values)

    @classmethod
    def in_scenario(cls, case: Instance, solution: Array) -> Array:
        """Demands whose path is gone take the fewest hops."""
        if failed_links(case) is None:
            return solution
        return mended_paths(replace(case, arrays={**case.arrays, "paths": solution}))

    @classmethod
    def scenario_values(cls, instance: Instance, solution: Array) -> Array:
        """Largest utilisation in every scenario, from scratch: (S,)."""
        network = paths_network(instance)
        _, used = checked_paths(solution, instance, network, limits_of(instance, network))
        return scenario_utilisations(instance, used)

    def state_values(self) -> Array:
        """The same of the present state: (S,)."""
        return scenario_utilisations(self.instance, self._used)

    def scenario_preview(self, actions: Array) -> Array:
        """Joint utilisation after each change of path: (k,)."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        demands, arcs = rows[:, 0].copy(), self._arcs_of(rows)
        scenarios, out = scenarios_of(self.instance), np.empty((2, len(rows)))
        loads = np.empty(scenarios.failed.shape)
        load_all(scenarios, self._used, loads)
        look(scenarios, self._used, loads, demands, arcs, out)
        return out[1]

    def _arcs_of(self, rows: Array) -> Array:
        """Arcs on the paths of actions (k, 1 + T), padded with -1: (k, T - 1)."""
        begins, ends = rows[:, 1:-1], rows[:, 2:]
        there = ends < self._network.num_nodes
        found = self._network.arc_of[begins * there, ends * there].astype(np.int64)
        return np.where(there, found, -1)

    @classmethod
    def shown_scenario(cls, case: Instance) -> Instance:
        """Without failures, under which the paths would not be admissible."""
        kept = {name: array for name, array in case.arrays.items() if name != FAILED}
        return replace(case, arrays=kept)

    @classmethod
    def restored(cls, instance: Instance, solution: Array, element: int) -> Array | None:
        """A solution with the present path of one demand."""
        present = instance.arrays.get("paths")
        if present is None:
            return None
        found = cls.elements(instance, solution).copy()
        found[element] = cls.elements(instance, present)[element]
        return found

    @classmethod
    def fullest(cls, instance: Instance, solution: Array, most: int = 5) -> list[tuple[str, float]]:
        """The fullest links, each direction by itself."""
        network = paths_network(instance)
        _, used = checked_paths(solution, instance, network, limits_of(instance, network))
        return fullest_links(instance, network, loads_of(network, used) / network.capacities, most)

    def set_by(self, actions: Array) -> tuple[Array, Array]:
        """The demand of each action, and its path."""
        rows = np.asarray(actions, dtype=np.int64).reshape(-1, len(self._scratch))
        return rows[:, 0], rows[:, 1:]

    @property
    def loads(self) -> Array:
        """Load of each link from its first to its second end, and back: (E, 2)."""
        return self._loads.reshape(-1, 2).copy()

    @cached_property
    def num_actions(self) -> int:
        """Number of admissible pairs of demand and path; counted by walking them, once."""
        return count_paths(self._network, self.hop_limits)

    @cached_property
    def _listed(self) -> Array:
        return list_paths(self._network, self.hop_limits, cap=LISTING_CAP)[0]

    def all_actions(self) -> Array:
        """Every demand with every admissible path, by demand and length: (N, 1 + T)."""
        return self._listed.copy()

    def valid_actions(self) -> Array:
        """Every valid demand with its path: (k, 1 + T)."""
        return np.concatenate([*self.valid_chunks()])

    def valid_chunks(self) -> Iterator[Array]:
        """The same in parts, so that the list of all paths is never copied."""
        for start in range(0, max(1, len(self._listed)), _CHUNK):
            rows = self._listed[start : start + _CHUNK]
            yield rows[self.are_valid_actions(rows)]

    @cached_property
    def _walks(self) -> Walks:
        network, limits = self._network, self.hop_limits
        counts = count_walks(network, int(limits.max()))
        totals = np.cumsum(counts[limits, network.targets, network.sources])
        return Walks(counts, totals, _TRIES + int(min(_SHARE * totals[-1], _MOST_TRIES)))

    @cached_property
    def _drawing(self) -> Any:
        """`draw_path` with all that stays."""
        known = self._network, self.hop_limits, self._routed, self._walks
        return bind(draw_path, known, types.float64, types.Array(types.uint64, 1, "C"), _ROW)

    def has_valid_action(self) -> bool:
        """Some demand has another path; looks first where there was one before."""
        found = self._finding(self._largest, self._witness)
        self._witness = max(int(found), 0)
        return bool(found >= 0)

    def is_valid_action(self, action: Any) -> bool:
        """The path is admissible for the demand, new, and fills no link above max(1, U)."""
        row = np.asarray(action, dtype=np.int64)
        return bool(self.are_valid_actions(row.reshape(1, -1))[0])

    def are_valid_actions(self, actions: Array) -> Array:
        """The same for many: (k,)."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        valid = np.zeros(len(rows), dtype=np.bool_)
        if rows.ndim == 2:  # bound functions do not check that
            self._judging(rows, self._largest, valid)
        return valid

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Array | None:
        """Uniform over the valid pairs of demand and path; None if there is none."""
        source = rng or self.np_random
        stream = source.integers(1 << 63, size=1, dtype=np.int64).view(np.uint64)
        action = np.empty(len(self._scratch), dtype=np.int64)
        found = self._drawing(self._largest, stream, action)
        return action if found >= 0 else None

    def preview(self, actions: Array) -> Array:
        """Minus the largest utilisation after each change of path: (k,)."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        return -preview_paths(rows, self._network, self.hop_limits, self._used, self._loads)

    @cached_property
    def _options(self) -> Options:
        """The paths that the search chooses among."""
        from lagco.problems.traffic.sweeps import path_options

        return path_options(self._network, self.hop_limits)

    @cached_property
    def _option_demands(self) -> Array:
        return np.ascontiguousarray(self._options.rows[:, 0])

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Effects of each path, alone and with the best reply, and the past."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        each = EACH.records(len(rows))
        left = 1.0 - self._steps / self.episode_length
        past, history = self._past(rows[:, 0]), self._history
        describe_paths(rows, self._search, self.hop_limits, past, history, self._least, left, each)
        return CandidateFeatures(EACH.matrix(each))

    @property
    def _search(self) -> Search:
        """Arguments of the compiled code that judges changes."""
        options, recent = self._options, self._memory.recent
        routed = options.first, options.arcs, self._used, self._loads
        return Search(self._network, *routed, recent, self._least_norm)

    def suggested_actions(self) -> Array:
        """A few paths that relieve the fullest arc, those with the lowest 8-norm: (k, 1 + T).

        In large networks they are seldom among the nearest of all paths to a proto-action.
        """
        return self._options.rows[suggested_paths(self._search)]

    def advise(self) -> Array:
        """The changes that a tabu search on the 8-norm would make: (k, 1 + T).

        The most promising ones are judged together with the best change of another demand on the
        arc that is then the fullest.
        """
        ages = self._memory.ages(np.arange(len(self._used)))
        return self._options.rows[advised_paths(self._option_demands, self._search, ages)]

    def draw_on(self, axes: Any) -> None:
        """The network, links by utilisation, and the largest demand on the fullest link."""
        from lagco.problems.traffic.viewer import draw_paths

        draw_paths(axes, self.instance, self._network, self._loads, self._paths, self._used)
