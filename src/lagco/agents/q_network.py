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
            values, ends = self._values(observations[chosen], [sets[b] for b in chosen])
            for b, value in zip(chosen, np.split(values, ends[:-1]), strict=True):
                found[b] = value
        return found

    @one_thread()
    def maxima(self, observations: Array, sets: Sequence[ActionTables]) -> Array:
        """The largest value of each state, 0 where it has no action: (B,)."""
        found = np.zeros(len(sets), dtype=np.float32)
        for chosen in _chunks(sets):
            values, ends = self._values(observations[chosen], [sets[b] for b in chosen])
            found[chosen] = np.maximum.reduceat(values, np.concatenate([[0], ends[:-1]]))
        return found

    def _values(
        self, observations: Array, sets: Sequence[ActionTables]
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """Values of all actions, one state after the other, and where each state's end."""
        observed = observations @ self._for_observation.T
        observed += self._bias
        parts, index, ends = self._pass_tables(sets)
        owner = np.repeat(np.arange(len(sets)), np.diff(ends, prepend=0))
        values = np.empty(len(index), dtype=np.float32)
        hidden = np.empty((_BLOCK, len(self._bias)), dtype=np.float32)
        for start in range(0, len(index), _BLOCK):
            stop = min(start + _BLOCK, len(index))
            block = hidden[: stop - start]
            add_parts(observed, parts, index[start:stop], owner[start:stop], SLOPE, block)
            values[start:stop] = pass_layers(block, self._rest)[:, 0]
        return values, ends

    def _pass_tables(self, sets: Sequence[ActionTables]) -> tuple[Array, Array, Array]:
        """First-layer rows of all components (row 0: nothing), their rows per action, and ends."""
        ends = np.cumsum([actions.count for actions in sets])
        components = max([len(actions.tables) for actions in sets])
        parts = [np.zeros((1, len(self._bias)), dtype=np.float32)]
        offsets = np.zeros((len(sets), components), dtype=np.int64)
        total = 1
        for c in range(components):
            group = [b for b, actions in enumerate(sets) if c < len(actions.tables)]
            tables = [sets[b].tables[c] for b in group]
            start = sets[group[0]].starts[c]
            lengths = np.array([len(table) for table in tables])
            offsets[group, c] = total + np.cumsum(lengths) - lengths
            stacked = np.concatenate(tables).astype(np.float32, copy=False)
            parts.append(stacked @ self._for_action[:, start : start + stacked.shape[1]].T)
            total += len(stacked)
        if components == 1 and all(actions.index is None for actions in sets):
            return np.concatenate(parts), np.arange(1, total)[:, None], ends
        index = np.zeros((int(ends[-1]), components), dtype=np.int64)
        begin = 0
        for actions, end, offset in zip(sets, ends.tolist(), offsets, strict=True):
            if actions.index is None:
                index[begin:end, 0] = np.arange(offset[0], offset[0] + end - begin)
            else:
                count = actions.index.shape[1]
                np.add(actions.index, offset[:count], out=index[begin:end, :count])
            begin = end
        return np.concatenate(parts), index, ends


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
def add_parts(observed, parts, index, owner, slope, out):  # type: ignore[no-untyped-def]
    """LeakyReLU of observed[owner[k]] plus the parts[index[k]]: out (k, h)."""
    width = out.shape[1]
    for k in range(index.shape[0]):
        base = observed[owner[k]]
        if index.shape[1] == 1:
            only = parts[index[k, 0]]
            for j in range(width):
                value = base[j] + only[j]
                out[k, j] = max(value, slope * value)
        elif index.shape[1] == 2:
            first, second = parts[index[k, 0]], parts[index[k, 1]]
            for j in range(width):
                value = base[j] + first[j] + second[j]
                out[k, j] = max(value, slope * value)
        else:
            for j in range(width):
                out[k, j] = base[j]
            for c in range(index.shape[1]):
                part = parts[index[k, c]]
                for j in range(width):
                    out[k, j] += part[j]
            for j in range(width):
                out[k, j] = max(out[k, j], slope * out[k, j])
