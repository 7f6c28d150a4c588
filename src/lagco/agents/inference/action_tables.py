"""Valid actions of a state as component tables and indices, without materialised action vectors.

`iterative` reads all of them (:func:`read_actions`), `soft-projection` the nearest ones to a
proto-action (:func:`nearest_actions`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.latent.space import LatentView
from lagco.search import NoValidAction
from lagco.search.errors import TooManyActions

#: declared actions of a state that are listed; of more, this many are sampled
MOST_ACTIONS = 20_000
#: candidates of a state: the actions nearest to a proto-action
CANDIDATES = 256


@dataclass(frozen=True)
class ActionTables:
    """Actions of one state.

    Attributes:
        tables: component vectors, each (n_c, d_c).
        starts: where each component's vector is added into an action's vector.
        index: (k, components) rows of the tables; None where action i is row i of the only table.
        kept: which rows of the index are actions, as packed bits; None where all are. It lets many
            states share the index of all declared actions.
    """

    tables: tuple[Array, ...]
    starts: tuple[int, ...]
    index: Array | None
    kept: Array | None = None

    @cached_property
    def count(self) -> int:
        """Number of actions."""
        return self.declared if self.kept is None else int(np.bitwise_count(self.kept).sum())

    def __len__(self) -> int:
        return self.count

    @property
    def declared(self) -> int:
        """Number of rows that name actions, valid or not."""
        return len(self.tables[0]) if self.index is None else len(self.index)

    @property
    def valid(self) -> Array:
        """Which of these are actions: bool (declared,)."""
        if self.kept is None:
            return np.ones(self.declared, dtype=bool)
        return np.unpackbits(self.kept, count=self.declared).view(bool)

    @property
    def rows(self) -> Array:
        """Rows (k, components) of the tables, of all actions."""
        if self.index is None:
            return np.arange(self.count)[:, None]
        return self.index if self.kept is None else self.index[self.valid]

    def place(self, position: int) -> int:
        """Row of one action among those declared."""
        return position if self.kept is None else int(np.flatnonzero(self.valid)[position])

    def vector(self, position: int, width: int) -> Array:
        """Vector (width,) of one action."""
        found = np.zeros(width, dtype=np.float32)
        position = self.place(position)
        for c, (table, start) in enumerate(zip(self.tables, self.starts, strict=True)):
            row = position if self.index is None else self.index[position, c]
            found[start : start + table.shape[1]] += table[row]
        return found

    def vectors(self, width: int) -> Array:
        """Vectors (k, width) of all actions."""
        found = np.zeros((self.count, width), dtype=np.float32)
        for c, (table, start) in enumerate(zip(self.tables, self.starts, strict=True)):
            found[:, start : start + table.shape[1]] += table[self.rows[:, c]]
        return found

    def only(self, valid: Array) -> ActionTables:
        """The actions for which `valid`, bool (k,), is true."""
        if self.index is None:
            return replace(self, tables=(self.tables[0][valid],))
        return replace(self, kept=np.packbits(valid))

    def products(self, proto: Array) -> Array:
        """Inner products (k,) of all actions with a proto-action (width,)."""
        total: Array | None = None
        for c, (table, start) in enumerate(zip(self.tables, self.starts, strict=True)):
            part: Array = table @ proto[start : start + table.shape[1]]
            if self.index is not None:
                part = part[self.index[:, c]]
            total = part if total is None else total + part
        assert total is not None
        return total

    def trimmed(self) -> ActionTables:
        """A copy without unused rows of tables, its index in the smallest integers."""
        if self.index is None:
            return replace(self, tables=(self.tables[0].copy(),))
        lengths = np.array([len(table) for table in self.tables])
        kept = np.empty((len(lengths), min(int(lengths.max()), self.count)), dtype=np.int64)
        counts = np.empty(len(lengths), dtype=np.int64)
        index = np.empty(self.index.shape, dtype=np.min_scalar_type(kept.shape[1]))
        trim(np.ascontiguousarray(self.index), lengths, kept, counts, index)
        tables = [
            table[rows[:count]]
            for table, rows, count in zip(self.tables, kept, counts.tolist(), strict=True)
        ]
        return replace(self, tables=tuple(tables), index=index)

    def compact(self) -> ActionTables:
        """A copy in half precision and with the smallest integers, for storage."""
        index = None if self.index is None else in_few_bytes(self.index)
        return replace(self.halved(), index=index)

    def halved(self) -> ActionTables:
        """A copy of the tables in half precision; values out of its range become infinite."""
        with np.errstate(over="ignore"):  # copies: tables may be views of something that changes
            return replace(self, tables=tuple([t.astype(np.float16) for t in self.tables]))


@njit(cache=True)
def trim(index, lengths, kept, counts, out):  # type: ignore[no-untyped-def]
    """Write the rows that actions use to `kept`, and the actions in terms of these to `out`."""
    for c in range(lengths.shape[0]):
        places = np.full(lengths[c], -1, np.int64)
        for k in range(index.shape[0]):
            places[index[k, c]] = 0
        count = 0
        for row in range(lengths[c]):
            if places[row] == 0:
                kept[c, count] = row
                places[row] = count
                count += 1
        counts[c] = count
        for k in range(index.shape[0]):
            out[k, c] = places[index[k, c]]


def in_few_bytes(index: Array) -> Array:
    """Rows in the smallest integers that hold them."""
    return index.astype(np.min_scalar_type(int(index.max(initial=0))))


def read_actions(view: LatentView, rng: np.random.Generator) -> tuple[Array, ActionTables]:
    """Search rows of the present state, and the valid actions: action i is row `place(i)`.

    More than :data:`MOST_ACTIONS` declared actions are not listed but sampled with `rng`.
    """
    declared, valid = _declared_rows(view, rng)
    found = _component_tables(view, declared)
    if valid.all():
        return declared, found
    actions = found.only(valid)
    return (declared[valid] if actions.kept is None else declared), actions


def nearest_actions(view: LatentView, proto: Array, most: int) -> tuple[Array, ActionTables]:
    """Search rows and tables of all valid actions, or of the `most` nearest by inner product.

    Raises:
        NoValidAction: there is none.
    """
    rows, _ = _nearest_rows(view, proto, most)
    return rows, _component_tables(view, rows)


def nearest_products(view: LatentView, proto: Array, most: int) -> tuple[Array, Array]:
    """Search rows as by :func:`nearest_actions`, and inner products (k,) with the proto-action.

    Raises:
        NoValidAction: there is none.
    """
    rows, products = _nearest_rows(view, proto, most)
    return rows, _component_tables(view, rows).products(proto) if products is None else products


def labelled_actions(
    view: LatentView, proto: Array, most: int, right: Array
) -> tuple[Array, ActionTables, Array]:
    """:func:`nearest_actions` together with the right actions, also where these are not near.

    Args:
        view: of the state.
        proto: (d,)
        most: number of nearest actions.
        right: raw actions (k,) or (k, m); empty where none is known.

    Returns:
        Search rows, their tables, and which of them are right (bool).

    Raises:
        NoValidAction: there is none.
    """
    rows, _ = _nearest_rows(view, proto, most)
    if not len(right):
        return rows, _component_tables(view, rows).trimmed(), np.zeros(len(rows), dtype=bool)
    wanted = view.actions().rows(view.env.parts_from_actions(np.asarray(right)))
    places = {row: place for place, row in enumerate(map(tuple, rows.tolist()))}
    missing = [row for row in map(tuple, wanted.tolist()) if row not in places]
    if missing:
        rows = np.concatenate([rows, np.array(sorted(set(missing)), dtype=rows.dtype)])
        places = {row: place for place, row in enumerate(map(tuple, rows.tolist()))}
    labels = np.zeros(len(rows), dtype=bool)
    labels[[places[row] for row in map(tuple, wanted.tolist())]] = True
    return rows, _component_tables(view, rows).trimmed(), labels


def _nearest_rows(view: LatentView, proto: Array, most: int) -> tuple[Array, Array | None]:
    """Search rows, and their inner products where these were searched by."""
    actions = view.actions()
    rows, products = actions.all_rows(most), None
    if rows is not None:
        valid = np.asarray(view.env.are_valid_actions(view.raw(rows)), dtype=bool)
        rows = rows[valid] if not valid.all() else rows
    else:
        rows, products = actions.nearest(proto, most, "inner", view.env)
    if not len(rows):
        raise NoValidAction("no action is valid")
    return rows, products


def _component_tables(view: LatentView, rows: Array) -> ActionTables:
    """Tables of distinct search rows."""
    return ActionTables(*view.actions().addends(rows))


def _declared_rows(view: LatentView, rng: np.random.Generator) -> tuple[Array, Array]:
    """Search rows of declared actions, and which of them are valid."""
    actions, env = view.actions(), view.env
    sampled = False
    rows = actions.all_rows(MOST_ACTIONS)
    if rows is None:
        try:
            rows = actions.list(MOST_ACTIONS)
        except TooManyActions:
            rows = np.unique(actions.sample(rng, MOST_ACTIONS), axis=0)
            sampled = True
    valid = np.zeros(len(rows), dtype=bool)
    if len(rows):
        valid = np.asarray(env.are_valid_actions(view.raw(rows)), dtype=bool)
    if sampled and not valid.any():
        with contextlib.suppress(NoValidAction):
            rows = view.nearest(np.zeros(view.space.scale.width, np.float32), 1, "inner").indices
            valid = np.ones(len(rows), dtype=bool)
    return rows, valid
