"""Softmax over the candidates of a state, by inner product with a proto-action, compiled.

The candidates of a rollout lie in a few arrays that are filled in place and kept from rollout to
rollout: vectors of components, not of actions. Logits, their gradient and that of the temperature
are computed from these in one pass over the chosen states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numba import njit, types

from lagco.agents.action_tables import ActionTables, trim
from lagco.agents.heads import (
    Head,
    Loss,
    Rollout,
    Weighting,
    clipped,
    empty_loss,
    host,
    normalised,
    position,
    value_loss,
)
from lagco.agents.powers import write_powers
from lagco.arrays import Array
from lagco.bound_arguments import bind, opened
from lagco.embedding.features import enlarged
from lagco.embedding.row_sums import add_products

#: columns of the description of a component: first number, rows, columns, where it is added
_AT, _ROWS, _WIDTH, _START = range(4)
#: types of component vectors, of where they are added, and of the rows that actions consist of
_TABLE, _STARTS = types.Array(types.float32, 2, "C"), types.Array(types.int64, 1, "C")
_INDEX = types.Array(types.int64, 2, "C")
#: the only row of an array
_FIRST = np.zeros(1, dtype=np.int64)
#: index of candidates that are the rows of the only component
_ROWS_THEMSELVES = np.zeros((0, 0), dtype=np.int64)


class CandidateStore:
    """Candidates of many states, by slot.

    Attributes:
        numbers: component vectors of all states, one behind the other.
        members: rows that actions consist of, likewise: component by component, rows of all
            components numbered through.
        components: int64 (slots, components, 4), see the columns above; 0 rows for none.
        first: int64 (slots,), where the members of a state begin; -1 where candidate i is row i
            of the only component.
        counts: int64 (slots,), candidates.
    """

    def __init__(self) -> None:
        self.numbers = np.zeros(0, dtype=np.float32)
        self.members = np.zeros(0, dtype=np.int32)
        self.components = np.zeros((0, 0, 4), dtype=np.int64)
        self.first = np.zeros(0, dtype=np.int64)
        self.counts = np.zeros(0, dtype=np.int64)
        self._used = self._listed = 0
        #: per number of components the arrays that `_put` writes to, and itself with these bound
        self._puts: dict[int, tuple[Array, Array, Callable[..., int]]] = {}

    def clear(self, slots: int) -> None:
        """Forget everything and make room for so many states."""
        if len(self.first) != slots:
            self.components = np.zeros((slots, 1, 4), dtype=np.int64)
            self.first, self.counts = np.zeros((2, slots), dtype=np.int64)
        self._used = self._listed = 0

    def put(self, slot: int, candidates: ActionTables) -> None:
        """Copy the candidates of a state, rows of tables that none of them has left out."""
        tables, index = candidates.tables, candidates.index
        if len(tables) > self.components.shape[1]:
            self.components = enlarged(self.components, 1, len(tables))
        most = self._used + sum([table.size for table in tables])
        if most > len(self.numbers):
            self.numbers = enlarged(self.numbers, 0, 2 * most)
        self.counts[slot] = candidates.count
        begin = -1
        if index is not None:
            begin = self._listed
            self._listed += index.size
            if self._listed > len(self.members):
                self.members = enlarged(self.members, 0, 2 * self._listed)
        self.first[slot] = begin
        put = self._puts.get(len(tables))
        if put is None or put[0] is not self.numbers or put[1] is not self.members:
            arrays = self.numbers, self.members
            kinds = types.UniTuple(_TABLE, len(tables)), _STARTS, _INDEX
            call = bind(_put, arrays, *kinds, types.int64, types.int64, _INDEX)
            put = self._puts[len(tables)] = *arrays, call
        self._used = put[2](
            tuple([np.ascontiguousarray(table, np.float32) for table in tables]),
            np.array(candidates.starts, np.int64),
            _ROWS_THEMSELVES if index is None else np.ascontiguousarray(index, np.int64),
            self._used, begin, self.components[slot],
        )  # fmt: skip

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays as kernels take them."""
        return self.numbers, self.members, self.components, self.first, self.counts


