"""Moves of `ospf`: every weight that a link may get, to first order and exactly."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.core.changes.moves import Moves, ranks
from lagco.instances import Instance
from lagco.problems.networks.kernels import fullest_arc, stretched, top_uses
from lagco.problems.networks.network import differs_only_in
from lagco.problems.ospf.searching.annealing import Prepared, prepare
from lagco.problems.ospf.searching.state import CUT, change, heap_of, load, route_all
from lagco.problems.ospf.searching.transfers import (
    MOVED,
    PRICES,
    RUNGS,
    add_up,
    empty_transfers,
    find_transfers,
    telling_changes,
)

#: what is said of a new weight; uses are utilisations over the largest one, norms 8-norms of them
COLUMNS = Columns(
    norm_gain="share by which the norm falls, to first order, stretched",
    norm_rank="share of the moves that are promised a larger fall",
    soft_gain="the same of the cubic norm, for which emptier links count more",
    soft_rank="share of the moves that are promised a larger fall of it",
    relief="share of the fullest arc's load that leaves it, to first order, stretched",
    relief_rank="share of the moves that are promised more of it",
    moved="use that moves, of the direction where it is more",
    use_after="use of the link afterwards, of the fuller direction, to first order",
    use="use of the fuller direction now",
    other_use="use of the other direction",
    up="1 if the weight rises, else -1",
    size="size of the change on a logarithmic scale, 1 for the whole range",
    weight="weight now, 0 at the smallest, 1 at the largest",
    touches="share of the ends of the fullest arc that the link touches",
    changed="the link was changed by this decision",
    returns="the weight in force comes back",
    left="changes that are left, 1 for 4 or more",
    last="only one change is left",
    second="use of the second fullest link",
    fourth="use of the fourth fullest link",
    spread="the norm over the largest utilisation",
    progress="largest utilisation over that in force, less 1",
)
#: columns of effects, by the prices of `_set_prices`
_TINY = 1e-300
_NORM, _SOFT, _RELIEF = 1, 2, 3
#: number of changes left that counts as many
_MANY = 4.0


class WeightMoves(Moves):
    """Single changes of weights."""

    columns: ClassVar[Columns] = COLUMNS

    def __init__(self) -> None:
        self._instance: Instance | None = None
        self._prepared: Prepared | None = None

    def begin(self, instance: Instance) -> None:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        before = self._instance
        if self._prepared is None or not differs_only_in(instance, before, "volumes", "weights"):
            self._load(instance)
        else:
            scenarios, routing, choice = self._prepared
            weights = instance.array("weights").astype(np.int64)
            self._prepared = Prepared(scenarios, routing, choice._replace(before=weights))
            self.go_to(weights)
            volumes = instance.array("volumes")[self._grouping]
            others = self._targets[volumes != scenarios.volumes[0]]
            scenarios.volumes[0] = volumes
            load(scenarios, routing, np.unique(others))
        self._instance = instance
        self._measure()
        self._start = self.value

    def _load(self, instance: Instance) -> None:
        self._prepared = prepare(instance)
        scenarios, routing, choice = self._prepared
        network = scenarios.network
        order = np.lexsort((network.sources, network.targets))  # as `scenarios_of` groups them
        self._grouping, self._targets = order, network.targets[order]
        links = len(choice.before)
        self._weights = choice.before.copy()
        self._inverse = 1.0 / network.capacities
        self._prices = np.zeros((2 * links, PRICES))
        self._table = empty_transfers(network.num_nodes, len(network.arcs))
        self._effects = np.zeros((2, 2 * links, RUNGS, 1 + PRICES))
        span = int((choice.highest - choice.lowest).max())
        self._fine = span <= RUNGS * choice.step  # else only changes at which much traffic moves
        steps = np.tile(choice.step * np.arange(1, RUNGS + 1), (links, 1))
        self._up, self._down = steps, steps.copy()
        self._free = np.zeros(links, dtype=np.bool_)
        self._free[choice.free] = True
        self._each = COLUMNS.records(links * 2 * RUNGS)
        self._moves = np.empty((links * 2 * RUNGS, 2), dtype=np.int64)
        route_all(scenarios, routing, self._weights, heap_of(network))

    def go_to(self, solution: Array) -> None:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        scenarios, routing, _ = self._at()
        links = np.flatnonzero(self._weights != solution)
        if len(links):
            change(scenarios, routing, 0, self._weights, links, solution[links], True)
            self._weights[links] = solution[links]
        self._measure()

    def _at(self) -> Prepared:
        assert self._prepared is not None
        return self._prepared

    def _measure(self) -> None:
        routing = self._at().routing
        self.solution = self._weights.copy()
        self.value = float(routing.largest[0])
        self.level = float(_level(routing.largest[0], routing.powers[0]))

    def describe(self) -> Array:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        count = _describe(
            self._at(),
            self._free,
            self._weights,
            (self._inverse, self._prices, self._table, self._effects),
            (self._up, self._down, self._fine),
            self._start,
            self._moves,
            self._each,
        )
        each = self._each[:count]
        each["norm_rank"] = ranks(each["norm_gain"])
        each["soft_rank"] = ranks(each["soft_gain"])
        each["relief_rank"] = ranks(each["relief"])
        return COLUMNS.matrix(each)

    def preview(self, moves: Array) -> tuple[Array, Array]:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        scenarios, routing, _ = self._at()
        values, levels = np.empty(len(moves)), np.empty(len(moves))
        _preview(scenarios, routing, self._weights, self._moves[moves], values, levels)
        return values, levels

    def after(self, move: int) -> Array:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        found = self._weights.copy()
        link, weight = self._moves[move]
        found[link] = weight
        return found


@njit(cache=True)
def _level(largest, power):  # type: ignore[no-untyped-def]
    """Geometric mean of the largest utilisation and of the 16-norm of all."""
    return np.sqrt(largest * power**0.0625)


@njit(cache=True)
def _preview(scenarios, routing, weights, moves, values, levels):  # type: ignore[no-untyped-def]
    """Largest utilisation and level after each change of a link alone, exactly."""
    for i in range(moves.shape[0]):
        power, largest = change(scenarios, routing, 0, weights, moves[i, :1], moves[i, 1:], False)
        values[i], levels[i] = largest, _level(largest, power)


@njit(cache=True)
def _set_prices(loads, inverse, largest, fullest, prices):  # type: ignore[no-untyped-def]
    """Prices of a unit more on each arc: what it adds to the sum of the 8th powers of utilisations
    over the largest one, to that of the 3rd powers, and whether it is on the fullest arc. Returns
    both sums, over 8 and over 3.
    """
    unit = 1.0 / largest if largest > 0.0 else 0.0
    power, soft = 0.0, 0.0
    for arc in range(loads.shape[0]):
        scale = inverse[arc] * unit
        use = loads[arc] * scale
        square = use * use
        cube = square * use
        prices[arc, 0], prices[arc, 1] = square * square * cube * scale, square * scale
        prices[arc, 2] = arc == fullest
        power += square * cube * cube
        soft += cube
    return power, soft


@njit(cache=True)
def _describe(prepared, free, weights, scratch, changes, start, moves, each):  # type: ignore[no-untyped-def]
    """Write all moves and their columns, but for ranks; return how many there are."""
    scenarios, routing, choice = prepared
    inverse, prices, table, effects = scratch
    before, lowest, highest, most = choice.before, choice.lowest, choice.highest, choice.most
    up, down, fine = changes
    edges, directed = scenarios.network.edges, scenarios.network.directed
    loads, largest = routing.loads[0], routing.largest[0]
    fullest = fullest_arc(loads, inverse)
    power, soft = _set_prices(loads, inverse, largest, fullest, prices)
    reach = CUT - 1
    if fine:
        reach = up[0, RUNGS - 1]
    found = find_transfers(scenarios, routing, prices, reach, table)
    if not fine:
        telling_changes(table, found, up, down)
    add_up(table, found, up, down, effects)
    unit = 1.0 / largest if largest > 0.0 else 0.0
    norm, gentle = 1.0 / max(power, _TINY), 1.0 / max(soft, _TINY)
    crowd = 1.0 / max(loads[fullest], _TINY)
    left = most - (weights != before).sum() if most >= 0 else weights.shape[0]
    second, fourth = top_uses(loads, inverse, directed)
    ends, count = edges[:, fullest >> 1], 0
    for e in range(weights.shape[0]):
        changed = weights[e] != before[e]
        if not free[e] or (left <= 0 and not changed):
            continue
        span = max(1, highest[e] - lowest[e])
        there, back = loads[2 * e] * inverse[2 * e], loads[2 * e + 1] * inverse[2 * e + 1]
        touches = 0.0
        for end in range(2):
            touches += 0.5 * (edges[end, e] == ends[0] or edges[end, e] == ends[1])
        for kind in range(2):
            sign = 1 if kind == 0 else -1
            for r in range(RUNGS):
                size = up[e, r] if kind == 0 else down[e, r]
                weight = weights[e] + sign * size
                if size == 0 or weight < lowest[e] or weight > highest[e]:
                    continue
                f, ahead, behind = each[count], effects[kind, 2 * e, r], effects[kind, 2 * e + 1, r]
                moves[count, 0], moves[count, 1] = e, weight
                f.norm_gain = stretched((ahead[_NORM] + behind[_NORM]) * norm)
                f.soft_gain = stretched((ahead[_SOFT] + behind[_SOFT]) * gentle)
                f.relief = stretched((ahead[_RELIEF] + behind[_RELIEF]) * crowd)
                moved, returned = ahead[MOVED] * inverse[2 * e], behind[MOVED] * inverse[2 * e + 1]
                f.moved = max(moved, returned) * unit
                f.use_after = max(there - sign * moved, back - sign * returned) * unit
                f.use, f.other_use = max(there, back) * unit, min(there, back) * unit
                f.up = sign
                f.size = np.log1p(size) / np.log1p(span)
                f.weight = (weights[e] - lowest[e]) / span
                f.touches = touches
                f.changed = changed
                f.returns = weight == before[e]
                f.left = min(1.0, left / _MANY)
                f.last = left == 1
                f.second, f.fourth = second * unit, fourth * unit
                f.spread = power**0.125 - 1.0
                f.progress = largest / start - 1.0 if start > 0.0 else 0.0
                count += 1
    return count
