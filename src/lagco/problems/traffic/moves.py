"""Moves of `traffic`: other paths for the demands on the fullest arcs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.core.changes.moves import Moves, ranks
from lagco.instances import Instance
from lagco.problems.networks.kernels import marginal_costs, measure, stretched, top_uses
from lagco.problems.networks.network import differs_only_in
from lagco.problems.traffic.limits import forbidden_arcs
from lagco.problems.traffic.routing import checked_paths, limits_of, loads_of, paths_network
from lagco.problems.traffic.sweeps import path_options

#: what is said of a path; uses are utilisations over the largest one, norms 8-norms of them
COLUMNS = Columns(
    norm_gain="share by which the norm falls, to first order, stretched",
    norm_rank="share of the moves that are promised a larger fall",
    path_use="use of the fullest arc on the new path, afterwards",
    path_rank="share of the moves whose new path is fuller",
    own_use="use of the fullest arc on the present path",
    volume="use that the demand makes of the fullest arc on its path",
    relieves="the fullest arc is left",
    detour="hops by which the new path is longer, over 4",
    changed="the demand was changed by this decision",
    returns="the path in force comes back",
    left="changes that are left, 1 for 4 or more",
    last="only one change is left",
    second="use of the second fullest link",
    fourth="use of the fourth fullest link",
    spread="the norm over the largest utilisation",
    progress="largest utilisation over that in force, less 1",
)
_MANY, _HOPS = 4.0, 4.0
#: demands are moved off so many of the fullest arcs
_FULL = 4


class PathMoves(Moves):
    """Single changes of paths."""

    columns: ClassVar[Columns] = COLUMNS

    def __init__(self) -> None:
        self._instance: Instance | None = None

    def begin(self, instance: Instance) -> None:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        if not self._follows(instance):
            self._load(instance)
        network = self._network
        network.volumes[:] = instance.array("volumes")
        rows, used = checked_paths(instance.array("paths"), instance, network, self._limits)
        self._before, self._paths, self._used = used.copy(), rows, used
        self._loads = loads_of(network, used)
        self._instance = instance
        self._measure()
        self._start = self.value

    def _follows(self, instance: Instance) -> bool:
        """Whether only volumes and paths differ from those of the instance before."""
        return differs_only_in(instance, self._instance, "volumes", "paths") and np.array_equal(
            self._limits, limits_of(instance, self._network)
        )

    def _load(self, instance: Instance) -> None:
        network = self._network = paths_network(instance)
        self._limits = limits_of(instance, network)
        self._options = path_options(network, self._limits)
        fixed = instance.arrays.get(FIXED)
        demands = network.num_demands
        self._free = np.ones(demands, dtype=bool) if fixed is None else ~fixed.astype(bool)
        arcs, forbidden = self._options.arcs, forbidden_arcs(instance, network)
        self._allowed = ~((arcs >= 0) & forbidden[arcs]).any(axis=1)
        most = instance.params.get(MAX_CHANGES)
        self._most = -1 if most is None else int(most)
        self._inverse = 1.0 / network.capacities
        self._marginal = np.empty(2 * network.num_links)
        self._each = COLUMNS.records(len(arcs))
        self._moves = np.empty(len(arcs), dtype=np.int64)

    def go_to(self, solution: Array) -> None:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        rows = np.flatnonzero((self._paths != solution).any(axis=1))
        network = self._network
        for d in rows.tolist():
            nodes = solution[d][solution[d] < network.num_nodes]
            arcs = network.arc_of[nodes[:-1], nodes[1:]]
            self._paths[d], self._used[d] = solution[d], -1
            self._used[d, : len(arcs)] = arcs
        if len(rows):  # from scratch, or rounding would add up
            self._loads = loads_of(network, self._used)
        self._measure()

    def _measure(self) -> None:
        largest, norm, _ = measure(self._loads, self._network.capacities)
        self.solution = self._paths.copy()
        self.value, self.level = float(largest), float(np.sqrt(largest * norm))

    def describe(self) -> Array:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        network, options = self._network, self._options
        count = _describe(
            (network.capacities, network.volumes, options.first, options.arcs, self._inverse),
            (self._used, self._before, self._loads, self._start),
            (self._free, self._allowed, self._most),
            self._marginal,
            self._moves,
            self._each,
        )
        each = self._each[:count]
        each["norm_rank"] = ranks(each["norm_gain"])
        each["path_rank"] = ranks(each["path_use"])
        return COLUMNS.matrix(each)

    def preview(self, moves: Array) -> tuple[Array, Array]:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        options, network = self._options, self._network
        places = self._moves[moves]
        values, levels = np.empty(len(moves)), np.empty(len(moves))
        demands = options.rows[places, 0]
        known = self._used, network.volumes, network.capacities
        _preview(demands, options.arcs[places], known, self._loads.copy(), values, levels)
        return values, levels

    def after(self, move: int) -> Array:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        found = self._paths.copy()
        row = self._options.rows[self._moves[move]]
        found[row[0]] = row[1:]
        return found


@njit(cache=True)
def _preview(demands, arcs, known, loads, values, levels):  # type: ignore[no-untyped-def]
    """Largest utilisation and level after each change of a path alone, exactly."""
    used, volumes, capacities = known
    for i in range(demands.shape[0]):
        d = demands[i]
        _shift(used[d], arcs[i], volumes[d], loads)
        largest, norm, _ = measure(loads, capacities)
        _shift(arcs[i], used[d], volumes[d], loads)
        values[i], levels[i] = largest, np.sqrt(largest * norm)


@njit(cache=True)
def _shift(old, new, volume, loads):  # type: ignore[no-untyped-def]
    """Take a volume off the arcs of a path, padded with -1, and put it on another one's."""
    for i in range(old.shape[0]):
        if old[i] >= 0:
            loads[old[i]] -= volume
    for i in range(new.shape[0]):
        if new[i] >= 0:
            loads[new[i]] += volume


