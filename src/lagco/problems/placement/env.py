"""Placement of virtual machines: move them between physical machines, weighing five aims."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numba import types

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.env import LISTING_CAP
from lagco.core.graph import GraphView
from lagco.core.memory import SearchMemory
from lagco.core.rewards.references import configured_start
from lagco.core.spec import Attribute, Function
from lagco.errors import InstanceError, UsageError
from lagco.heuristics.known_plans import Goal
from lagco.instances import Instance
from lagco.problems.features import graph_observation
from lagco.problems.placement.cloud import (
    MEMORY,
    TOGETHER,
    checked_allocation,
    cloud_of,
    links_of,
    pairs_of,
)
from lagco.problems.placement.declarations import (
    POOLINGS,
    action_type,
    edge_attributes,
    node_attributes,
)
from lagco.problems.placement.events.changes import REJECTED
from lagco.problems.placement.foresight.lookahead import (
    EACH,
    SURVEYED,
    Progress,
    Situation,
    describe_moves,
    follow_moves,
)
from lagco.problems.placement.foresight.survey import Survey
from lagco.problems.placement.kernels import (
    find_move,
    mean_after,
    move_mask,
    nth_move,
    present_mean,
    preview_moves,
    step_vm,
    valid_moves,
    write_all,
)
from lagco.problems.placement.latency import MATRIX_LIMIT, Latencies
from lagco.problems.placement.problem import PlacementProblem
from lagco.problems.placement.references.first_fit import first_fit
from lagco.problems.placement.references.within_limits import rules_of
from lagco.problems.placement.state import allocate, empty_state, fits, terms_of
from lagco.problems.placement.terms import (
    COUNT,
    TERMS,
    bounds_of,
    normalised_terms,
    worth_of_units,
)
from lagco.problems.placement.view_columns import edges_of_cloud, fixed_nodes
from lagco.runtime.bound_arguments import bind

MIGRATION_COST = 0.01
_DRAWS = 32
_ROUNDING = 1e-6
#: share of the steps of an episode for which a VM counts as moved recently
_TENURE = 0.1
#: moves that the search evaluates exactly
_CLOSER = 32
#: moves to the plan that are always among a ranker's candidates
_SUGGESTED = 8


class Placement(PlacementProblem):
    """Move VMs from PM to PM, one at a time.

    Instance: ``vm_demands`` (V, 4) and ``pm_capacities`` (P, 4) of PE, MIPS, memory and storage;
    ``tenants`` (V,); ``traffic_pairs`` (2, M) and ``traffic`` (M,) between VMs; ``latency_links``
    (2, L) and ``latencies`` (L,) between PMs, other latencies are shortest paths; ``pm_idle`` and
    ``pm_peak`` (P,) power; ``vm_vulnerability`` (V,) and ``pm_escape`` (P,) probabilities;
    ``allocation`` (V,) where it has a present state. The size is V.
    View ``graph``: the VMs, then the PMs as nodes (``is_pm``); edges of three kinds (``kind``): 0
    VM to its host (the first V, their second ends move), 1 traffic of VMs, 2 links of PMs.
    Action: ``MultiDiscrete([V, P])``, a VM and a PM that is not its host and has room in all four
    resources.
    Observation: ``allocation`` (V,) and, over all n = V + P nodes, ``power`` (n,) and with `paper`
    features ``utilisation`` (n, 4), used fractions of the PMs (the view also has ``demand`` and
    ``capacity`` (n, 4), which stay). With `full` features ``free``
    (n, 4), free fractions of the PMs; ``power`` over the largest peak; ``empty`` and
    ``overloaded`` (n,), PMs without a VM and with a resource used to 90 %; ``vms`` (n,), log1p of
    the VMs on a PM; ``strangers`` (n,), log1p of the VMs of other tenants on a VM's host;
    ``network`` (n,), a VM's mean latency to its peers by volume, over the mean link latency;
    ``stakes`` (n, 5): the VM's part in its host's used fraction, then by how much V J would rise in
    energy, packing, network and security if it were gone; for a PM its used fraction and by how
    much V J would fall in energy (with one PE more), packing and, per unit of vulnerability,
    security if a VM came; ``recent`` (n,), VMs that moved within the last tenth of V steps;
    ``prospect`` (n,), asinh of the most that V J gains by a move of the VM or to the PM, a bonus
    for PMs that will be empty soon included (recent VMs count if they lead to a new best state;
    0 in clouds of more than 65536 pairs of VM and PM or 1024 PMs); ``planned`` (n,), the PM of the
    best move that leads to the plan of the episode and the VMs that may go there now, while the
    plan is better than the best state so far (none in such clouds). The plan is what a short
    annealing finds from the start, one of 16 by the seed; none once events happened.
    Objective: J, the mean of five terms, each between its bounds (of the sweeps' first pass; plain
    ones without references), 1 at the better end, 1 if it never varies: utilisation (mean over
    active PMs of the used fraction of the four resources, up), energy (over active PMs idle +
    (peak - idle) x PE use, down), packing (active PMs, down), network (traffic x latency summed
    over pairs, averaged over tenants, down), security (over VMs vulnerability x escape of the host
    x VMs of other tenants there, down).
    Reward: change of J over (J_best - J_start), and the term ``migration``: minus 0.01 x share of
    all memory that moved. Score: (J - J_start) / (J_best - J_start). There is no "do nothing", so
    the best state of an episode matters beside the last one.
    Limits: ``drained`` (P,) PMs to be emptied, ``headroom`` (4,) shares that stay free, ``apart``
    and ``together`` (2, k) pairs of VMs; a VM that is to be together with others goes where one of
    them is, or first where all have room. ``aims`` (6,) weights of the five terms and of a sixth,
    fragments: the share of the free PE in pieces smaller than 16 per PM (down).
    Start: ``worst`` (the sweeps' worst allocation), ``current`` (the instance's own), ``default``
    (first fit), or an allocation given as an array; without the data for the first two, the
    default.
    """

    candidate_columns = EACH

    def _load(self, instance: Instance) -> None:
        cloud = self._cloud = cloud_of(instance)
        vms, pms = cloud.num_vms, cloud.num_pms
        n = vms + pms
        self._links = links_of(instance)
        self._latencies = Latencies.of(self._links)
        self._bounds = bounds_of(instance, cloud, self._latencies)
        self._state = empty_state(cloud)
        self._mean = 0.0
        self._memory = cloud.demands[:, MEMORY] / (cloud.demands[:, MEMORY].sum() or 1.0)
        volume = np.add.reduceat(np.append(cloud.volumes, 0.0), cloud.first[:-1])
        volume[np.diff(cloud.first) == 0] = 0.0
        mean_latency = float(self._links.lengths.mean()) or 1.0
        self._unit_cost = np.divide(1.0, volume * mean_latency, out=np.zeros(vms), where=volume > 0)
        self._witness = (0, 0)  # a VM and a PM it could move to when we last looked
        self._columns_written = (
            np.zeros((n, 4), dtype=np.float32),
            np.zeros((n, 4), dtype=np.float32),
            np.zeros((2, n), dtype=np.int8),
            np.zeros((4, n), dtype=np.float32),
            np.zeros((n, len(TERMS)), dtype=np.float32),
            worth_of_units(self._bounds) * vms,
        )
        largest = float(max(cloud.peak.max(), cloud.idle.max())) or 1.0
        self._unit_power = 1.0 / largest if self.features == "full" else 1.0
        self._room = cloud.room
        self._together = pairs_of(instance, TOGETHER)
        self._drained = cloud.room[:, 0] < 0.0
        self._grouped = bool(cloud.strangers.size or cloud.mates.size)
        self._needs = [tuple(row) for row in cloud.demands.tolist()]
        self._least = cloud.demands.min(axis=0)
        self._moves = SearchMemory(n, round(_TENURE * vms))  # of VMs; PMs have none
        self._left = np.full(vms, -1, dtype=np.int64)  # PMs that the VMs left last
        self._survey = Survey(
            cloud,
            self._latencies,
            self._bounds,
            self._state,
            self._moves.recent,
            rules_of(instance),
            self.features == "full",
        )
        known = cloud, self._state
        rest = self._bounds, self._unit_power, self._unit_cost, self._columns_written
        row = types.float64[::1]
        self._move = bind(step_vm, (*known, *rest), types.int64, types.int64, row, row)
        self._check = bind(valid_moves, known, types.int64[:, ::1], types.boolean[::1])
        self._first_nodes = np.array([0, vms])
        self._declare()
        self.action_space = gym.spaces.MultiDiscrete([vms, pms])

    def _declare(self) -> None:
        full = self.features == "full"
        self._node_attributes = node_attributes(self.features)
        self._edge_attributes = edge_attributes(self.features)
        self._moving = [name for name, known in self._node_attributes.items() if not known.static]
        self._view = self._make_view()
        self._observation_type = graph_observation(self.features, "graph")
        if full:
            self._observation_type |= POOLINGS
            self._observation_type["terms"] = Function(self._normalised_terms, size=len(TERMS))
            self._observation_type["steps_left"] = Function(self.steps_left)
        self._action_type = action_type(self.features)

    def _make_view(self) -> GraphView:
        cloud, instance, full = self._cloud, self.instance, self.features == "full"
        vms, pms = cloud.num_vms, cloud.num_pms
        free, used, (empty, overloaded), (power, vm_count, strangers, network), stakes, _ = (
            self._columns_written
        )
        nodes: dict[str, Any] = fixed_nodes(cloud, full) | {"power": power}
        if full:
            nodes |= {
                "free": free,
                "empty": empty,
                "overloaded": overloaded,
                "vms": vm_count,
                "strangers": strangers,
                "network": network,
                "stakes": stakes,
                "recent": self._moves.recent,
                "prospect": self._survey.prospects,
                "planned": self._survey.planned,
            }
        else:
            nodes["utilisation"] = used
        ends, edges = edges_of_cloud(instance, full)
        ordered = {name: nodes[name] for name in self._node_attributes}
        return GraphView(vms + pms, ends, nodes=ordered, edge_attributes=edges)

    def _dynamic_columns(self) -> list[tuple[str, Attribute, Array]]:
        hosts = Attribute(low=0, high=self._cloud.num_pms - 1)
        return [("allocation", hosts, self._state.allocation), *super()._dynamic_columns()]

    def padded_attributes(self) -> list[str] | None:
        """All with `full` features; with `paper` ones VMs and PMs, but not the edges."""
        return None if self.features == "full" else ["allocation", *self._node_attributes]

    def _normalised_terms(self, view: GraphView) -> Array:
        return normalised_terms(self._terms(), self._bounds)

    def get_graphs(self) -> dict[str, GraphView]:
        """The view ``graph``."""
        return {"graph": self._view}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        allocation = configured_start(self.instance, start, "allocation")
        if allocation is None:
            allocation = first_fit(self._cloud)
            if allocation is None:
                raise InstanceError(
                    f"instance {self.instance.name!r}: first fit finds no room for every VM; give "
                    "start= an allocation"
                )
        hosts = checked_allocation(allocation, self.instance)
        allocate(self._cloud, self._links, hosts, self._state)
        write_all(
            self._cloud, self._state, self._unit_power, self._unit_cost, self._columns_written
        )
        self._mean = present_mean(self._cloud, self._state, self._bounds)
        self._split_at_start, self._fewest_left = self._split(), len(hosts)
        self._witness = (0, 0)
        self._moves.begin()
        self._left[:] = -1
        self._highest = self._mean
        if self.shows_plans and REJECTED not in self.instance.params:  # else no time for a plan
            self._survey.begin(self.instance.checksum, hosts, rng)
        self._survey.update(self._mean, self._highest)
        vms = self._cloud.num_vms
        self._view.move_edges(slice(0, vms), hosts + vms)

    def _apply(self, action: Any) -> dict[str, float]:
        vm, pm = int(action[0]), int(action[1])
        vms = len(self._needs)
        source = self._state.allocation.item(vm)
        row = self._latencies.row
        self._mean = self._move(vm, pm, row(source), row(pm))
        self._moves.change(vm)
        self._left[vm] = source
        self._highest = max(self._highest, self._mean)
        self._survey.update(self._mean, self._highest)
        view = self._view
        view.move_edges(vm, vms + pm)
        view.touch(nodes=self._moving)
        return {"migration": -MIGRATION_COST * self._memory.item(vm)}

    def objective(self) -> float:
        """J, the mean of the normalised terms."""
        return float(self._mean)

    def recompute_objective(self) -> float:
        """The same from the allocation alone."""
        return self.evaluate_solution(self.instance, self._state.allocation)

    def _terms(self) -> Array:
        terms = np.empty(COUNT)
        terms_of(self._state.totals, self._cloud, terms)
        return terms

    def terms(self) -> dict[str, float]:
        """The five terms, in the instance's units."""
        return dict(zip(TERMS, self._terms().tolist(), strict=False))

    def solution(self) -> Array:
        """Host of every VM: (V,)."""
        return self._state.allocation.copy()

    def set_by(self, actions: Array) -> tuple[Array, Array]:
        """The VM of each action, and its host after it."""
        rows = np.asarray(actions, dtype=np.int64).reshape(-1, 2)
        return rows[:, 0], rows[:, 1]

    def is_feasible(self) -> bool:
        """No more VMs are apart from those they are to be together with than at the start."""
        return self._split() <= self._split_at_start

    def _split(self) -> int:
        hosts, (v, w) = self._state.allocation, self._together
        return int((hosts[v] != hosts[w]).sum()) if v.size else 0

    def _note_best(self) -> None:
        """Of the states so far the best of those with the fewest VMs on PMs to be emptied."""
        left = int(self._drained[self._state.allocation].sum()) if self._drained.any() else 0
        if left < self._fewest_left:
            self._fewest_left, self._best_objective = left, None
        if left == self._fewest_left:
            super()._note_best()

    def has_valid_action(self) -> bool:
        """Some VM fits elsewhere; looks first where one did before."""
        if self._may_move(*self._witness):
            return True
        found = find_move(self._cloud, self._state, *self._witness)
        self._witness = (int(found[0]), int(found[1]))
        return self._witness[0] >= 0

    def is_valid_action(self, action: Any) -> bool:
        """Both exist, the VM is not there, and there is room for it."""
        return self._may_move(int(action[0]), int(action[1]))

    def _may_move(self, vm: int, pm: int) -> bool:
        state = self._state
        if not (0 <= vm < len(self._needs) and 0 <= pm < len(self._room)):
            return False
        if state.allocation.item(vm) == pm:
            return False
        if self._grouped:
            return bool(fits(vm, pm, self._cloud, state))
        a, b, c, d = state.used[pm].tolist()
        e, f, g, h = self._needs[vm]
        i, j, k, m = self._room[pm].tolist()
        return bool(a + e <= i and b + f <= j and c + g <= k and d + h <= m)

    def are_valid_actions(self, actions: Array) -> Array:
        """The same for many: (k,)."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        valid = np.empty(len(rows), dtype=np.bool_)
        self._check(rows, valid)
        return valid

    def possible_parts(self) -> dict[str, Array]:
        """Not the VMs too large for any PM, nor the PMs too full for any VM: (V + P,) each."""
        used, demands = self._state.used, self._cloud.demands
        vm, pm = np.zeros((2, len(demands) + len(used)), dtype=np.bool_)
        left = (self._room - used).max(axis=0)
        vm[: len(demands)] = (demands <= left + _ROUNDING).all(axis=1)
        if self._limits is not None and self._limits.fixed is not None:
            vm[: len(demands)] &= ~self._limits.fixed
        pm[len(demands) :] = (used + self._least <= self._room).all(axis=1)
        return {"vm": vm, "pm": pm}

    def action_mask(self) -> Array:
        """The same for every VM and PM: (V P,)."""
        vms, pms = self._cloud.num_vms, self._cloud.num_pms
        if vms * pms > LISTING_CAP:
            raise UsageError(f"{vms} VMs x {pms} PMs are more actions than are ever listed")
        mask = np.empty((vms, pms), dtype=np.bool_)
        move_mask(self._cloud, self._state, mask)
        return mask.reshape(-1)

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Array | None:
        """Uniform over the valid ones; None if there is none."""
        source = rng or self.np_random
        vms, pms = self._cloud.num_vms, self._cloud.num_pms
        for code in source.integers(vms * pms, size=_DRAWS).tolist():
            vm, pm = divmod(code, pms)
            if self._may_move(vm, pm):
                return np.array((vm, pm))
        move = np.empty(2, dtype=np.int64)
        count = nth_move(-1, self._cloud, self._state, move)
        if count == 0:
            return None
        nth_move(int(source.integers(count)), self._cloud, self._state, move)
        return move

    def actions_from_parts(self, parts: Array) -> Array:
        """From node indices to (VM, PM): (k, 2)."""
        return np.asarray(parts - self._first_nodes)

    def parts_from_actions(self, actions: Array) -> Array:
        """From (VM, PM) to node indices: (k, 2)."""
        rows = np.asarray(actions).reshape(len(actions), 2)
        return np.asarray(rows + self._first_nodes)

    def preview(self, actions: Array) -> Array:
        """J after each of the moves, and 1 more where it leaves a PM to be emptied: (k,)."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        return self._means_after(rows) + self._drained[self._state.allocation[rows[:, 0]]]

    def _means_after(self, rows: Array) -> Array:
        cloud, state, latencies = self._cloud, self._state, self._latencies
        if latencies.matrix is not None:
            found: Array = preview_moves(rows, cloud, state, latencies.matrix, self._bounds)
            return found
        row = latencies.row
        values = [
            mean_after(v, p, cloud, state, row(int(state.allocation[v])), row(p), self._bounds)
            for v, p in rows.tolist()
        ]
        return np.array(values, dtype=np.float64)

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Gains by term, chains of moves, memory of the search, and both PMs of candidate moves."""
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        situation, chains = self._follow(rows)
        each = EACH.records(len(rows))
        left = self.episode_length - self._steps
        progress = Progress(self._mean, self._highest, self._moves.ages(rows[:, 0]), self._left)
        goal = Goal(*self._survey.aim, left, left / self.episode_length)
        worth = self._columns_written[-1]
        describe_moves(rows, situation, worth, chains, progress, goal, each)
        return CandidateFeatures(EACH.matrix(each))

    def _follow(self, moves: Array) -> tuple[Situation, Array]:
        """The situation, and value, gain and length of the chains of moves: (k, WAYS, 3)."""
        around = self._latencies.around(moves, self._cloud, self._state.allocation)
        situation = Situation(self._cloud, self._state, *around, self._bounds)
        recent = self._moves.recent[: self._cloud.num_vms]
        left = self.episode_length - self._steps
        return situation, follow_moves(moves, situation, recent, left)

    def suggested_actions(self) -> Array:
        """A few moves to the plan, (k, 2): those after which J is highest."""
        planned = self._to_plan()
        if len(planned) > _SUGGESTED:
            best = np.argsort(-self.preview(planned), kind="stable")[:_SUGGESTED]
            planned = planned[best]
        return planned

    def _to_plan(self) -> Array:
        """Valid moves to the plan, (k, 2); none where it is no better than what was reached."""
        plan, promised = self._survey.aim
        if promised <= self._highest + _ROUNDING:
            return np.empty((0, 2), dtype=np.int64)
        vms = np.flatnonzero(plan != self._state.allocation)
        planned = np.stack([vms, plan[vms]], axis=1)
        return planned[self.are_valid_actions(planned)]

    def advise(self) -> Array:
        """Moves to the plan, (k, 2); without any the first of the best chain of moves, (1, 2).

        Chains begin with the moves that promise most in all or to a PM.
        """
        survey = self._survey
        if not survey.active:
            raise UsageError(
                f"{self.instance.name!r}: the search of placement needs full features, at most "
                f"{SURVEYED} pairs of VM and PM and {MATRIX_LIMIT} PMs; there are "
                f"{self._cloud.num_vms} x {self._cloud.num_pms}; choose the teacher 'greedy'"
            )
        planned = self._to_plan()
        if len(planned):
            return planned
        best = survey.promising(_CLOSER)
        best = best[self.action_mask()[best]]
        moves = np.stack(np.divmod(best, self._cloud.num_pms), axis=1)
        _, chains = self._follow(moves)
        worth = chains[:, :, 0].max(axis=1) + 0.01 * (self._means_after(moves) - self._mean)
        return moves[np.argmax(worth)][None]

    def draw_on(self, axes: Any) -> None:
        """The PMs with what is used of their resources, and the VMs on them by tenant."""
        from lagco.problems.placement.viewer import draw_allocation

        draw_allocation(
            axes, self.instance, self._cloud, self._state.allocation, self.terms(), self._mean
        )
