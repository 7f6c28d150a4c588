"""Q(o, u(a)) over all valid actions of a state, without materialised action vectors.

The vector of an action is a sum of component vectors, so the first layer splits:
W [o, u] = W_o o + sum over components of W_c u_c. Component vectors pass through the first layer
once per state, actions add up rows of the results, and the other layers are matrix products over
all actions of a state. :meth:`ActionValues.values` is the reference in numpy; :func:`best_actions`
is the compiled form, used to decide and to compute targets in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.inference.perceptron import SLOPE, Layers, pass_layers
from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.runtime.one_thread import one_thread

#: actions per matrix product: their hidden layers fit into the cache of a core
_BLOCK = 256


class QLayers(NamedTuple):
    """Weights of a Q network, its first layer split by inputs.

    Attributes:
        observation: of the first layer: (w, h).
        action: of the first layer: (d, h).
        weights: of the further layers, each (in, out).
        biases: of all layers, each (out,).
    """

    observation: Array
    action: Array
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]


class JoinedActions(NamedTuple):
    """Actions of B states of one latent space, concatenated state by state.

    Attributes:
        vectors: component vectors, state by state and component by component: (·,).
        lengths: their number, 0 where a state has no such component: (B, C).
        widths: of the components' vectors: (C,).
        starts: offsets of these within action vectors: (C,).
        rows: of the components per declared action: (·, C).
        valid: which of these are actions: (·,).
        counts: declared actions per state: (B,).
    """

    vectors: Array
    lengths: Array
    widths: Array
    starts: Array
    rows: Array
    valid: Array
    counts: Array


class ActionValues:
    """A Q network over sets of actions.

    Args:
        layers: (weight (out, in), bias (out,)) per layer; copied.
        observation_width: leading inputs that belong to the observation.
    """

    def __init__(self, layers: Layers, observation_width: int) -> None:
        if len(layers) < 2 or layers[-1][0].shape[0] != 1:
            raise LagcoError("a Q network has hidden layers and a single output")
        first, *rest = [np.array(weight.T, np.float32, order="C") for weight, _ in layers]
        self._layers = QLayers(
            observation=first[:observation_width],
            action=first[observation_width:],
            weights=tuple(rest),
            biases=tuple([np.array(bias, np.float32) for _, bias in layers]),
        )

    @one_thread()  # a sum over thousands of actions is split among threads
    def values(self, observation: Array, actions: ActionTables) -> Array:
        """Values (k,) of the actions of a state with observation (w,)."""
        layers, rows = self._layers, actions.rows
        hidden = np.tile(observation @ layers.observation + layers.biases[0], (len(rows), 1))
        for c, (table, start) in enumerate(zip(actions.tables, actions.starts, strict=True)):
            columns = layers.action[start : start + table.shape[1]]
            hidden += (table.astype(np.float32) @ columns)[rows[:, c]]
        rest = list(zip(layers.weights, layers.biases[1:], strict=True))
        return pass_layers(np.maximum(hidden, SLOPE * hidden), rest)[:, 0]

    @one_thread()
    def best(
        self, observations: Array, sets: Sequence[ActionTables]
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """Largest value (B,) of each state, 0 without actions, and its first best action (B,).

        Values are the same bits whatever the other states of the batch are.
        """
        observations = np.ascontiguousarray(observations, np.float32)
        found: tuple[Array, Any] = best_actions(observations, join_actions(sets), self._layers)
        return found

    def maxima(self, observations: Array, sets: Sequence[ActionTables]) -> Array:
        """The largest value of each state, 0 where it has no action: (B,)."""
        return self.best(observations, sets)[0]


def join_actions(sets: Sequence[ActionTables]) -> JoinedActions:
    """Actions of several states, at least one, as :func:`best_actions` takes them."""
    longest = max(sets, key=lambda actions: len(actions.tables))
    components = len(longest.tables)
    lengths = np.zeros((len(sets), components), np.int64)
    counts = np.array([actions.declared for actions in sets])
    rows = np.zeros((int(counts.sum()), components), np.int32)
    valid = np.ones(len(rows), np.bool_)
    begin = 0
    for b, (actions, count) in enumerate(zip(sets, counts.tolist(), strict=True)):
        end = begin + count
        lengths[b, : len(actions.tables)] = [len(table) for table in actions.tables]
        if actions.index is None:
            rows[begin:end, 0] = np.arange(count)
        else:
            rows[begin:end, : len(actions.tables)] = actions.index
        if actions.kept is not None:
            valid[begin:end] = actions.valid
        begin = end
    vectors = np.concatenate([table.ravel() for actions in sets for table in actions.tables])
    return JoinedActions(
        vectors.astype(np.float32, copy=False),
        lengths,
        np.array([table.shape[1] for table in longest.tables]),
        np.array(longest.starts),
        rows,
        valid,
        counts,
    )


@njit(cache=True)
def best_actions(observations, actions, layers):  # type: ignore[no-untyped-def]
    """Largest value (B,) of each state, and the first of its actions that has it (B,).

    Args:
        observations: (B, w)
        actions: :class:`JoinedActions` of the same states.
        layers: :class:`QLayers`.
    """
    states = observations.shape[0]
    largest, positions = np.zeros(states, np.float32), np.zeros(states, np.int64)
    number = declared = 0
    for b in range(states):
        lengths = actions.lengths[b, : np.count_nonzero(actions.lengths[b])]
        stop = number + (lengths * actions.widths[: len(lengths)]).sum()
        parts = _first_layer(actions.vectors[number:stop], lengths, actions, layers.action)
        number = stop
        stop = declared + actions.counts[b]
        rows = _valid_rows(actions.rows[declared:stop], actions.valid[declared:stop], lengths)
        declared = stop
        observed = np.dot(observations[b], layers.observation) + layers.biases[0]
        inputs = _add_parts(observed, parts, rows)
        best = np.float32(-np.inf)
        for start in range(0, inputs.shape[0], _BLOCK):
            values = _pass(inputs[start : start + _BLOCK], layers)
            k = np.argmax(values)
            if values[k] > best:
                best = largest[b] = values[k]
                positions[b] = start + k
    return largest, positions


@njit(cache=True)
def _pass(x, layers):  # type: ignore[no-untyped-def]
    """Values (k,) of actions, given the inputs (k, h) of the first hidden layer: overwritten."""
    for layer in range(len(layers.weights)):
        _activate(x)
        x = np.dot(x, layers.weights[layer]) + layers.biases[layer + 1]
    return x[:, 0]


@njit(cache=True)
def _first_layer(vectors, lengths, actions, weight):  # type: ignore[no-untyped-def]
    """The first layer's sums over component vectors of a state, all components: (rows, h)."""
    parts = np.empty((lengths.sum(), weight.shape[1]), np.float32)
    row = number = 0
    for c in range(lengths.shape[0]):
        size, width, start = lengths[c], actions.widths[c], actions.starts[c]
        table = vectors[number : number + size * width].reshape(size, width)
        np.dot(table, weight[start : start + width], parts[row : row + size])
        row += size
        number += size * width
    return parts