@njit(cache=True)
def _describe(network, state, choice, marginal, moves, each):  # type: ignore[no-untyped-def]
    """Write all moves and their columns, but for ranks; return how many there are."""
    capacities, volumes, first, options, inverse = network
    used, before, loads, start = state
    free, allowed, most = choice
    demands, length = used.shape
    use = loads * inverse
    largest = use.max()
    unit = 1.0 / largest if largest > 0.0 else 0.0
    power = marginal_costs(loads, capacities, largest, marginal)
    norm = 1.0 / power if power > 0.0 else 0.0
    second, fourth = top_uses(loads, inverse, False)
    full, left_over = np.zeros(use.shape[0], np.bool_), use.copy()
    for _ in range(min(_FULL, use.shape[0])):
        arc = np.argmax(left_over)
        full[arc], left_over[arc] = True, -1.0
    fullest = np.argmax(use)
    left = most if most >= 0 else demands
    changed = np.zeros(demands, np.bool_)
    for d in range(demands):
        changed[d] = (used[d] != before[d]).any()
        if most >= 0:
            left -= changed[d]
    count = 0
    mark = np.full(use.shape[0], -1, np.int64)
    for d in range(demands):
        if not free[d] or (left <= 0 and not changed[d]):
            continue
        crosses, own, paid, hops, relieved = changed[d], 0.0, 0.0, 0, False
        for i in range(length):
            arc = used[d, i]
            if arc >= 0:
                crosses = crosses or full[arc]
                relieved = relieved or arc == fullest
                own, paid, hops = max(own, use[arc]), paid + marginal[arc], hops + 1
                mark[arc] = d
        if not crosses:
            continue
        for o in range(first[d], first[d + 1]):
            same, back = True, True
            for i in range(length):
                same = same and options[o, i] == used[d, i]
                back = back and options[o, i] == before[d, i]
            if same or not (allowed[o] or back):
                continue
            price, path, long, stays = 0.0, 0.0, 0, False
            for i in range(length):
                arc = options[o, i]
                if arc >= 0:
                    price, long = price + marginal[arc], long + 1
                    stays = stays or arc == fullest
                    after = loads[arc] + (0.0 if mark[arc] == d else volumes[d])
                    path = max(path, after * inverse[arc])
            f = each[count]
            moves[count] = o
            f.norm_gain = stretched((paid - price) * volumes[d] * norm)
            f.path_use, f.own_use = path * unit, own * unit
            f.volume = volumes[d] * inverse[fullest] * unit
            f.relieves = relieved and not stays
            f.detour = (long - hops) / _HOPS
            f.changed, f.returns = changed[d], back
            f.left, f.last = min(1.0, left / _MANY), left == 1
            f.second, f.fourth = second * unit, fourth * unit
            f.spread = power**0.125 - 1.0
            f.progress = largest / start - 1.0 if start > 0.0 else 0.0
            count += 1
    return count
