"""Components of which none may be chosen: one more row behind those of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.spec import Node
from lagco.latent.actions.components import (
    GIVEN,
    EdgeReader,
    NodeReader,
    Note,
    State,
    Table,
)


class OptionalReader:
    """Nodes or edges as another reader tells them, and "none of them".

    A last column says whether a row is "none", all other columns of which are 0. Its value is the
    number of nodes or edges.
    """

    def __init__(self, reader: NodeReader | EdgeReader, component: Any) -> None:
        self._reader = reader
        self._of_nodes = isinstance(component, Node)
        self._view = component.graph or ""
        self.width = reader.width + 1
        self.notes: Sequence[Note] = reader.notes

    def read(
        self, state: State, mean: Array, scale: Array, parent: Table | None
    ) -> tuple[Table, Any]:
        view = state.views[self._view]
        elements, rows = self._reader.plain(state)
        vectors = np.zeros((len(elements) + 1, self.width), dtype=np.float32)
        vectors[:-1, :-1] = rows
        vectors[-1, -1] = 1.0
        none = view.num_nodes if self._of_nodes else view.num_edges
        scaled = ((vectors - mean) * scale).astype(np.float32, order="C")
        return Table(np.append(elements, none), scaled), GIVEN

    def lasts(self, state: State) -> bool:
        return False