@njit(cache=True)
def _valid_rows(declared, valid, lengths):  # type: ignore[no-untyped-def]
    """Rows (k, C) of each valid action among those of all components that the state has."""
    rows = np.empty((declared.shape[0], lengths.shape[0]), np.int64)
    first = count = 0
    for c in range(lengths.shape[0]):
        count = 0
        for k in range(declared.shape[0]):
            rows[count, c] = first + declared[k, c]
            count += valid[k]  # what was written for an invalid one is overwritten
        first += lengths[c]
    return rows[:count]


@njit(cache=True)
def _add_parts(observed, parts, rows):  # type: ignore[no-untyped-def]
    """Sums (k, h) of the observation's and the components' parts of the first hidden layer.

    Two components are added at a time, which halves how often sums are read and written.
    """
    count, components = rows.shape
    width = observed.shape[0]
    out = np.empty((count, width), np.float32)
    for k in range(count):
        total, part = out[k], parts[rows[k, 0]]
        for j in range(width):
            total[j] = observed[j] + part[j]
        for c in range(1, components - 1, 2):
            part, other = parts[rows[k, c]], parts[rows[k, c + 1]]
            for j in range(width):
                total[j] += part[j] + other[j]
        if components % 2 == 0:
            part = parts[rows[k, components - 1]]
            for j in range(width):
                total[j] += part[j]
    return out


@njit(cache=True)
def _activate(x):  # type: ignore[no-untyped-def]
    """LeakyReLU in place."""
    values = x.reshape(x.size)
    for i in range(values.shape[0]):
        values[i] = max(values[i], SLOPE * values[i])
