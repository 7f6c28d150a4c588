"""All moves of a state of `placement`, what they promise, and the plan of an episode."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.problems.placement.cloud import Cloud
from lagco.problems.placement.latency import Latencies
from lagco.problems.placement.lookahead import SURVEYED, survey_moves, write_prospects
from lagco.problems.placement.plan import PLANS, episode_aim, episode_plan, write_planned
from lagco.problems.placement.state import State

#: J that is no more than rounding
_ROUNDING = 1e-6


class Survey:
    """Looks at all moves, unless they are too many or not wanted.

    Args:
        cloud: VMs and PMs.
        latencies: between the PMs.
        bounds: of the terms.
        wanted: False for a survey that never looks.

    Attributes:
        looks: whether it does.
        values: (V, P) what each move promises.
        prospects: (V + P,) the most that a move of a VM or to a PM promises, as a node column.
        plan: (V,) hosts in the plan of the episode; -1 without one.
        promised: J of the plan.
        aim: hosts and J that a ranker is shown, once they are asked for: the best of some plans.
        planned: (V + P,) the best move that leads to the plan, as a node column.
    """

    def __init__(self, cloud: Cloud, latencies: Latencies, bounds: Array, wanted: bool) -> None:
        vms, pms = cloud.num_vms, cloud.num_pms
        self._cloud, self._matrix, self._bounds = cloud, latencies.matrix, bounds
        self.looks = wanted and vms * pms <= SURVEYED and latencies.matrix is not None
        self.values = np.zeros((vms, pms) if self.looks else (0, 0))
        self.prospects = np.zeros(vms + pms, dtype=np.float32)
        self.plan = np.full(vms, -1, dtype=np.int64)
        self.promised = -np.inf
        self._begun: tuple[str, Array, int] | None = None  # instance, hosts, number of the plan
        self._aim: tuple[Array, float] | None = None
        self.planned = np.zeros(vms + pms, dtype=np.int8)

    def begin(self, checksum: str, hosts: Array, rng: np.random.Generator) -> None:
        """Make the plan of an episode of that instance which begins with these hosts."""
        if self._matrix is not None and self.looks:
            number = int(rng.integers(PLANS))
            self._begun = checksum, hosts.copy(), number
            self._aim = None
            known = self._cloud, self._matrix, self._bounds
            self.plan, self.promised = episode_plan(checksum, *known, hosts, number)

    @property
    def aim(self) -> tuple[Array, float]:
        """See above; the plan and its J where it does not look."""
        if self._aim is None:
            self._aim = self.plan, self.promised
            if self._begun is not None and self._matrix is not None:
                checksum, hosts, number = self._begun
                known = self._cloud, self._matrix, self._bounds
                self._aim = episode_aim(checksum, *known, hosts, number)
        return self._aim

    def look(self, state: State, mean: float, highest: float, recent: Array) -> None:
        """Look at the moves of a state with that J, the highest J so far and VMs moved recently."""
        if not self.looks:
            return
        known = self._cloud, state, self._matrix, self._bounds
        survey_moves(*known, mean, highest, recent, self.values)
        write_prospects(self.values, self.prospects)
        if self.promised > highest + _ROUNDING:
            write_planned(self.plan, *known, self.planned)
        else:
            self.planned[:] = 0

    def promising(self, most: int) -> Array:
        """The moves that promise most in all or to a PM, as V x P codes in order."""
        values = self.values
        best = np.argsort(-values.reshape(-1), kind="stable")[:most]
        hosts = np.argsort(-values.max(axis=0), kind="stable")[: 2 * most]
        visits = values[:, hosts].argmax(axis=0) * values.shape[1] + hosts
        return np.unique(np.concatenate([best, visits]))
