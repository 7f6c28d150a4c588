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
from lagco.agents.q_bounds import mark_candidates
from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.one_thread import one_thread

#: rows that pass through the network together
_CHUNK = 32_768
#: rows whose hidden layers stay in the cache of a core
_BLOCK = 1024
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
        self._rest = [(weight.T, bias) for weight, bias in rest]
        self._for_observation = weight[:, :observation_width]
        self._for_action = weight[:, observation_width:]

    @one_thread()  # a sum over thousands of actions is split among threads
    def values(self, observations: Array, sets: Sequence[ActionTables]) -> list[Array]:
        """Values of the actions of several states: per state (k,)."""
        found = [_NO_VALUES] * len(sets)
        for chosen in _chunks(sets):
            stacked = _Stacked([sets[b] for b in chosen], self._for_action)
            values = self._pass(self._observed(observations[chosen]), stacked, None)
            for b, value in zip(chosen, np.split(values, stacked.ends[:-1]), strict=True):
                found[b] = value
        return found

    @one_thread()
    def best(
        self, observations: Array, sets: Sequence[ActionTables]
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """The largest value of each state and the first action that has it; 0 where there is none.

        Actions that cannot have it are not passed (:mod:`lagco.agents.q_bounds`).
        """
        largest = np.zeros(len(sets), dtype=np.float32)
        positions = np.zeros(len(sets), dtype=np.int64)
        for chosen in _chunks(sets):
            stacked = _Stacked([sets[b] for b in chosen], self._for_action)
            observed = self._observed(observations[chosen])
            rows = self._candidates(observed, stacked)
            values = self._pass(observed, stacked, rows)
            begins = np.concatenate([[0], stacked.ends[:-1]])
            groups = np.searchsorted(rows, begins)
            largest[chosen] = np.maximum.reduceat(values, groups)
            first = np.flatnonzero(
                values == np.repeat(largest[chosen], np.diff(groups, append=len(rows)))
            )
            positions[chosen] = rows[first[np.searchsorted(first, groups)]] - begins
        return largest, positions

    def maxima(self, observations: Array, sets: Sequence[ActionTables]) -> Array:
        """The largest value of each state, 0 where it has no action: (B,)."""
        return self.best(observations, sets)[0]

    def _observed(self, observations: Array) -> Array:
        """The first layer's sums over observations, with its bias."""
        observed: Array = observations @ self._for_observation.T
        observed += self._bias
        return observed

    def _candidates(self, observed: Array, stacked: _Stacked) -> npt.NDArray[np.int64]:
        """Numbers of the actions that may have the largest value of their state."""
        count = len(stacked.index)
        if len(self._rest) != 2:
            return np.arange(count)
        (second, bias), (last, _) = self._rest
        found = np.zeros(count, dtype=bool)
        mark_candidates(
            observed, stacked.parts, stacked.firsts, stacked.lengths, stacked.vectors,
            stacked.places, stacked.inward, stacked.starts, stacked.widths, stacked.index,
            stacked.ends, np.ascontiguousarray(second), bias, np.ascontiguousarray(last[:, 0]),
            SLOPE, found,
        )  # fmt: skip
        return np.flatnonzero(found)

    def _pass(self, observed: Array, stacked: _Stacked, rows: Array | None) -> Array:
        """Values of some actions, or of all."""
        owner = np.repeat(np.arange(len(observed)), np.diff(stacked.ends, prepend=0))
        index = stacked.index
        if rows is not None and len(rows) < len(index):
            owner, index = owner[rows], index[rows]
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
    """Component tables and actions of several states, one behind the other.

    Args:
        sets: of the states; each has an action.
        weight: of the first layer over action vectors: (h, d).

    Attributes: see :func:`~lagco.agents.q_bounds.mark_candidates`; row 0 of ``parts`` is 0 and
        stands for components that a state does not have.
    """

    def __init__(self, sets: Sequence[ActionTables], weight: Array) -> None:
        self.inward = np.ascontiguousarray(weight.T)
        self.ends = np.cumsum([actions.count for actions in sets])
        longest = max(sets, key=lambda actions: len(actions.tables))
        components = len(longest.tables)
        self.starts = np.array(longest.starts)
        self.widths = np.array([table.shape[1] for table in longest.tables])
        self.lengths = np.zeros((len(sets), components), dtype=np.int64)
        for b, actions in enumerate(sets):
            for c, table in enumerate(actions.tables):
                self.lengths[b, c] = len(table)
        sizes = self.lengths.T.ravel()  # component by component, as tables are passed
        self.firsts = (1 + np.cumsum(sizes) - sizes).reshape(components, -1).T
        self.firsts[self.lengths == 0] = 0
        numbers = (self.lengths * self.widths).T.ravel()
        self.places = (np.cumsum(numbers) - numbers).reshape(components, -1).T
        self.vectors = np.empty(int(numbers.sum()), dtype=np.float32)
        self.parts = np.empty((1 + int(sizes.sum()), len(weight)), dtype=np.float32)
        self.parts[0] = 0.0
        row, number = 1, 0
        for c, width in enumerate(self.widths.tolist()):
            tables = [actions.tables[c] for actions in sets if c < len(actions.tables)]
            total, start = int(self.lengths[:, c].sum()), longest.starts[c]
            vectors = self.vectors[number : number + total * width].reshape(total, width)
            np.concatenate(tables, out=vectors)
            np.matmul(
                vectors, weight[:, start : start + width].T, out=self.parts[row : row + total]
            )
            row, number = row + total, number + total * width
        self.index = np.zeros((int(self.ends[-1]), components), dtype=np.int32)
        begin = 0
        for actions, end in zip(sets, self.ends.tolist(), strict=True):
            actions.write_index(self.index[begin:end])
            begin = end


def _chunks(sets: Sequence[ActionTables]) -> Iterator[list[int]]:
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
