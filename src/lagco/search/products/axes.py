"""Components that depend on each other, merged into independent axes.

An axis is one free choice. A component that depends on nothing is an axis by itself. A component
whose candidates depend on the element chosen for an earlier one joins that one's axis: its
elements are then the admissible pairs, held as index columns (the vectors are not copied, scores
add), so memory is linear in the number of pairs. Chains and trees of dependence work alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagco.search.metrics import Floats, Ints

_CODES = 2**62


@dataclass(frozen=True)
class Dependence:
    """The candidates of a component, given the element chosen for an earlier component `on`.

    Element e of `on` admits the elements rows[offsets[e]:offsets[e + 1]] (CSR): offsets
    (n_on + 1,), rows (pairs,).
    """

    on: int
    offsets: ArrayLike
    rows: ArrayLike


class Axis:
    """Element e stands for the elements members[j][e] of the components columns[j]."""

    __slots__ = ("columns", "members", "size")

    def __init__(self, columns: tuple[int, ...], members: tuple[Ints, ...] | None, size: int):
        self.columns = columns
        self.members = members  # None: one component, element e is e
        self.size = size

    def member(self, position: int) -> Ints:
        """(size,): the element of the axis's position-th component, per axis element."""
        return np.arange(self.size) if self.members is None else self.members[position]

    def total(self, parts: Sequence[Floats]) -> Floats:
        """Sums of the component parts, per axis element."""
        if self.members is None:
            return parts[self.columns[0]]
        total = parts[self.columns[0]][self.members[0]]
        for column, member in zip(self.columns[1:], self.members[1:], strict=True):
            total = total + parts[column][member]
        return total


class Axes:
    """Relation of axes and index tuples, and the order of index tuples as one integer."""

    def __init__(self, sizes: Sequence[int], depends: Mapping[int, Dependence]) -> None:
        self.columns = len(sizes)
        self.sizes = sizes
        self.merged = len(depends) > 0
        if self.merged:
            self.all = _merge(sizes, depends)
            flat = [c for axis in self.all for c in axis.columns]
            self.in_order = flat == sorted(flat)
        else:
            self.all = [Axis((c,), None, size) for c, size in enumerate(sizes)]
            self.in_order = True

    @cached_property
    def members(self) -> tuple[Ints, tuple[Ints, ...], NDArray[np.bool_]]:
        """Per component its axis, its elements by axis element, and whether these differ at all.

        For axes that stand in the order of their components; the elements are left out
        where they do not differ.
        """
        none = np.empty(0, np.int64)
        found: dict[int, Ints] = {}
        axis_of = np.empty(self.columns, np.int64)
        merged = np.zeros(self.columns, np.bool_)
        for a, axis in enumerate(self.all):
            for position, column in enumerate(axis.columns):
                axis_of[column] = a
                merged[column] = axis.members is not None
                found[column] = none if axis.members is None else axis.members[position]
        return axis_of, tuple([found[c] for c in range(self.columns)]), merged

    @cached_property
    def strides(self) -> list[int]:
        """Place values of the components in the rank of a tuple."""
        return _strides(self.sizes)

    def codes(self, axis: int, elements: Ints) -> Ints:
        """Contribution of axis elements to the lexicographic rank of a tuple."""
        described = self.all[axis]
        if described.members is None:
            return elements * self.strides[described.columns[0]]
        code = np.zeros(len(elements), np.int64)
        for column, member in zip(described.columns, described.members, strict=True):
            code += member[elements] * self.strides[column]
        return code

    def tuples(self, elements: Sequence[Ints]) -> Ints:
        """Per-axis elements, each (b,), as index tuples (b, m)."""
        if not self.merged:
            # int64 throughout: predicates may rely on it.
            return np.array(elements, np.int64).T
        out = np.empty((len(elements[0]), self.columns), np.int64)
        for axis, chosen in zip(self.all, elements, strict=True):
            if axis.members is None:
                out[:, axis.columns[0]] = chosen
            else:
                for column, member in zip(axis.columns, axis.members, strict=True):
                    out[:, column] = member[chosen]
        return out


def _strides(sizes: Sequence[int]) -> list[int]:
    """Place values of the components in the rank of a tuple.

    Beyond 2^62 tuples the last components get none and take no part in breaking ties.
    """
    kept, span = 0, 1
    for size in sizes:
        if span * max(size, 1) >= _CODES:
            break
        span *= max(size, 1)
        kept += 1
    strides = [0] * len(sizes)
    span = 1
    for c in reversed(range(kept)):
        strides[c] = span
        span *= max(sizes[c], 1)
    return strides


def _merge(sizes: Sequence[int], depends: Mapping[int, Dependence]) -> list[Axis]:
    axes: list[Axis] = []
    axis_of: dict[int, int] = {}
    for c, size in enumerate(sizes):
        if c not in depends:
            axis_of[c] = len(axes)
            axes.append(Axis((c,), None, size))
            continue
        on = depends[c].on
        if not 0 <= on < c:
            raise ValueError(f"component {c} can only depend on an earlier one, not on {on}")
        offsets, rows = _csr(depends[c], sizes[on], size, c)
        at = axis_of[c] = axis_of[on]
        axis = axes[at]
        chosen = axis.member(axis.columns.index(on))
        counts = offsets[chosen + 1] - offsets[chosen]
        repeat = np.repeat(np.arange(axis.size), counts)
        ends = np.cumsum(counts)
        within = np.arange(len(repeat)) - np.repeat(ends - counts, counts)
        members = [axis.member(p)[repeat] for p in range(len(axis.columns))]
        members.append(rows[offsets[chosen][repeat] + within])
        axes[at] = Axis((*axis.columns, c), tuple(members), len(repeat))
    return axes


def _csr(dependence: Dependence, parents: int, size: int, c: int) -> tuple[Ints, Ints]:
    offsets = np.asarray(dependence.offsets, np.int64)
    rows = np.asarray(dependence.rows, np.int64)
    if offsets.shape != (parents + 1,) or rows.ndim != 1:
        raise ValueError(
            f"component {c}: offsets must have shape ({parents + 1},) and rows one dimension, "
            f"not {offsets.shape} and {rows.shape}"
        )
    if offsets[0] != 0 or offsets[-1] != len(rows) or (np.diff(offsets) < 0).any():
        raise ValueError(f"component {c}: offsets must rise from 0 to {len(rows)}")
    if len(rows) and (rows.min() < 0 or rows.max() >= size):
        raise ValueError(f"component {c}: rows must lie in 0 .. {size - 1}")
    parent = np.repeat(np.arange(parents), np.diff(offsets))
    # Elements of an axis stand in lexicographic order, so that ties can be broken by position.
    if len(rows) > 1 and ((np.diff(rows) < 0) & (np.diff(parent) == 0)).any():
        rows = rows[np.lexsort((rows, parent))]
    return offsets, rows
