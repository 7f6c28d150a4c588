"""Drafts of changed instances: rows removed, put aside, restored and added in all arrays at once.

The declared form of instances says which arrays belong together: every axis called ``links`` has a
row per link, and an array whose values are below ``size`` names decision variables. So an event
names the links to remove, and the draft removes them from edges, capacities, weights and all other
arrays by link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED
from lagco.errors import InstanceError, SpecError, suggest
from lagco.instances import Instance, References

if TYPE_CHECKING:
    from lagco.core.problem import Problem

#: suffix of arrays with the rows put aside
ASIDE = "_aside"


class Draft:
    """An instance under change.

    Args:
        cls: class of the problem.
        instance: the instance before the event.
        solution: the configuration in force, for problems whose instances hold none.

    Attributes:
        cls: class of the problem.
        before: the instance before the event.
        arrays: by name; to be replaced, since arrays of instances are read-only.
        params: parameters.
        solution: as above; the event must adapt it to its changes.
    """

    def __init__(self, cls: type[Problem], instance: Instance, solution: Any = None) -> None:
        self.cls = cls
        self.before = instance
        self.arrays: dict[str, Array] = dict(instance.arrays)
        self.params: dict[str, Any] = dict(instance.params)
        self.size = instance.size
        self.solution = solution

    def error(self, reason: str) -> InstanceError:
        """The error to raise for an impossible event."""
        return InstanceError(f"{self.before.name!r}: {reason}")

    def named(self, kind: str, name: str, names: Sequence[str]) -> int:
        """Number of something by its name, or an error that suggests close ones."""
        try:
            return names.index(name)
        except ValueError:
            raise self.error(suggest(kind, name, names)) from None

    # -- rows

    def count(self, axis: str) -> int:
        """Number of rows of an axis."""
        for name, place in self._along(axis):
            return int(self.arrays[name].shape[place])
        raise SpecError(f"{self.cls.__name__}.form declares no array with an axis {axis!r}")

    def remove(self, axis: str, gone: Any) -> None:
        """Take rows out of all arrays, and what refers to them: by number, or bool."""
        rows = np.arange(self.count(axis))
        kept = np.delete(rows, np.flatnonzero(gone) if _is_mask(gone) else gone)
        place_of = np.full(len(rows), -1, dtype=np.int64)
        place_of[kept] = np.arange(len(kept))
        for name, place in list(self._along(axis)):
            self.arrays[name] = np.take(self.arrays[name], kept, axis=place)
        self._renumber(axis, place_of)
        self._set_size(axis, len(kept))

    def put_aside(self, axis: str, gone: Any) -> None:
        """The same, keeping the rows for :meth:`bring_back`."""
        chosen = np.flatnonzero(gone) if _is_mask(gone) else np.asarray(gone, dtype=np.int64)
        for name, place in list(self._along(axis)):
            rows = np.take(self.arrays[name], chosen, axis=place)
            before = self.arrays.get(name + ASIDE)
            joined = rows if before is None else self._joined(name, place, before, rows)
            self.arrays[name + ASIDE] = joined
        self.remove(axis, chosen)

    def aside(self, name: str) -> Array | None:
        """Rows of an array that were put aside; None where there are none."""
        return self.arrays.get(name + ASIDE)

    def bring_back(self, axis: str, chosen: Any) -> None:
        """Put rows that were put aside behind those there are."""
        for name, place in list(self._along(axis)):
            aside = self.arrays.get(name + ASIDE)
            if aside is None:
                continue
            rows = np.flatnonzero(chosen) if _is_mask(chosen) else np.asarray(chosen, np.int64)
            back = np.take(aside, rows, axis=place)
            self.arrays[name] = self._joined(name, place, self.arrays[name], back)
            rest = np.delete(aside, rows, axis=place)
            if rest.shape[place]:
                self.arrays[name + ASIDE] = rest
            else:
                del self.arrays[name + ASIDE]
        self._set_size(axis, self.count(axis))

    def forget_aside(self, axis: str, chosen: Any) -> None:
        """Drop rows that were put aside."""
        for name, place in list(self._along(axis)):
            aside = self.arrays.pop(name + ASIDE, None)
            if aside is not None:
                rest = np.delete(aside, chosen, axis=place)
                if rest.shape[place]:
                    self.arrays[name + ASIDE] = rest

    def add(self, axis: str, **values: Any) -> None:
        """Add a row: a value for every array with that axis, zeros where none is given."""
        for name, place in list(self._along(axis)):
            array = self.arrays[name]
            row = values.get(name)
            if self._form(name).count(axis) > 1:  # a matrix: its last row and column
                self.arrays[name] = _bordered(array, np.asarray(row))
                continue
            row = np.asarray(_blank(array) if row is None else row)
            shape = _without(list(array.shape), place)
            rows = np.expand_dims(np.broadcast_to(row, shape), place)
            self.arrays[name] = _appended(array, rows, place)
        self._set_size(axis, self.count(axis))

    def extend(self, axis: str, count: int, **values: Any) -> None:
        """Add several rows at once: their values in an array, or one for all; else zeros."""
        for name, place in list(self._along(axis)):
            array = self.arrays[name]
            shape = list(array.shape)
            shape[place] = count
            rows = np.broadcast_to(np.asarray(values.get(name, _blank(array))), shape)
            self.arrays[name] = _appended(array, rows, place)
        self._set_size(axis, self.count(axis))

    # -- the end

    def finish(self) -> Instance:
        """The changed instance. References told about the old one, and are left out."""
        for array in self.arrays.values():
            array.flags.writeable = False  # made here, or an instance's: no copy is needed
        return replace(
            self.before,
            size=self.size,
            arrays=self.arrays,
            params=self.params,
            references=References(),
        )

    def _form(self, name: str) -> tuple[int | str | None, ...]:
        if name == FIXED and FIXED not in self.cls.form.arrays:  # by element of a solution
            present = self.cls.form.arrays[str(self.cls.present)]
            return present.shape[:1]
        return self.cls.form.arrays[name].shape

    def _along(self, axis: str) -> Iterator[tuple[str, int]]:
        """Names of the arrays that are there with an axis, and which axis it is."""
        known = list(self.cls.form.arrays)
        if self.cls.present in known and FIXED not in known:
            known.append(FIXED)
        for name in known:
            if name in self.arrays:
                for place, length in enumerate(self._form(name)):
                    if length == axis:
                        yield name, place

    def _renumber(self, axis: str, place_of: Array) -> None:
        """Give what refers to rows their new numbers; drop what refers to those taken out."""
        for name, form in self.cls.form.arrays.items():
            if form.below != axis:
                continue
            aside = self.arrays.get(name + ASIDE)
            if aside is not None:
                self.arrays[name + ASIDE] = place_of[aside]
            if name not in self.arrays:
                continue
            values = place_of[self.arrays[name]]
            lost = values < 0
            if lost.any():
                places = [p for p, length in enumerate(form.shape) if isinstance(length, str)]
                others = [p for p in places if form.shape[p] != axis]
                if name == self.cls.present or len(others) != 1:
                    raise SpecError(
                        f"{self.cls.__name__}: an event takes rows of {axis!r} out that {name!r} "
                        "refers to; let the event change these first"
                    )
                place = others[0]
                without = tuple(p for p in range(values.ndim) if p != place)
                self.arrays[name] = values
                self.remove(str(form.shape[place]), lost.any(axis=without))
            else:
                self.arrays[name] = values

    def _set_size(self, axis: str, count: int) -> None:
        if axis == "size":
            self.size = count
        elif axis in self.params:
            self.params[axis] = count
        if self.cls.size_axis == axis:
            self.size = count

    def _joined(self, name: str, place: int, first: Array, second: Array) -> Array:
        """Two arrays one behind the other; of rows of other lengths the shorter are padded."""
        if first.ndim == 2 and first.shape[1 - place] != second.shape[1 - place]:
            width = max(first.shape[1 - place], second.shape[1 - place])
            pad = int(self.params[self.cls.padding[name]]) if name in self.cls.padding else 0
            first, second = (_padded(a, 1 - place, width, pad) for a in (first, second))
        return np.concatenate([first, second], axis=place)


def _blank(array: Array) -> Any:
    """Value of rows that the event does not give."""
    return "" if array.dtype.kind == "U" else 0


def _appended(array: Array, rows: Array, place: int) -> Array:
    """An array with rows appended; numbers keep their type."""
    kind = array.dtype if array.dtype.kind in "iuf" else np.result_type(rows, array)
    return np.concatenate([array, rows.astype(kind)], axis=place)


def _is_mask(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype == np.bool_


def _without(shape: list[int], place: int) -> tuple[int, ...]:
    return tuple(length for p, length in enumerate(shape) if p != place)


def _bordered(matrix: Array, row: Array) -> Array:
    """A square matrix with one more row and column, the same numbers in both."""
    n = len(matrix)
    found = np.zeros((n + 1, n + 1), dtype=np.result_type(matrix, row))
    found[:n, :n] = matrix
    found[n, : len(row)] = found[: len(row), n] = row
    return found


def _padded(array: Array, place: int, width: int, value: int) -> Array:
    """An array with more entries of one value behind those of an axis."""
    room = [(0, 0)] * array.ndim
    room[place] = (0, width - array.shape[place])
    return np.pad(array, room, constant_values=value)
