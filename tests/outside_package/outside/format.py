"""Conflict lists: ``conflicts N``, then two names of nodes per line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lagco.instances import Instance
from lagco.instances.formats.format import Format, origin
from lagco.instances.formats.source import Source


@dataclass
class Conflicts:
    """A conflict list."""

    nodes: int
    pairs: list[tuple[int, int]]

    def instance(self, source: Source, problem: str) -> Instance:
        edges = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T.copy()
        made = origin(source, "conflicts", [])
        return Instance(problem, source.name, self.nodes, {"edges": edges}, {}, origin=made)


def read(source: Source) -> Conflicts:
    """The list of a file."""
    (number, header), *rows = list(source.lines())
    found = Conflicts(source.nodes(header.split()[1], number), [])
    for line, text in rows:
        ends = [
            source.integer(end, "a node", line, low=0, high=found.nodes - 1) for end in text.split()
        ]
        if len(ends) != 2 or ends[0] == ends[1]:
            raise source.error("expected two different nodes", line)
        found.pairs.append((min(ends), max(ends)))
    return found


FORMAT = Format(
    name="conflicts",
    summary="conflict lists",
    problems=("independent-set",),
    matches=lambda source: source.text.startswith("conflicts "),
    read=read,
    suffixes=(".conflicts",),
)
