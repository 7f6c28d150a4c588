"""Moves of `placement`: for every VM the PMs to which it goes best."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.core.changes.moves import Moves, ranks
from lagco.instances import Instance
from lagco.problems.networks.search import copy_values
from lagco.problems.placement.cloud import PE
from lagco.problems.placement.references.solver import prepared
from lagco.problems.placement.references.sweeps import finish
from lagco.problems.placement.references.within_limits import Rules
from lagco.problems.placement.state import (
    State,
    empty_state,
    fits,
    fragment_of,
    move_vm,
    parts_of,
    terms_after,
    terms_arrived,
    terms_of,
    totals_left,
    used_fraction,
)
from lagco.problems.placement.terms import COUNT, NAMES, mean_of_terms

#: what is said of a migration; gains are of V J, as asinh, pieces of cores in blocks
COLUMNS = Columns(
    gain="by how much V J rises",
    gain_rank="share of the moves by which it rises more",
    level_gain="the same where pieces that are nearly whole blocks count more",
    level_rank="share of the moves by which that rises more",
    terms={name: f"what {name} has in the gain" for name in NAMES},
    cores="cores of the VM, in blocks",
    source_piece="free cores of the source that make up no block",
    source_after="the same afterwards",
    target_piece="free cores of the target that make up no block",
    target_after="the same afterwards",
    lacking="cores that the source lacks to its next block afterwards",
    completes="another VM on the source has as many cores as it lacks then, or more",
    exact="another VM on the source has just as many",
    source_vms="log1p of the VMs on the source",
    target_vms="log1p of the VMs on the target",
    source_use="share of the source's cores in use",
    target_use="share of the target's cores in use",
    fullest="largest share of any resource of the target in use afterwards",
    empties="no VM is left on the source",
    opens="the target was empty",
    drained="the source is to be emptied",
    rank="place of the target among those of the VM, over their number",
    changed="the VM was moved by this decision",
    returns="it goes back to where it was",
    left="changes that are left, 1 for 10 or more",
    last="only one change is left",
    spare="free cores over all, in blocks, as log1p",
    progress="by how much V J has risen in this decision",
)
#: number of changes left that counts as many, and of moves in all, but for one or two of each VM
_MANY, _LISTED, _LEAST = 10.0, 600, 2
#: worth of pieces that are nearly blocks, in worths of what is in pieces
_NEARLY = 0.25
#: by so much the level is lower, relatively, where V J is higher by 1
_STEEP, _FARTHEST = 0.02, 40.0


class MigrationMoves(Moves):
    """Single migrations."""

    columns: ClassVar[Columns] = COLUMNS

    def begin(self, instance: Instance) -> None:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        self._objective, rules = prepared(instance)
        self._cloud = self._objective.cloud
        cloud, hosts = self._cloud, np.array(instance.array("allocation"), dtype=np.int64)
        if rules is None:
            rules = Rules(hosts, np.zeros(len(hosts), dtype=np.bool_), len(hosts))
        self._rules = rules._replace(before=hosts)
        self._state: State = empty_state(cloud)
        copy_values(self._state.allocation, hosts)
        finish(cloud, self._objective.latencies, self._state)
        each = max(_LEAST, _LISTED // cloud.num_vms)
        self._kept = min(each, cloud.num_pms - 1) or 1
        self._each = COLUMNS.records(self._kept * cloud.num_vms)
        self._moves = np.empty((self._kept * cloud.num_vms, 2), dtype=np.int64)
        self._start = np.zeros(3)
        self._start[:] = _standing(cloud, self._objective.bounds, self._state)
        self._excused = np.zeros(cloud.num_pms, dtype=np.bool_)
        self._excused[_overfull(cloud, self._state, self._excused)] = True
        self._together = _shared(cloud, self._state)
        self._measure()

    def go_to(self, solution: Array) -> None:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        _go_to(self._objective, self._state, np.asarray(solution, dtype=np.int64))
        self._measure()

    def _measure(self) -> None:
        self.solution = self._state.allocation.copy()
        value, level = _measured(self._objective, self._state, self._start)
        self.value, self.level = float(value), float(level)

    def describe(self) -> Array:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        count = _describe(
            self._objective,
            self._rules,
            self._state,
            self._start,
            self._kept,
            self._moves,
            self._each,
        )
        each = self._each[:count]
        each["gain_rank"] = ranks(each["gain"])
        each["level_rank"] = ranks(each["level_gain"])
        return COLUMNS.matrix(each)

    def preview(self, moves: Array) -> tuple[Array, Array]:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        values, levels = np.empty(len(moves)), np.empty(len(moves))
        migrations = self._moves[moves]
        _preview(self._objective, self._state, self._start, migrations, values, levels)
        impossible = self._impossible(migrations)
        values[impossible], levels[impossible] = np.inf, np.inf
        return values, levels

    def _impossible(self, moves: Array) -> Array:
        """Whether something is still too full, or not apart, after each of the moves: bool (m,).

        A change that was taken back may have left the state so, where others have taken its room.
        """
        cloud, state = self._cloud, self._state
        full = _overfull(cloud, state, self._excused)
        if len(full) > 1 or _shared(cloud, state) > self._together:
            return np.ones(len(moves), dtype=bool)
        if len(full) == 0:
            return np.zeros(len(moves), dtype=bool)
        used = state.used[full[0]] - cloud.demands[moves[:, 0]]
        relieved = (state.allocation[moves[:, 0]] == full[0]) & (used <= cloud.room[full[0]]).all(1)
        return np.asarray(~relieved)

    def after(self, move: int) -> Array:
        """See :class:`~lagco.core.changes.moves.Moves`."""
        found = self._state.allocation.copy()
        vm, pm = self._moves[move]
        found[vm] = pm
        return found


@njit(cache=True)
def _go_to(objective, state, hosts):  # type: ignore[no-untyped-def]
    """Move all VMs that are elsewhere."""
    cloud, latencies, _ = objective
    for v in range(hosts.shape[0]):
        source, p = state.allocation[v], hosts[v]
        if source != p:
            move_vm(v, p, cloud, state, latencies[source], latencies[p])


@njit(cache=True)
def _overfull(cloud, state, excused):  # type: ignore[no-untyped-def]
    """PMs that are used beyond their room, except excused ones and those to be emptied."""
    found = np.zeros(state.head.shape[0], np.bool_)
    for p in range(found.shape[0]):
        if cloud.room[p, PE] >= 0.0 and not excused[p]:
            for r in range(4):
                found[p] = found[p] or state.used[p, r] > cloud.room[p, r]
    return np.flatnonzero(found)


@njit(cache=True)
def _shared(cloud, state):  # type: ignore[no-untyped-def]
    """Ends of pairs of VMs that are to be apart and share a PM."""
    found = 0
    for v in range(state.allocation.shape[0]):
        for k in range(cloud.strange_first[v], cloud.strange_first[v + 1]):
            found += state.allocation[cloud.strangers[k]] == state.allocation[v]
    return found


@njit(cache=True)
def _nearly(piece, cloud):  # type: ignore[no-untyped-def]
    """What a piece counts for being nearly a block."""
    return piece * piece / (cloud.block * cloud.spare) if cloud.spare > 0.0 else 0.0


@njit(cache=True)
def _standing(cloud, bounds, state):  # type: ignore[no-untyped-def]
    """J, what pieces count for being nearly blocks, and VMs on PMs that are to be emptied."""
    terms = np.empty(COUNT)
    terms_of(state.totals, cloud, terms)
    near, stuck = 0.0, 0.0
    for p in range(state.head.shape[0]):
        if cloud.block > 0.0:
            near += _nearly(fragment_of(p, 0.0, cloud, state), cloud)
        if cloud.room[p, PE] < 0.0:
            stuck += state.vm_count[p]
    return mean_of_terms(terms, bounds), near, stuck


@njit(cache=True)
def _level(mean, near, stuck, cloud, bounds, start):  # type: ignore[no-untyped-def]
    """Level of a state, 1 at the start: changes count relatively, in usual gains."""
    gain = mean - start[0] + _NEARLY * bounds[COUNT - 1, 2] / 5.0 * (near - start[1])
    lower = _STEEP * cloud.demands.shape[0] * gain - (stuck - start[2])
    return np.exp(-max(-_FARTHEST, min(_FARTHEST, lower)))


@njit(cache=True)
def _measured(objective, state, start):  # type: ignore[no-untyped-def]
    """Value and level of the state."""
    cloud, _, bounds = objective
    mean, near, stuck = _standing(cloud, bounds, state)
    return stuck - mean, _level(mean, near, stuck, cloud, bounds, start)


@njit(cache=True)
def _nearer(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """By how much more pieces count for being nearly blocks if VM v moved to PM p."""
    if cloud.block <= 0.0:
        return 0.0
    source, cores = state.allocation[v], cloud.demands[v, PE]
    found = _nearly(fragment_of(source, -cores, cloud, state), cloud)
    found += _nearly(fragment_of(p, cores, cloud, state), cloud)
    found -= _nearly(fragment_of(source, 0.0, cloud, state), cloud)
    return found - _nearly(fragment_of(p, 0.0, cloud, state), cloud)


@njit(cache=True)
def _pieces_after(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """Share of the free cores in pieces if VM v moved to PM p."""
    if cloud.spare <= 0.0:
        return 0.0
    source, cores = state.allocation[v], cloud.demands[v, PE]
    found = state.totals[COUNT - 1] + fragment_of(source, -cores, cloud, state)
    found += fragment_of(p, cores, cloud, state) - fragment_of(source, 0.0, cloud, state)
    return (found - fragment_of(p, 0.0, cloud, state)) / cloud.spare


@njit(cache=True)
def _preview(objective, state, start, moves, values, levels):  # type: ignore[no-untyped-def]
    """Value and level after each migration alone, exactly."""
    cloud, latencies, bounds = objective
    terms = np.empty(COUNT)
    _, near, stuck = _standing(cloud, bounds, state)
    for i in range(moves.shape[0]):
        v, p = moves[i]
        source = state.allocation[v]
        terms_after(v, p, cloud, state, latencies[source], latencies[p], terms)
        mean = mean_of_terms(terms, bounds)
        there = stuck - (cloud.room[source, PE] < 0.0) + (cloud.room[p, PE] < 0.0)
        values[i] = there - mean
        closer = near + _nearer(v, p, cloud, state)
        levels[i] = _level(mean, closer, there, cloud, bounds, start)


@njit(cache=True)
def _describe(objective, rules, state, start, kept, moves, each):  # type: ignore[no-untyped-def]
    """Write the best moves of every VM and their columns without ranks; returns their number."""
    cloud, latencies, bounds = objective
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    now, terms = np.empty(COUNT), np.zeros(COUNT)
    terms_of(state.totals, cloud, now)
    mean = mean_of_terms(now, bounds)
    pieces_alone = bounds[: COUNT - 1, 2].max() <= 0.0
    worth = _NEARLY * bounds[COUNT - 1, 2] / 5.0
    left = rules.most
    for v in range(vms):
        left -= state.allocation[v] != rules.before[v]
    best, promised = np.empty(kept, np.int64), np.empty(kept)
    count = 0
    for v in range(vms):
        source, home = state.allocation[v], rules.before[v]
        changed = source != home
        if rules.fixed[v] or (left <= 0 and not changed):
            continue
        if cloud.mate_first[v] < cloud.mate_first[v + 1]:
            continue  # goes with its group alone, which is more than a single change
        gone = totals_left(v, cloud, state, *parts_of(v, source, cloud))
        found = 0
        for p in range(pms):
            if p == source or not fits(v, p, cloud, state):
                continue
            if pieces_alone:
                terms[COUNT - 1] = _pieces_after(v, p, cloud, state)
            else:
                part, power = parts_of(v, p, cloud)
                row_from, row_to = latencies[source], latencies[p]
                terms_arrived(v, p, cloud, state, row_from, row_to, gone, part, power, terms)
            promise = mean_of_terms(terms, bounds) + worth * _nearer(v, p, cloud, state)
            if p == home:
                promise += 1.0  # is listed in any case
            if found == kept and promise <= promised[kept - 1]:
                continue
            place = min(found, kept - 1)
            while place > 0 and promised[place - 1] < promise:
                promised[place], best[place] = promised[place - 1], best[place - 1]
                place -= 1
            promised[place], best[place] = promise, p
            found = min(found + 1, kept)
        for k in range(found):
            p = best[k]
            moves[count, 0], moves[count, 1] = v, p
            row_from, row_to = latencies[source], latencies[p]
            terms_after(v, p, cloud, state, row_from, row_to, terms)
            f = each[count]
            gain = mean_of_terms(terms, bounds) - mean
            f.gain = np.arcsinh(vms * gain)
            f.level_gain = np.arcsinh(vms * (gain + worth * _nearer(v, p, cloud, state)))
            for t in range(COUNT):
                f.terms[t] = np.arcsinh(vms * _share_of(t, terms[t] - now[t], bounds))
            f.rank = k / kept
            f.changed, f.returns = changed, p == home
            f.left, f.last = min(1.0, left / _MANY), left == 1
            f.spare = np.log1p(cloud.spare / cloud.block) if cloud.block > 0.0 else 0.0
            f.progress = np.arcsinh(vms * (mean - start[0]))
            _describe_hosts(v, source, p, cloud, state, f)
            count += 1
    return count


@njit(cache=True)
def _share_of(term, change, bounds):  # type: ignore[no-untyped-def]
    """What a change of a term adds to J."""
    low, high, weight = bounds[term, 0], bounds[term, 1], bounds[term, 2]
    if weight == 0.0 or high <= low:
        return 0.0
    sign = 1.0 if term == 0 else -1.0
    return sign * weight * change / (5.0 * (high - low))


@njit(cache=True)
def _describe_hosts(v, source, p, cloud, state, f):  # type: ignore[no-untyped-def]
    """Columns of the PM that the VM leaves and of the one it goes to."""
    cores = cloud.demands[v, PE]
    f.completes, f.exact, f.lacking = False, False, 0.0
    f.cores, f.source_piece, f.source_after = 0.0, 0.0, 0.0
    f.target_piece, f.target_after = 0.0, 0.0
    if cloud.block > 0.0:
        f.cores = cores / cloud.block
        f.source_piece = fragment_of(source, 0.0, cloud, state) / cloud.block
        piece = fragment_of(source, -cores, cloud, state)
        f.source_after = piece / cloud.block
        f.target_piece = fragment_of(p, 0.0, cloud, state) / cloud.block
        f.target_after = fragment_of(p, cores, cloud, state) / cloud.block
        lacking = cloud.block - piece
        f.lacking = lacking / cloud.block
        w = state.head[source]
        while w >= 0:
            if w != v:
                f.completes = f.completes or cloud.demands[w, PE] >= lacking - 1e-6
                f.exact = f.exact or abs(cloud.demands[w, PE] - lacking) < 1e-6
            w = state.after[w]
    f.source_vms, f.target_vms = np.log1p(state.vm_count[source]), np.log1p(state.vm_count[p])
    f.source_use = used_fraction(state.used[source, PE], cloud.capacities[source, PE])
    f.target_use = used_fraction(state.used[p, PE], cloud.capacities[p, PE])
    fullest = 0.0
    for r in range(4):
        after = state.used[p, r] + cloud.demands[v, r]
        fullest = max(fullest, used_fraction(after, cloud.capacities[p, r]))
    f.fullest = fullest
    f.empties, f.opens = state.vm_count[source] == 1, state.vm_count[p] == 0
    f.drained = cloud.room[source, PE] < 0.0
