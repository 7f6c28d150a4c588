"""First-order values of all moves of a state of `placement`, and the plan of an episode."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from lagco.arrays import Array
from lagco.problems.placement.cloud import Cloud
from lagco.problems.placement.foresight.lookahead import SURVEYED, survey_moves
from lagco.problems.placement.foresight.plan import PLANS, episode_aim, episode_plan, write_planned
from lagco.problems.placement.latency import Latencies
from lagco.problems.placement.references.within_limits import Rules
from lagco.problems.placement.state import State, all_parts
from lagco.problems.placement.terms import Objective
from lagco.runtime.bound_arguments import bind, opened

#: J that is no more than rounding
_ROUNDING = 1e-6


class Survey:
    """Evaluates all moves, unless they are too many or not wanted.

    Args:
        cloud: VMs and PMs.
        latencies: between the PMs.
        bounds: of the terms.
        state: the state, whose arrays are updated in place.
        recent: (≥ V,) whether VMs moved recently; updated in place.
        rules: limits of plans; None for none.
        wanted: whether moves are evaluated at all.

    Attributes:
        active: whether moves are evaluated.
        values: (V, P) value of each move.
        prospects: (V + P,) largest value of a move of a VM or to a PM, as a node column.
        plan: (V,) hosts in the plan of the episode; -1 without one.
        promised: J of the plan.
        aim: hosts and J of the best of some plans, for a ranker; computed on demand.
        planned: (V + P,) the best move that leads to the plan, as a node column.
    """

    def __init__(
        self,
        cloud: Cloud,
        latencies: Latencies,
        bounds: Array,
        state: State,
        recent: Array,
        rules: Rules | None,
        wanted: bool,
    ) -> None:
        vms, pms = cloud.num_vms, cloud.num_pms
        self._objective: Objective | None = None  # None unless active
        if wanted and vms * pms <= SURVEYED and latencies.matrix is not None:
            self._objective = Objective(cloud, latencies.matrix, bounds)
        self._rules = rules
        self.active = self._objective is not None
        self.values = np.zeros((vms, pms) if self.active else (0, 0))
        self.prospects = np.zeros(vms + pms, dtype=np.float32)
        self.plan = np.full(vms, -1, dtype=np.int64)
        self.promised = -np.inf
        self._begun: tuple[str, Array, int] | None = None  # instance, hosts, number of the plan
        self._aim: tuple[Array, float] | None = None
        self.planned = np.zeros(vms + pms, dtype=np.int8)
        if self.active:
            known = self._objective, state
            moves = all_parts(cloud), recent, self.values, self.prospects
            arguments = known, moves, self.plan, self.planned
            self._update = bind(_update, arguments, *2 * [types.float64], types.boolean)

    def begin(self, checksum: str, hosts: Array, rng: np.random.Generator) -> None:
        """Make the plan of an episode of that instance which begins with these hosts."""
        if self._objective is not None:
            number = int(rng.integers(PLANS))
            self._begun = checksum, hosts.copy(), number
            self._aim = None
            plan = episode_plan(checksum, self._objective, self._rules, hosts, number)
            self.plan[:], self.promised = plan

    @property
    def aim(self) -> tuple[Array, float]:
        """See above; the plan and its J unless active."""
        if self._aim is None:
            self._aim = self.plan, self.promised
            if self._begun is not None and self._objective is not None:
                checksum, hosts, number = self._begun
                self._aim = episode_aim(checksum, self._objective, self._rules, hosts, number)
        return self._aim

    def update(self, mean: float, highest: float) -> None:
        """Evaluate the moves of the state, given its J and the highest J so far."""
        if self.active:
            self._update(mean, highest, self.promised > highest + _ROUNDING)

    def promising(self, most: int) -> Array:
        """The best moves overall and to each of the best PMs, as V x P codes in order."""
        values = self.values
        best = np.argsort(-values.reshape(-1), kind="stable")[:most]
        hosts = np.argsort(-values.max(axis=0), kind="stable")[: 2 * most]
        visits = values[:, hosts].argmax(axis=0) * values.shape[1] + hosts
        return np.unique(np.concatenate([best, visits]))


@njit(cache=True)
def _update(arguments, mean, highest, planning):  # type: ignore[no-untyped-def]
    known, moves, plan, planned = opened(arguments)
    survey_moves(*known, *moves, mean, highest)  # type: ignore[call-arg]
    if planning:
        write_planned(plan, *known, planned)  # type: ignore[call-arg]
    else:
        planned[:] = 0