class CandidateHead(Head):
    """Outputs are proto-actions; the policy is a softmax over the candidates that are offered.

    Args:
        log_temperature: parameter (1,).
        offer: gives the candidates of the present states for proto-actions (N, d).
        store: keeps them.
    """

    def __init__(
        self,
        log_temperature: torch.nn.Parameter,
        offer: Callable[[Array], Sequence[ActionTables]],
        store: CandidateStore,
    ) -> None:
        self.extra = log_temperature
        self._offer = offer
        self.store = store

    def begin(self, steps: int, envs: int) -> None:
        self.store.clear(steps * envs)

    def draw(self, outputs: Array, step: int) -> tuple[Array, Array]:
        envs = len(outputs)
        slots = np.arange(step * envs, (step + 1) * envs)
        for slot, candidates in zip(slots.tolist(), self._offer(outputs), strict=True):
            self.store.put(slot, candidates)
        actions, log_probs = np.empty(envs, np.int64), np.empty(envs, np.float32)
        _draw(  # type: ignore[call-arg]
            outputs, self._cold(), *self.store.arrays, slots, torch.rand(envs).numpy(),
            actions, log_probs,
        )  # fmt: skip
        return actions, log_probs

    def _cold(self) -> Any:
        """1 / temperature."""
        return np.float32(math.exp(-host(self.extra)[0]))

    def loss(
        self, outputs: Array, values: Array, rollout: Rollout, chosen: Array, weighting: Weighting
    ) -> Loss:
        found = empty_loss(outputs, values, 1)
        _loss(  # type: ignore[call-arg]
            outputs, self._cold(), *self.store.arrays, values, rollout.actions, rollout.log_probs,
            rollout.advantages, rollout.returns, chosen, *weighting, *found,
        )  # fmt: skip
        return found


@njit(cache=True)
def _put(arguments, tables, starts, index, used, first, described):  # type: ignore[no-untyped-def]
    """Write the tables and the actions to their places; where the next numbers go.

    arguments: bound; numbers and members of the store.
    """
    numbers, members = opened(arguments)
    described[:, _ROWS] = 0
    components = len(tables)
    lengths = np.array([table.shape[0] for table in tables])
    kept = np.empty((components, min(lengths.max(), max(index.shape[0], 1))), np.int64)
    counts = lengths
    if first >= 0:
        counts = np.empty(components, np.int64)
        places = np.empty(index.shape, np.int32)
        trim(index, lengths, kept, counts, places)
        actions, before = index.shape[0], 0
        for c in range(components):
            column = members[first + c * actions : first + (c + 1) * actions]
            for k in range(actions):
                column[k] = places[k, c] + before
            before += counts[c]
    for c in range(components):
        rows, width = counts[c], tables[c].shape[1]
        described[c, _AT], described[c, _ROWS] = used, rows
        described[c, _WIDTH], described[c, _START] = width, starts[c]
        for r in range(rows):
            row = tables[c][kept[c, r] if first >= 0 else r]
            for i in range(width):
                numbers[used + i] = row[i]
            used += width
    return used


@njit(cache=True, fastmath={"contract", "reassoc"})
def _logits(  # type: ignore[no-untyped-def]
    proto, cold, numbers, members, described, begin, count, parts, out
):
    """Logits (count,) of one state; `parts` are the products of component rows, if indexed.

    Returns how many components there are.
    """
    done = present = 0
    for c in range(described.shape[0]):
        at, rows, width, start = described[c]
        into = out if begin < 0 else parts[done:]
        asked = proto[start : start + width]
        for r in range(rows):
            row = numbers[at + r * width : at + (r + 1) * width]
            total = np.float32(0.0)
            for i in range(width):  # over slices, which makes vectors of it
                total += row[i] * asked[i]
            into[r] = total * cold
        done += rows
        if begin < 0:
            return 1
        if rows > 0:
            present = c + 1
    for j in range(count):
        out[j] = np.float32(0.0)
    for c in range(present):
        rows_of = members[begin + c * count : begin + (c + 1) * count]
        for j in range(count):
            out[j] += parts[np.uint32(rows_of[j])]  # unsigned: not to be checked for a sign
    return present


@njit(cache=True, fastmath={"reassoc"})
def _softmax(logits, powers):  # type: ignore[no-untyped-def]
    """Powers of e of the logits less the largest; that one, and the sum of the powers."""
    largest = logits[0]
    for j in range(1, logits.shape[0]):
        largest = max(largest, logits[j])
    write_powers(logits, largest, powers[: logits.shape[0]])
    total = 0.0
    for j in range(logits.shape[0]):
        total += powers[j]
    return largest, total


