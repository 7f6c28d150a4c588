"""Graphs of Gset, DIMACS and PACE files, as instances of `max-cut` and `min-vertex`."""

from __future__ import annotations

import re
from array import array

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances.formats.format import origin
from lagco.instances.formats.source import Source
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things

_SPACE, _WHOLE = r"[ \t]++", r"[0-9]{1,9}"
#: rows of two nodes and perhaps a whole weight, all alike
_ROWS = {
    width: rf"(?:[ \t]*+{{marker}}{_SPACE.join([_WHOLE, _WHOLE, '[+-]?' + _WHOLE][:width])}[ \t]*+"
    r"(?:\n|\Z))++[ \t\n]*+\Z"
    for width in (2, 3)
}


class Graph:
    """An undirected graph that grows edge by edge; memory is linear in what was read.

    Args:
        source: the file, for messages.
        format_name: of the file.
        nodes: how many there are, numbered from 1 in the file.
        parallel: whether an edge that is listed again is another one, whose weight adds up, or
            the same, which must have the same weight.
    """

    def __init__(self, source: Source, format_name: str, nodes: int, parallel: bool) -> None:
        self.source = source
        self.format_name = format_name
        self.nodes = nodes
        self.parallel = parallel
        self.notes: list[str] = []
        self._ends = array("i")
        self._weights = array("d")
        self._lines = array("i")

    def add(self, u: str, v: str, weight: str | None, line: int) -> None:
        """Add the edge between nodes `u` and `v` of the file."""
        source = self.source
        first = source.integer(u, "a node", line, 1, self.nodes)
        second = source.integer(v, "a node", line, 1, self.nodes)
        if first == second:
            raise source.error(f"the edge {first}-{second} joins a node to itself", line)
        self._ends.append(first - 1)
        self._ends.append(second - 1)
        self._weights.append(1.0 if weight is None else source.real(weight, "a weight", line))
        self._lines.append(line)

    def __len__(self) -> int:
        """Edges listed so far, each as often as it stands there."""
        return len(self._lines)

    def add_table(self, begin: int, marker: str = "", weights: bool = True) -> bool:
        """Add all edges from position `begin` of the text on at once, ten times as fast.

        Returns:
            False, with nothing added, if not every line is a plain row of whole numbers that
            :meth:`add` would take: then it is to be read line by line, which says what is wrong.
        """
        text = self.source.text
        for width in (2, 3) if weights else (2,):
            rows = re.compile(_ROWS[width].replace("{marker}", marker))
            if rows.match(text, begin):
                break
        else:
            return False
        body = text[begin:].replace(marker[:1], " ") if marker else text[begin:]
        table = np.fromstring(body, dtype=np.int64, sep=" ").reshape(-1, width)
        ends = table[:, :2]
        if ends.min() < 1 or ends.max() > self.nodes or (ends[:, 0] == ends[:, 1]).any():
            return False
        self._ends.frombytes((ends - 1).astype(np.int32).tobytes())
        column = table[:, 2].astype(np.float64) if width == 3 else np.ones(len(table))
        self._weights.frombytes(column.tobytes())
        first = text.count("\n", 0, begin) + 1
        self._lines.frombytes(np.arange(first, first + len(table), dtype=np.int32).tobytes())
        return True

    def close(self) -> None:
        """Merge the edges that stand there more than once."""
        if not len(self):
            raise self.source.error("the graph has no edge")
        self.edges = np.array(self._ends, dtype=np.int32).reshape(-1, 2).T
        self.weights = np.array(self._weights)
        codes = self.edges.min(axis=0).astype(np.int64) * self.nodes + self.edges.max(axis=0)
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        if len(first) == len(codes):
            return
        first = first[inverse]  # place of the first of each edge's kind
        again = first != np.arange(len(codes))
        if self.parallel:
            np.add.at(self.weights, first[again], self.weights[again])
        else:
            differs = np.flatnonzero(self.weights != self.weights[first])
            if differs.size:
                at = int(differs[0])
                u, v = (self.edges[:, at] + 1).tolist()
                raise self.source.error(
                    f"the edge {u}-{v} stands in line {self._lines[int(first[at])]} with another "
                    "weight",
                    self._lines[at],
                )
        self.notes.append(f"merged: {of_things(int(again.sum()), 'edges')} listed again")
        self.edges, self.weights = self.edges[:, ~again], self.weights[~again]

    def instance(self, source: Source, problem: str) -> Instance:
        """For `max-cut` with weights, for `min-vertex` without."""
        arrays: dict[str, Array] = {"edges": np.ascontiguousarray(self.edges)}
        notes = list(self.notes)
        if problem == "max-cut":
            arrays["weights"] = self.weights
        elif (self.weights != 1.0).any():
            notes.append("the weights of the edges do not count for a cover")
        return Instance(
            problem=problem,
            name=source.name,
            size=self.nodes,
            arrays=arrays,
            origin=origin(source, self.format_name, notes),
        )


def weighted_pairs(instance: Instance) -> tuple[list[tuple[int, int]], Array]:
    """Edges of an instance, numbered from 1, and their weights (1 where there are none)."""
    edges = np.asarray(instance.array("edges")) + 1
    weights = np.asarray(instance.arrays.get("weights", np.ones(edges.shape[1])))
    return [(u, v) for u, v in edges.T.tolist()], weights


def unweighted_pairs(instance: Instance, format_name: str) -> list[tuple[int, int]]:
    """Edges of an instance, numbered from 1; an error if a format would lose their weights."""
    pairs, weights = weighted_pairs(instance)
    if (weights != 1.0).any():
        raise InstanceError(
            f"instance {instance.name!r} has weights, which {format_name!r} cannot hold; "
            "write it as 'gset' or 'dimacs'"
        )
    return pairs
