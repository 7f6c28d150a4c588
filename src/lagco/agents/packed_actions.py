"""Actions of a state whose component vectors are one array, as they are kept and compiled code
reads them."""

from __future__ import annotations

from functools import cache
from operator import mul
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array


class Layout(NamedTuple):
    """Components of actions.

    Attributes:
        lengths: number of vectors of each component.
        widths: of these vectors.
        starts: where each component's vector is added into an action's vector.
    """

    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    starts: tuple[int, ...]


class PackedActions:
    """Actions of one state.

    Attributes:
        vectors: component vectors, component by component: float16 or float32 (·,).
        layout: of these.
        index: (k, components) numbers of vectors of each component.
        kept: which rows of the index are actions, as packed bits; None where all are.
        count: number of actions.
    """

    __slots__ = ("count", "index", "kept", "layout", "vectors")

    def __init__(
        self, vectors: Array, layout: Layout, index: Array, kept: Array | None, count: int
    ) -> None:
        self.vectors = vectors
        self.layout = layout
        self.index = index
        self.kept = kept
        self.count = count

    def __len__(self) -> int:
        return self.count

    @property
    def packed(self) -> PackedActions:
        """These actions, as of those that are not packed yet."""
        return self

    @property
    def tables(self) -> list[Array]:
        """Component vectors, each (n_c, d_c)."""
        return [self.table(c) for c in range(len(self.layout.lengths))]

    def table(self, c: int) -> Array:
        """Vectors (n_c, d_c) of a component."""
        lengths, widths, _ = self.layout
        at = sum(map(mul, lengths[:c], widths[:c]))
        return self.vectors[at : at + lengths[c] * widths[c]].reshape(lengths[c], widths[c])

    def write_index(self, out: Array) -> None:
        """Write the vectors of each action, counted by component, to `out` (k, components)."""
        if self.kept is None:
            out[:, : self.index.shape[1]] = self.index
        else:
            write_kept(self.index, self.kept, out)


@njit(cache=True)
def write_kept(index, kept, out):  # type: ignore[no-untyped-def]
    """Write the rows of the index whose bits are set."""
    at = 0
    for k in range(index.shape[0]):
        if kept[k >> 3] & (128 >> (k & 7)):
            for c in range(index.shape[1]):
                out[at, c] = index[k, c]
            at += 1


@njit(cache=True)
def nth_kept(kept, n):  # type: ignore[no-untyped-def]
    """Place of the bit that is the nth of those set."""
    for k in range(8 * kept.shape[0]):
        if kept[k >> 3] & (128 >> (k & 7)):
            if n == 0:
                return k
            n -= 1
    return -1


@cache
def numbers_of(count: int) -> Array:
    """Index (count, 1) of actions that are the rows of a table."""
    found = np.arange(count)[:, None]
    found.flags.writeable = False
    return found


class JoinedActions:
    """Actions of several states as :func:`~lagco.agents.q_best.best_actions` takes them.

    Args:
        sets: of the states, at least one; each has an action.
    """

    def __init__(self, sets: list[PackedActions]) -> None:
        layouts = [actions.layout for actions in sets]
        longest = max(layouts, key=_components)
        components = len(longest.lengths)
        self.starts, self.widths = np.array(longest.starts), np.array(longest.widths)
        self.lengths = np.array(
            [layout.lengths + (0,) * (components - len(layout.lengths)) for layout in layouts]
        )
        vectors = np.concatenate([actions.vectors for actions in sets])
        self.vectors = vectors.view(np.uint16) if vectors.itemsize == 2 else vectors
        indices = {id(actions.index): actions.index for actions in sets}
        counts = [len(index) for index in indices.values()]
        firsts = np.cumsum(counts) - counts
        self.index = np.zeros((sum(counts), components), dtype=np.int32)
        for index, first in zip(indices.values(), firsts, strict=True):
            self.index[first : first + len(index), : index.shape[1]] = index
        number = dict(zip(indices, range(len(indices)), strict=True))
        which = [number[id(actions.index)] for actions in sets]
        self.firsts, self.counts = firsts[which], np.array(counts)[which]
        bits = [actions.kept for actions in sets if actions.kept is not None]
        self.kept = np.concatenate(bits) if bits else np.zeros(0, dtype=np.uint8)
        sizes = np.array([0 if actions.kept is None else len(actions.kept) for actions in sets])
        self.bits = np.where(sizes > 0, np.cumsum(sizes) - sizes, -1)


def _components(layout: Layout) -> int:
    return len(layout.lengths)
