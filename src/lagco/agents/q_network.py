"""Q(o, u(a)) over all valid actions of a state, without writing down their vectors.

An action's vector is made of component vectors, so the first layer splits:
W [o, u] = W_o o + sum over components of W_c u_c. Component tables pass through the first layer
once; actions add up rows of the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from lagco.agents.action_tables import ActionTables
from lagco.agents.network import SLOPE, Layers, pass_layers
from lagco.agents.packed_actions import JoinedActions, PackedActions
from lagco.agents.q_best import best_actions
from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.one_thread import one_thread

#: rows that pass through the network together
_CHUNK = 32_768
#: rows whose hidden layers stay in the cache of a core
_BLOCK = 1024
#: actions of states
ActionSets = Sequence[ActionTables | PackedActions]
_NO_VALUES = np.zeros(0, dtype=np.float32)


class SplitQ:
    """The Q network over sets of actions, in numpy.

    Args:
        layers: (weight (out, in), bias (out,)) per layer; the arrays are used, not copied, so that
            a network in training is always the present one.
        observation_width: leading inputs that belong to the observation.
    """

    def __init__(self, layers: Layers, observation_width: int) -> None:
        if len(layers) < 2 or layers[-1][0].shape[0] != 1:
            raise LagcoError("a Q network has hidden layers and a single output")
        (weight, self._bias), *rest = layers
        self._weight = weight
        self._rest = [(weight.T, bias) for weight, bias in rest]
        self._for_observation = weight[:, :observation_width]
        self._for_action = weight[:, observation_width:]

    @one_thread()  # a sum over thousands of actions is split among threads
    def values(self, observations: Array, sets: ActionSets) -> list[Array]:
        """Values of the actions of several states: per state (k,)."""
        found = [_NO_VALUES] * len(sets)
        for chosen in _chunks(sets):
            stacked = _Stacked([sets[b].packed for b in chosen], self._for_action)
            values = self._pass(self._observed(observations[chosen]), stacked)
            for b, value in zip(chosen, np.split(values, stacked.ends[:-1]), strict=True):
                found[b] = value
        return found

    @one_thread()
    def best(self, observations: Array, sets: ActionSets) -> tuple[Array, npt.NDArray[np.int64]]:
        """The largest value of each state and the first action that has it; 0 where there is none.

        Actions that cannot have it are not passed (:mod:`lagco.agents.q_bounds`).
        """
        largest = np.zeros(len(sets), dtype=np.float32)
        positions = np.zeros(len(sets), dtype=np.int64)
        chosen = [b for b, actions in enumerate(sets) if actions.count]
        if len(self._rest) != 2:
            for b, values in enumerate(self.values(observations, sets)):
                if len(values):
                    positions[b] = np.argmax(values)
                    largest[b] = values[positions[b]]
        elif chosen:
            largest[chosen], positions[chosen], _ = self.search(
                observations[chosen], [sets[b] for b in chosen]
            )
        return largest, positions

    def search(
        self, observations: Array, sets: ActionSets
    ) -> tuple[Array, npt.NDArray[np.int64], int]:
        """:meth:`best` of states that have actions, two hidden layers; how many were passed."""
        joined = JoinedActions([actions.packed for actions in sets])
        (second, bias), (last, base) = self._rest
        largest = np.empty(len(sets), dtype=np.float32)
        positions = np.empty(len(sets), dtype=np.int64)
        passed = best_actions(
            np.ascontiguousarray(observations), joined.vectors, joined.lengths,
            self._weight, self._bias, joined.starts, joined.widths, joined.index, joined.firsts,
            joined.counts, joined.kept, joined.bits, second.T, bias, last.T, base, SLOPE, largest,
            positions,
        )  # fmt: skip
        return largest, positions, passed

    def maxima(self, observations: Array, sets: ActionSets) -> Array:
        """The largest value of each state, 0 where it has no action: (B,)."""
        return self.best(observations, sets)[0]

    def _observed(self, observations: Array) -> Array:
        """The first layer's sums over observations, with its bias."""
        observed: Array = observations @ self._for_observation.T
        observed += self._bias
        return observed

    def _pass(self, observed: Array, stacked: _Stacked) -> Array:
        """Values of all actions."""
        owner = np.repeat(np.arange(len(observed)), np.diff(stacked.ends, prepend=0))
        index = stacked.index
        values = np.empty(len(index), dtype=np.float32)
        hidden = np.empty((_BLOCK, len(self._bias)), dtype=np.float32)
        for start in range(0, len(index), _BLOCK):
            stop = min(start + _BLOCK, len(index))
            block = hidden[: stop - start]
            add_parts(
                observed, stacked.parts, stacked.firsts, index[start:stop], owner[start:stop],
                SLOPE, block,
            )  # fmt: skip
            values[start:stop] = pass_layers(block, self._rest)[:, 0]
        return values