@njit(cache=True)
def _room(components, counts, chosen):  # type: ignore[no-untyped-def]
    """Most candidates, and most rows of components, of a chosen state."""
    most = rows = 0
    for b in range(chosen.shape[0]):
        most = max(most, counts[chosen[b]])
        rows = max(rows, components[chosen[b], :, _ROWS].sum())
    return most, rows


@njit(cache=True)
def _draw(  # type: ignore[no-untyped-def]
    protos, cold, numbers, members, components, first, counts, chosen, drawn, actions, log_probs
):
    most, rows = _room(components, counts, chosen)
    logits, powers = np.empty(most, np.float32), np.empty(most, np.float32)
    parts = np.empty(rows, np.float32)
    for b in range(chosen.shape[0]):
        slot = chosen[b]
        count = counts[slot]
        _logits(
            protos[b], cold, numbers, members, components[slot], first[slot], count, parts, logits
        )
        largest, total = _softmax(logits[:count], powers)
        actions[b] = position(powers[:count], drawn[b] * total)
        log_probs[b] = logits[actions[b]] - largest - math.log(total)


@njit(cache=True, fastmath={"contract", "reassoc"})
def _loss(  # type: ignore[no-untyped-def]
    protos, cold, numbers, members, components, first, counts, values, actions, before,
    advantages, returns, chosen, clip, entropy, weight,
    d_protos, d_values, d_log_temperature, shares,
):  # fmt: skip
    most, rows = _room(components, counts, chosen)
    logits, powers = np.empty(most, np.float32), np.empty(most, np.float32)
    parts = np.empty(rows, np.float32)
    batch = chosen.shape[0]
    advantage = normalised(advantages, chosen)
    d_protos[:] = 0.0
    for b in range(batch):
        slot = chosen[b]
        count, begin, described = counts[slot], first[slot], components[slot]
        present = _logits(protos[b], cold, numbers, members, described, begin, count, parts, logits)
        largest, total = _softmax(logits[:count], powers)
        log_total = largest + math.log(total)
        mean = 0.0  # of the log-probability
        for j in range(count):
            powers[j] /= total
            mean += powers[j] * (logits[j] - log_total)
        shares[2] -= mean / batch
        action = actions[slot]
        change = clipped(
            logits[action] - log_total, before[slot], advantage[b], clip, batch, shares
        )
        bonus = entropy / batch
        for j in range(count):
            log_p = logits[j] - log_total
            powers[j] *= bonus * (log_p - mean) - change
        powers[action] += change
        for j in range(count):
            d_log_temperature[0] -= powers[j] * logits[j]
        _spread(
            powers, cold, numbers, members, described, begin, count, present, parts, d_protos[b]
        )
    value_loss(values, returns, chosen, weight, d_values, shares)


@njit(cache=True, fastmath={"contract", "reassoc"})
def _spread(  # type: ignore[no-untyped-def]
    changes, cold, numbers, members, described, begin, count, present, parts, out
):
    """Gradient of a proto-action from that of the logits: the transpose of :func:`_logits`.

    out: zeros, written.
    """
    if begin >= 0:
        # two sums of each, so that fewer additions wait for the one before
        parts[:] = 0.0
        others = np.zeros(parts.shape[0], np.float32)
        whole = count - count % 2
        for c in range(present):
            rows_of = members[begin + c * count : begin + (c + 1) * count]
            for j in range(0, whole, 2):
                parts[np.uint32(rows_of[j])] += changes[j]
                others[np.uint32(rows_of[j + 1])] += changes[j + 1]
            if whole < count:
                parts[np.uint32(rows_of[whole])] += changes[whole]
        for r in range(parts.shape[0]):
            parts[r] += others[r]
    done = 0
    for c in range(described.shape[0]):
        at, rows, width, start = described[c]
        of = changes[:rows] if begin < 0 else parts[done : done + rows]
        into = out[start : start + width].reshape(1, width)
        table = numbers[at : at + rows * width].reshape(1, rows, width)
        add_products(into, _FIRST, 1, of.reshape(1, rows), rows, table, 0)
        done += rows
    for i in range(out.shape[0]):
        out[i] *= cold
