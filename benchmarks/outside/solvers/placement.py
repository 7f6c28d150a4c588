"""Optimal allocations of few machines, by HiGHS.

The mean use of the active hosts is a quotient, so there is a model per number of active hosts, in
which it is linear. Products of two choices are linearised: a variable per pair of hosts for VMs
that talk to each other, one per host for VMs of different tenants.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from answering import Arrays, Solver, answer
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import shortest_path

#: better by less than this is by rounding
_SLACK = 1e-9


class _Model:
    """Gains of J, to be maximised, and linear rules for variables between 0 and 1.

    The variables are V x P allocations, P active hosts, then the products.
    """

    def __init__(self, instance: Arrays, active: int) -> None:
        demands, capacities = instance["demands"], instance["capacities"]
        self.vms, self.pms = len(demands), len(capacities)
        self.gains: list[float] = [0.0] * (self.vms * self.pms + self.pms)
        self.rules: list[tuple[dict[int, float], float, float]] = []
        self.constant = 0.0
        use, energy, packing, network, security = self._worths(instance)
        share = demands[:, None, :] / capacities[None]
        power = instance["peak"] - instance["idle"]
        for v in range(self.vms):
            for p in range(self.pms):
                gain = use * share[v, p].mean() / active - energy * power[p] * share[v, p, 0]
                self.gains[self.at(v, p)] = gain
        for p in range(self.pms):
            self.gains[self.on(p)] = -energy * instance["idle"][p]
        self.constant -= packing * active
        self._allocate(demands, capacities, active)
        self._talk(instance, network)
        self._beside_strangers(instance, security)

    def at(self, v: int, p: int) -> int:
        """Whether VM v is on host p."""
        return v * self.pms + p

    def on(self, p: int) -> int:
        """Whether host p is active."""
        return self.vms * self.pms + p

    def _worths(self, instance: Arrays) -> list[float]:
        """By how much a unit of each term moves J; what J is when all terms are 0."""
        worths = []
        for k, (low, high, weight) in enumerate(instance["bounds"][:5].tolist()):
            span = high - low
            worths.append(weight / 5.0 / span if span > 0 else 0.0)
            if span <= 0:
                self.constant += weight / 5.0
            else:
                self.constant += weight / 5.0 * (-low if k == 0 else high) / span
        return worths

    def _allocate(self, demands: np.ndarray, capacities: np.ndarray, active: int) -> None:
        hosts = range(self.pms)
        for v in range(self.vms):
            self.rules.append(({self.at(v, p): 1.0 for p in hosts}, 1.0, 1.0))
            for p in hosts:
                self.rules.append(({self.on(p): 1.0, self.at(v, p): -1.0}, 0.0, 1.0))
        for p in hosts:
            for r in range(demands.shape[1]):
                row = {self.at(v, p): demands[v, r] / capacities[p, r] for v in range(self.vms)}
                self.rules.append((row | {self.on(p): -1.0}, -np.inf, 0.0))
            row = {self.at(v, p): 1.0 for v in range(self.vms)}
            self.rules.append((row | {self.on(p): -1.0}, 0.0, np.inf))
        self.rules.append(({self.on(p): 1.0 for p in hosts}, active, active))

    def _new(self, gain: float) -> int:
        self.gains.append(gain)
        return len(self.gains) - 1

    def _talk(self, instance: Arrays, network: float) -> None:
        links = instance["links"]
        size = (self.pms, self.pms)
        ways = sparse.csr_array((instance["latencies"], (links[0], links[1])), shape=size)
        latency = shortest_path(ways, directed=False)
        share = network / len(np.unique(instance["tenants"]))
        for (u, v), volume in zip(instance["pairs"].T.tolist(), instance["traffic"], strict=True):
            both = np.array(
                [[self._new(-share * volume * latency[p, q]) for q in range(self.pms)]
                 for p in range(self.pms)]
            )  # fmt: skip
            for p in range(self.pms):
                for one, line in ((u, both[p]), (v, both[:, p])):
                    row = dict.fromkeys(line.tolist(), 1.0)
                    self.rules.append((row | {self.at(one, p): -1.0}, 0.0, 0.0))

    def _beside_strangers(self, instance: Arrays, security: float) -> None:
        weak, tenants = instance["vulnerability"], instance["tenants"]
        for u, v in combinations(range(self.vms), 2):
            if tenants[u] == tenants[v]:
                continue
            for p in range(self.pms):
                z = self._new(-security * instance["escape"][p] * (weak[u] + weak[v]))
                row = {self.at(u, p): 1.0, self.at(v, p): 1.0, z: -1.0}
                self.rules.append((row, -np.inf, 1.0))

    def allocation(self, values: np.ndarray) -> np.ndarray:
        """Hosts of all VMs (V,)."""
        chosen = np.asarray(values[: self.vms * self.pms]).reshape(self.vms, self.pms)
        return chosen.argmax(axis=1)


def highs(instance: Arrays) -> Solver:
    """Branch and bound over the linear programmes of all numbers of active hosts."""
    models = [_Model(instance, k + 1) for k in range(len(instance["capacities"]))]

    def solve(_: float) -> dict[str, Any]:
        best, kept = -np.inf, None
        for model in models:
            matrix = sparse.lil_array((len(model.rules), len(model.gains)))
            for i, (row, _, _) in enumerate(model.rules):
                for k, value in row.items():
                    matrix[i, k] = value
            low, high = ([rule[k] for rule in model.rules] for k in (1, 2))
            found = milp(
                -np.array(model.gains),
                integrality=np.arange(len(model.gains)) < model.vms * model.pms + model.pms,
                bounds=Bounds(0.0, 1.0),
                constraints=LinearConstraint(matrix.tocsr(), low, high),
                options={"mip_rel_gap": 0.0},
            )
            if found.status == 2:  # so few hosts are too few
                continue
            if found.status != 0:
                return {}
            if model.constant - found.fun > best + _SLACK:
                best, kept = model.constant - found.fun, model.allocation(found.x)
        return {"solution": kept, "bound": best, "proven": True}

    return solve


if __name__ == "__main__":
    answer({"HiGHS (proven)": highs})
