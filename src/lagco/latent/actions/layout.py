"""Layout of the values and vectors of actions, the same in every state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.latent.actions.readers.path import PathReader
from lagco.latent.actions.readers.subgraph import SubgraphReader


class PathPart(NamedTuple):
    """The component that is a path: its reader and name, and the component (None: any) whose edges
    are its ends, with the view of those.
    """

    reader: PathReader
    name: str
    ends: str | None
    ends_view: str


class SubgraphPart(NamedTuple):
    """The component that is a connected subgraph: its reader and name."""

    reader: SubgraphReader
    name: str
    ends: None = None


@dataclass(frozen=True)
class ActionLayout:
    """Layout that the action sets of one environment share.

    Attributes:
        columns: component to its columns in an action's vector, in the order declared.
        references: component to the component whose elements carry its objects.
        different: component to the component that must choose another element.
        last: the component that is a path or a connected subgraph, if there is one: its value is
            several nodes, and these are the last columns of a search row.
        mean: (d,) of the standardisation.
        factor: (d,), one over its deviations.
        projection: reduction of standardised vectors (d, r), None without one.
    """

    columns: Mapping[str, slice]
    references: Mapping[str, str]
    different: Mapping[str, str]
    last: PathPart | SubgraphPart | None
    mean: Array
    factor: Array
    projection: Array | None = None

    @property
    def width(self) -> int:
        """Dimension d of an action vector before any reduction."""
        return len(self.mean)

    @cached_property
    def names(self) -> list[str]:
        """Components other than the last in the order of the search, a path's ends behind all."""
        ends = None if self.last is None else self.last.ends
        names = [n for n in self.columns if self.last is None or n != self.last.name]
        return sorted(names, key=lambda name: name == ends)

    @cached_property
    def paired(self) -> bool:
        """Whether every component with a reference stands behind the one that it refers to."""
        references = self.references
        return all(
            references[name] == before and before not in references
            for before, name in pairwise(self.names)
            if name in references
        )

    @cached_property
    def starts(self) -> Array:
        """First column of each of :attr:`names`."""
        return np.array([self.columns[name].start for name in self.names] or [0], dtype=np.int64)

    @cached_property
    def starts_with_last(self) -> Array:
        """The same and that of the last component."""
        assert self.last is not None
        named = [*self.names, self.last.name]
        return np.array([self.columns[name].start for name in named], dtype=np.int64)

    @cached_property
    def offsets(self) -> Array:
        """First column of each of :attr:`names` where these are concatenated in that order."""
        widths = [self.columns[name].stop - self.columns[name].start for name in self.names]
        return np.cumsum([0, *widths[:-1]])

    @cached_property
    def order(self) -> Array:
        """Of each component as declared, its place in :attr:`names`; -1 for the last."""
        names = self.names
        return np.array([names.index(n) if n in names else -1 for n in self.columns])

    @cached_property
    def scales(self) -> dict[str, tuple[Array, Array]]:
        """Mean and factor of each component."""
        return {n: (self.mean[c].copy(), self.factor[c].copy()) for n, c in self.columns.items()}

    @cached_property
    def searched(self) -> Array:
        """Columns of a vector in the order in which the search concatenates them."""
        names = self.names if self.last is None else [*self.names, self.last.name]
        places = [np.arange(self.columns[n].start, self.columns[n].stop) for n in names]
        return np.concatenate(places)
