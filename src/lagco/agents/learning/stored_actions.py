"""Compact storage of the action sets of many states; shared arrays are stored once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import numpy as np

from lagco.agents.inference.action_tables import ActionTables, in_few_bytes
from lagco.arrays import Array
from lagco.store.tensors import JoinedRows

#: indices of actions that are known by their identity
_MET = 32


class SharedArrays:
    """Deduplicates the arrays of action sets, in half precision and the smallest integers.

    Tables are compared with those of the previous state; indices, which recur with their instance,
    are looked up among all.
    """

    def __init__(self) -> None:
        self._indices: WeakValueDictionary[bytes, Array] = WeakValueDictionary()
        #: recent indices and their stored forms, by identity of the former
        self._met: dict[int, tuple[Array, Array]] = {}

    def store(self, actions: ActionTables, before: ActionTables | None) -> ActionTables:
        """A compact copy of actions that shares equal arrays with those stored `before`."""
        index = None if actions.index is None else self._known(actions.index)
        kept = replace(actions, tables=actions.halved().tables, index=index)
        if before is None or before.starts != kept.starts:
            return kept
        tables = [
            known if _equal(table, known) else table
            for table, known in zip(kept.tables, before.tables, strict=True)
        ]
        return replace(kept, tables=tuple(tables), starts=before.starts)

    def _known(self, index: Array) -> Array:
        met = self._met.get(id(index))
        if met is not None:
            return met[1]
        kept = in_few_bytes(index)
        described = f"{kept.dtype} {kept.shape} ".encode() + kept.tobytes()
        kept = self._indices.setdefault(hashlib.sha256(described).digest(), kept)
        if len(self._met) == _MET:
            self._met.clear()
        self._met[id(index)] = index, kept
        return kept


def _equal(table: Array, known: Array) -> bool:
    return table.shape == known.shape and table.tobytes() == known.tobytes()


def flattened(sets: Sequence[ActionTables]) -> dict[str, Array | JoinedRows]:
    """Action sets as arrays: the different tables and indices, and which of them each set has."""
    components = max((len(a.tables) for a in sets), default=0)
    starts = np.zeros((len(sets), components), dtype=np.int32)
    tables = np.full((len(sets), components), -1, dtype=np.int32)  # -1: none
    indices = np.full(len(sets), -1, dtype=np.int32)
    partly = np.array([a.kept is not None for a in sets], dtype=bool)
    found: dict[str, Array | JoinedRows] = {}
    for i, actions in enumerate(sets):
        starts[i, : len(actions.starts)] = actions.starts
    for c in range(components):
        chosen = [i for i, a in enumerate(sets) if c < len(a.tables)]
        tables[chosen, c], different = _numbered([sets[i].tables[c] for i in chosen])
        found[f"tables.{c}.rows"] = np.array([len(table) for table in different], np.int32)
        filled = [table for table in different if table.size] or [np.zeros((0, 0), np.float16)]
        found[f"tables.{c}"] = JoinedRows(filled)
    named = {i: a.index for i, a in enumerate(sets) if a.index is not None}
    indices[list(named)], different = _numbered(list(named.values()))
    found["indices.shape"] = np.array([i.shape for i in different], np.int32).reshape(-1, 2)
    found["indices"] = _joined([i.ravel() for i in different])
    found["sets.kept"] = _joined([a.kept for a in sets if a.kept is not None])
    return found | {
        "sets.starts": starts,
        "sets.tables": tables,
        "sets.index": indices,
        "sets.partly": partly,
    }


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if len(parts) else np.zeros(0, np.uint8)


def _numbered(arrays: Sequence[Array]) -> tuple[list[int], list[Array]]:
    """Numbers of arrays among the different ones, and these."""
    numbers: dict[int, int] = {}
    different: list[Array] = []
    for array in arrays:
        if id(array) not in numbers:
            numbers[id(array)] = len(different)
            different.append(array)
    return [numbers[id(array)] for array in arrays], different


def unflattened(arrays: Mapping[str, Array], width: int) -> list[ActionTables]:
    """The inverse of :func:`flattened` for action vectors of a width.

    Raises:
        ValueError: rows or columns are named that are not there: compiled code reads them
            unchecked.
    """
    numbers, starts = _integers(arrays["sets.tables"], 2), _integers(arrays["sets.starts"], 2)
    partly, indexed = arrays["sets.partly"], _integers(arrays["sets.index"], 1)
    count = len(numbers)
    if starts.shape != numbers.shape or indexed.shape != (count,) or partly.shape != (count,):
        raise ValueError(f"{count} sets of actions are described in part")
    tables = [_tables(arrays, c) for c in range(numbers.shape[1])]
    indices = _indices(arrays)
    most = [index.astype(np.int64).max(axis=0, initial=-1) for index in indices]
    bits, at = arrays["sets.kept"], 0
    sets: list[ActionTables] = []
    for i, (named, offsets, number) in enumerate(
        zip(numbers.tolist(), starts.tolist(), indexed.tolist(), strict=True)
    ):
        own = tuple([_at(tables[c], n, "table") for c, n in enumerate(named) if n >= 0])
        if not own or len(own) < len(named) - named.count(-1) or -1 in named[: len(own)]:
            raise ValueError(f"the actions of state {i} have the tables {named}")
        index = kept = None
        if number >= 0:
            index = _at(indices, number, "index")
            if index.shape[1] != len(own) or any(
                row >= len(table) for row, table in zip(most[number], own, strict=True)
            ):
                raise ValueError(f"actions of state {i} name rows {most[number]} of their tables")
        elif len(own) > 1:
            raise ValueError(f"the actions of state {i} have {len(own)} tables and no index")
        if partly[i]:
            if index is None:
                raise ValueError(f"the actions of state {i} have no index to be a part of")
            end = at + -(-len(index) // 8)
            kept, at = bits[at:end].copy(), end
            if kept.dtype != np.uint8 or np.unpackbits(kept)[len(index) :].any() or end > len(bits):
                raise ValueError(f"the bits of state {i} are not those of {len(index)} actions")
        for table, start in zip(own, offsets, strict=False):
            if not 0 <= start <= width - table.shape[1]:
                raise ValueError(f"a table of actions is {table.shape[1]} wide from {start} on")
        sets.append(ActionTables(own, tuple(offsets[: len(own)]), index, kept))
    return sets


def _integers(array: Array, dimensions: int) -> Array:
    if array.dtype.kind not in "iu" or array.ndim != dimensions:
        raise ValueError(f"sets of actions are described by {array.dtype} {array.shape}")
    return array


def _at(arrays: Sequence[Array], number: int, what: str) -> Array:
    if number >= len(arrays):
        raise ValueError(f"there is no {what} {number} among {len(arrays)}")
    return arrays[number]


def _tables(arrays: Mapping[str, Array], component: int) -> list[Array]:
    rows, joined = arrays[f"tables.{component}.rows"], np.asarray(arrays[f"tables.{component}"])
    if joined.ndim != 2 or joined.dtype != np.float16:
        raise ValueError(f"tables of actions are {joined.dtype} {joined.shape}")
    if (_integers(rows, 1) < 0).any() or rows.sum() != len(joined):
        raise ValueError(f"tables of actions have {len(joined)} rows, {rows.sum()} are described")
    ends = np.cumsum(rows, dtype=np.int64)
    # copies, so that memory is freed state by state
    return [joined[end - length : end].copy() for end, length in zip(ends, rows, strict=True)]


def _indices(arrays: Mapping[str, Array]) -> list[Array]:
    shapes, joined = _integers(arrays["indices.shape"], 2), _integers(arrays["indices"], 1)
    sizes = np.prod(shapes.astype(np.int64), axis=1)
    if shapes.shape[1] != 2 or (shapes < 0).any() or sizes.sum() != len(joined):
        raise ValueError(f"indices of actions have {len(joined)} numbers, not {sizes.sum()}")
    if joined.dtype.kind == "i" and (joined < 0).any():
        raise ValueError("an index of actions names a negative row")
    ends = np.cumsum(sizes)
    return [
        in_few_bytes(joined[end - size : end].reshape(shape))
        for end, size, shape in zip(ends, sizes, shapes.tolist(), strict=True)
    ]
