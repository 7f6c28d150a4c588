"""Q(o, u(a)) over all valid actions of a state, without writing down their vectors.

An action's vector is made of component vectors, so the first layer splits:
W [o, u] = W_o o + sum over components of W_c u_c. Component tables pass through the first layer
once; actions add up rows of the results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numba import njit

from lagco.agents.network import SLOPE, layers_of
from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.latent.space import LatentView
from lagco.search import PathSpace, ProductSpace
from lagco.search.errors import NoValidAction, TooManyActions

#: so many actions of a state are looked at; beyond it, as many that are drawn at random
MOST_ACTIONS = 20_000
#: rows that pass through the network together
_CHUNK = 32_768
_NO_VALUES = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class ActionTables:
    """The valid actions of one state.

    Attributes:
        tables: component vectors, each (n_c, d_c).
        starts: where each component's vector is added into an action's vector.
        index: (k, components) rows of the tables; None where action i is row i of the only table.
    """

    tables: tuple[Array, ...]
    starts: tuple[int, ...]
    index: Array | None

    @cached_property
    def count(self) -> int:
        """How many actions there are."""
        return len(self.tables[0]) if self.index is None else len(self.index)

    def __len__(self) -> int:
        return self.count

    def vector(self, position: int, width: int) -> Array:
        """Vector (width,) of one action."""
        found = np.zeros(width, dtype=np.float32)
        for c, (table, start) in enumerate(zip(self.tables, self.starts, strict=True)):
            row = position if self.index is None else self.index[position, c]
            found[start : start + table.shape[1]] += table[row]
        return found

    def vectors(self, width: int) -> Array:
        """Vectors (k, width) of all actions."""
        return np.array([self.vector(i, width) for i in range(len(self))]).reshape(-1, width)

    def compact(self) -> ActionTables:
        """The same in half precision and with the smallest integers, for keeping many."""
        index = self.index
        if index is not None:
            index = index.astype(np.min_scalar_type(max((len(t) for t in self.tables), default=0)))
        # a copy: the table may be a view of something that changes
        return ActionTables(tuple([t.astype(np.float16) for t in self.tables]), self.starts, index)


def read_actions(view: LatentView, rng: np.random.Generator) -> tuple[Array, ActionTables]:
    """Search rows of the valid actions of the present state, and their component tables.

    More than :data:`MOST_ACTIONS` declared actions are not listed but sampled with `rng`.
    """
    rows = _valid_rows(view, rng)
    actions = view.actions()
    space = actions.space
    if isinstance(space, ProductSpace):
        tables = space.tables
        if len(tables) == 1:
            table = tables[0] if len(rows) == len(tables[0]) else tables[0][rows[:, 0]]
            return rows, ActionTables((table,), (0,), None)
        widths = [table.shape[1] for table in tables]
        starts = [0] * len(tables)
        if space.pooling == "concat":
            starts = np.cumsum([0, *widths[:-1]]).tolist()
        elif space.pooling != "sum":
            return rows, _listed(view, rows)
        return rows, ActionTables(tuple(tables), tuple(starts), rows)
    if isinstance(space, PathSpace):
        return rows, _path_tables(space, rows, view.space.scale.width)
    return rows, _listed(view, rows)


def _listed(view: LatentView, rows: Array) -> ActionTables:
    vectors = view.actions().vectors(rows).astype(np.float32)
    return ActionTables((vectors,), (0,), None)


def _path_tables(space: PathSpace, rows: Array, width: int) -> ActionTables:
    """Leading components, the demand, and a table per position whose last row is 'no node'."""
    tables = list(space.leading)
    columns = list(range(len(tables)))
    if space.demand_table is not None:
        columns.append(len(tables))
        tables.append(space.demand_table)
    starts = np.cumsum([0, *[table.shape[1] for table in tables]]).tolist()
    first = len(space.leading) + int(space.paths.has_demands)
    positions, nodes, slot = space.paths.positions, space.paths.nodes, space.node_width
    slots = min(positions, (width - starts[-1]) // slot)  # longer paths keep their first nodes
    padded = np.zeros((slots, nodes + 1, slot), dtype=np.float32)
    padded[:, :nodes] = space.tables[:slots] if space.tables.ndim == 3 else space.tables
    starts += [starts[-1] + t * slot for t in range(1, slots)]
    columns += range(first, first + slots)
    return ActionTables((*tables, *padded), tuple(starts), rows[:, columns])


def _valid_rows(view: LatentView, rng: np.random.Generator) -> Array:
    actions, env = view.actions(), view.env
    space = actions.space
    sampled = False
    if isinstance(space, ProductSpace) and len(space.tables) == 1:
        rows = np.arange(len(space.tables[0]))[:, None]
    else:
        try:
            rows = actions.list(MOST_ACTIONS)
        except TooManyActions:
            rows = np.unique(actions.sample(rng, MOST_ACTIONS), axis=0)
            sampled = True
    if len(rows):
        valid = np.asarray(env.are_valid_actions(view.raw(rows)), dtype=bool)
        rows = rows if valid.all() else rows[valid]
    if not len(rows) and sampled:
        with contextlib.suppress(NoValidAction):
            rows = view.nearest(np.zeros(view.space.scale.width, np.float32), 1, "inner").indices
    return rows


class SplitQ:
    """The Q network over sets of actions, in numpy.

    Args:
        layers: (weight (out, in), bias (out,)) per layer; the arrays are used, not copied, so that
            a network in training is always the present one.
        observation_width: leading inputs that belong to the observation.
    """

    def __init__(self, layers: Sequence[tuple[Array, Array]], observation_width: int) -> None:
        if len(layers) < 2 or layers[-1][0].shape[0] != 1:
            raise LagcoError("a Q network has hidden layers and a single output")
        (weight, self._bias), *self._rest = layers
        self._for_observation = weight[:, :observation_width]
        self._for_action = weight[:, observation_width:]

    def values(self, observations: Array, sets: Sequence[ActionTables]) -> list[Array]:
        """Values of the actions of several states: per state (k,)."""
        found = [_NO_VALUES] * len(sets)
        for chosen in _chunks(sets):
            values, ends = self._values(observations[chosen], [sets[b] for b in chosen])
            for b, value in zip(chosen, np.split(values, ends[:-1]), strict=True):
                found[b] = value
        return found

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
        hidden = np.empty((len(index), len(self._bias)), dtype=np.float32)
        add_parts(observed, parts, index, owner, SLOPE, hidden)
        for weight, bias in self._rest[:-1]:
            hidden = hidden @ weight.T
            hidden += bias
            np.maximum(hidden, SLOPE * hidden, out=hidden)
        weight, bias = self._rest[-1]
        return hidden @ weight[0] + bias[0], ends

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


def q_layers(weights: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """The layers of the network ``q``."""
    found = layers_of(weights, "q")
    return [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in found]
