"""Reading of states: the vectors of all components, and what an observation pools, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import is_not
from typing import Any

import numpy as np
from numba import types

from lagco.arrays import Array
from lagco.core.graph import STRUCTURE, WIRING, GraphView
from lagco.latent.actions.action_set import ActionSet
from lagco.latent.actions.components import GIVEN, Reader, State, Table
from lagco.latent.actions.elements import ActionElements
from lagco.latent.actions.layout import ActionLayout
from lagco.latent.actions.strategy import action_strategy
from lagco.latent.kernels import INDICES, NONE, ROWS, VECTORS, WEIGHTS, read_state
from lagco.latent.observation import ObservationMap
from lagco.runtime.bound_arguments import bind


class StateReader:
    """Reads the actions of states, and writes the parts of observations that are pooled.

    From one state to the next mostly numbers change, not elements: then readers are not asked
    again, and the tables of the last state get other vectors.

    Args:
        readers: of the components other than the last, by name.
        layout: of actions.
        observe: the observation map.
        summary: codes of the poolings of the action set, behind what the map writes.
        seen: observations, written.
    """

    def __init__(
        self,
        readers: Mapping[str, Reader],
        layout: ActionLayout,
        observe: ObservationMap,
        summary: Array,
        seen: Array,
    ) -> None:
        self._readers = readers
        self._layout = layout
        self._strategy = action_strategy(layout)
        self._pooled = observe.pooled
        self._summary = summary if layout.projection is None else NONE
        self._behind = observe.width
        self._seen = seen
        self._last: _Reading | None = None
        self._bound: list[Any] = []
        #: of each view, after which it may have other elements
        self._notes: dict[str, list[tuple[int, str]]] = {}

    def read(self, state: State) -> ActionSet:
        """The actions of a state."""
        last = self._last
        if last is not None and last.holds(state):
            tables = last.renewed()
        else:
            last, tables = self._read(state)
        actions = self._strategy(tables, last.elements, self._layout, state)
        vectors, weights, starts, positions, size = actions.pooling()
        arrays = [starts, *positions[:2]]
        if not last.bound or any(map(is_not, arrays, last.arrays)):
            self._bind(last, state, len(vectors), starts, positions)
            last.arrays, last.bound = arrays, True
        self._write(vectors, last.rows, weights, self._pooled.chosen(state.views), size)
        return actions

    def _read(self, state: State) -> tuple[_Reading, dict[str, Table]]:
        """Ask all readers."""
        layout, views = self._layout, state.views
        tables: dict[str, Table] = {}
        written: dict[str, Any] = {}
        for name, reader in self._readers.items():
            parent = tables.get(layout.references.get(name, ""))
            tables[name], written[name] = reader.read(state, *layout.scales[name], parent)
        before = self._last
        elements = before.elements if before and before.elements.fits(tables) else None
        if self._notes.keys() != views.keys():
            self._notes = self._gathered(views)
        notes, embeddings = self._notes, state.embeddings
        self._last = last = _Reading(
            [
                (name, view, embeddings.get(name), view.clock, notes[name])
                for name, view in views.items()
            ],
            self._readers.values(),
            [(name, table, written[name] is not GIVEN) for name, table in tables.items()],
            elements or ActionElements(tables, layout),
            [written[name] for name in layout.names],
        )
        return last, tables

    def _gathered(self, views: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
        """Notes of all readers, by view."""
        notes = {name: [*_ANEW] for name in views}
        for reader in self._readers.values():
            for name, kind, attribute in reader.notes:
                notes[name].append((kind, attribute))
        return notes

    def _bind(
        self, last: _Reading, state: State, count: int, starts: Array, positions: Any
    ) -> None:
        """Gather the arguments of `read_state` that stay the same, where they are others.

        count: of vectors, those of a pooled path among them.
        """
        written = last.written + [GIVEN] * (count - len(last.written))
        jobs, last.rows = zip(*written, strict=True) if written else ((), ())
        pooled = self._pooled.arguments(state.embedder.embedding_store)
        bound = [*jobs, *pooled[0], starts, *positions[:2]]
        if len(bound) == len(self._bound) and not any(map(is_not, bound, self._bound)):
            return
        self._bound = bound
        found = np.empty((4, self._layout.width), dtype=np.float32)
        summed = starts, positions, found, self._summary, self._behind
        kinds = [types.UniTuple(kind, len(jobs)) for kind in (VECTORS, ROWS, WEIGHTS)]
        chosen = types.UniTuple(INDICES, len(pooled[0]))
        arguments = jobs, pooled, summed, self._seen
        self._write = bind(read_state, arguments, *kinds, chosen, types.float64)


#: notes after which a view may have other elements
_ANEW = ((STRUCTURE, ""), (WIRING, ""))


@dataclass(slots=True)
class _Reading:
    """What readers said about a state, which holds until elements change.

    Attributes:
        views: name, view, embeddings, clock, and the notes after which elements may be others.
        readers: of all components.
        tables: name, table, and whether its vectors are written anew for every state.
        elements: of the actions.
        written: job and rows for `write_vectors`, in the order of the search.
        rows: those of these, once bound, and of a pooled path.
        arrays: of the path, by which arguments were bound.
        bound: whether they were.
    """

    views: list[tuple[str, GraphView, Array | None, int, list[tuple[int, str]]]]
    readers: Iterable[Reader]
    tables: list[tuple[str, Table, bool]]
    elements: ActionElements
    written: list[Any]
    rows: tuple[Any, ...] = ()
    arrays: Any = ()
    bound: bool = False

    def holds(self, state: State) -> bool:
        """Whether readers would say the same about this state, but for vectors."""
        for reader in self.readers:
            if not reader.lasts(state):
                return False
        views, embeddings = state.views, state.embeddings
        for name, view, z, clock, notes in self.views:
            if views.get(name) is not view or embeddings.get(name) is not z:
                return False
            last = view.last_change
            for kind, attribute in notes:
                if last(kind, attribute) > clock:
                    return False
        return True

    def renewed(self) -> dict[str, Table]:
        """The tables with room for other vectors."""
        found = {}
        for name, table, anew in self.tables:
            vectors = np.empty(table.vectors.shape, np.float32) if anew else table.vectors
            found[name] = Table(table.values, vectors, table.offsets)
        return found