class _Stacked:
    """Component tables, passed through the first layer, and actions of several states.

    Args:
        sets: of the states; each has an action.
        weight: of the first layer over action vectors: (h, d).

    Attributes:
        parts: the first layer's sums over component vectors, of all states; row 0 is 0 and stands
            for components that a state does not have.
        firsts: first rows of each state's components: (B, C).
        index: per action the rows of its components, counted from the state's first: (K, C).
        ends: of each state's actions: (B,).
    """

    def __init__(self, sets: Sequence[PackedActions], weight: Array) -> None:
        self.ends = np.cumsum([actions.count for actions in sets])
        components = max(len(actions.layout.lengths) for actions in sets)
        rows = sum(sum(actions.layout.lengths) for actions in sets)
        self.parts = np.zeros((1 + rows, len(weight)), dtype=np.float32)
        self.firsts = np.zeros((len(sets), components), dtype=np.int64)
        self.index = np.zeros((int(self.ends[-1]), components), dtype=np.int32)
        row, begin = 1, 0
        for b, (actions, end) in enumerate(zip(sets, self.ends.tolist(), strict=True)):
            starts = actions.layout.starts
            for c, (table, start) in enumerate(zip(actions.tables, starts, strict=True)):
                self.firsts[b, c] = row
                columns = weight[:, start : start + table.shape[1]]
                self.parts[row : row + len(table)] = table.astype(np.float32) @ columns.T
                row += len(table)
            actions.write_index(self.index[begin:end])
            begin = end


def _chunks(sets: ActionSets) -> Iterator[list[int]]:
    """Positions of the states that have actions, as many at a time as pass through together."""
    chosen: list[int] = []
    rows = 0
    for b, actions in enumerate(sets):
        count = actions.count
        if not count:
            continue
        if chosen and rows + count > _CHUNK:
            yield chosen
            chosen, rows = [], 0
        chosen.append(b)
        rows += count
    if chosen:
        yield chosen


@njit(cache=True)
def add_parts(observed, parts, firsts, index, owner, slope, out):  # type: ignore[no-untyped-def]
    """LeakyReLU of observed[owner[k]] plus the parts of action k: out (k, h)."""
    width = out.shape[1]
    for k in range(index.shape[0]):
        base, rows = observed[owner[k]], firsts[owner[k]]
        if index.shape[1] == 1:
            only = parts[rows[0] + index[k, 0]]
            for j in range(width):
                value = base[j] + only[j]
                out[k, j] = max(value, slope * value)
        elif index.shape[1] == 2:
            first, second = parts[rows[0] + index[k, 0]], parts[rows[1] + index[k, 1]]
            for j in range(width):
                value = base[j] + first[j] + second[j]
                out[k, j] = max(value, slope * value)
        else:
            for j in range(width):
                out[k, j] = base[j]
            for c in range(index.shape[1]):
                part = parts[rows[c] + index[k, c]]
                for j in range(width):
                    out[k, j] += part[j]
            for j in range(width):
                out[k, j] = max(out[k, j], slope * out[k, j])
