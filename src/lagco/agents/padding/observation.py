"""Observations of fixed width for problems of different sizes.

Widths are those of the largest training instance (:mod:`lagco.agents.padding.widths`), as for the
numbers of actions (:mod:`lagco.agents.padding.actions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from lagco.agents.padding.view import PaddedView, numeric, pairs_of
from lagco.agents.padding.widths import Widths, beside_views, key_of
from lagco.arrays import Array
from lagco.core.declaring.declaration import read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.spec import Attribute, Edge, Function
from lagco.errors import UsageError
from lagco.results.numbers import of_things


class PaddingObservation:
    """The declared arrays of a problem in a vector of fixed width.

    Per view: numeric node attributes over the nodes, then numeric edge attributes over all pairs of
    nodes (the upper triangle for undirected edges) or, if that is more than
    :data:`~lagco.agents.padding.view.PAIRS` numbers or actions choose edges, edge by edge. Over
    pairs, ``pair_attributes()`` of the problem take precedence over attributes of edges. Then the
    observed arrays that belong to no view and, with `full` features, the declared functions of the
    state. Values are scaled as for an encoder; padding is 0. With `full` features a flag of an edge
    is 1 or -1 over pairs, and listed edges carry their two ends. Texts, lists, sentence
    embeddings (wider than :data:`~lagco.agents.padding.view.WIDEST`) and attributes that the
    problem's ``padded_attributes()`` do not name are left out.

    Args:
        env: the environment; its present instance must fit.
        widths: the widths to pad to.
        wanted: required width of an observation, if known.

    Attributes:
        width: width of an observation.
    """

    def __init__(self, env: ContinuousEnv, widths: Widths, wanted: int | None = None) -> None:
        self._env = env
        self._widths = widths
        self._wanted = wanted
        self._bind()

    def _bind(self) -> None:
        """Read the declarations of the present instance."""
        env, widths = self._env, self._widths
        widths.check_observation(env)
        self._space = env.action_space
        views = env.graph_views()
        declared = read_declaration(env, views)
        full = getattr(env, "features", "full") == "full"
        listed = {c.graph for c in declared.action.values() if isinstance(c, Edge)}
        shown = env.padded_attributes()

        def chosen(
            name: str, attributes: Mapping[str, Attribute], columns: Mapping[str, Any]
        ) -> dict[str, Attribute]:
            found = numeric(attributes, columns)
            return {
                n: a for n, a in found.items() if shown is None or key_of(views, name, n) in shown
            }

        self._views = [
            PaddedView(
                name,
                view,
                chosen(name, declared.node_attributes[name], view.nodes),
                chosen(name, declared.edge_attributes[name], view.edge_attributes)
                or (None if shown is not None else {}),
                widths.views[name],
                name in listed,
                full,
                partial(pairs_of, env, views, name),
            )
            for name, view in views.items()
        ]
        arrays = [
            (column, *_span(attribute), widths.arrays[name], column.size // max(len(column), 1))
            for name, attribute, column in beside_views(env, views)
        ]
        functions = [p for p in declared.observation.values() if full and isinstance(p, Function)]
        self.width = (
            sum(padded.width for padded in self._views)
            + sum(rows * columns for *_, rows, columns in arrays)
            + sum(part.size for part in functions)
        )
        if self._wanted not in (None, self.width):
            raise UsageError(
                f"the policy takes {of_things(self._wanted, 'numbers')}, {type(env).__name__} "
                f"shows {self.width}; was it trained with other features?"
            )
        self._wanted = self.width
        self._buffer = buffer = np.zeros(self.width, dtype=np.float32)
        start = 0
        for padded in self._views:
            padded.use(buffer[start : start + padded.width])
            start += padded.width
        self._arrays = []
        for column, low, factor, rows, columns in arrays:
            place = buffer[start : start + rows * columns].reshape(rows, columns)
            self._arrays.append((column.reshape(-1, columns), low, factor, place[: len(column)]))
            start += rows * columns
        self._functions = []
        for part in functions:
            at: Any = start if part.size == 1 else slice(start, start + part.size)
            self._functions.append((part.function, part.graph or "", at))
            start += part.size

    def __call__(self, out: Array | None = None) -> Array:
        """The observation of the present state: float32 (width,), written to `out` if given."""
        env = self._env
        if env.action_space is not self._space:  # a problem has a new object for every instance
            self._bind()
        views = env.graph_views()
        for padded in self._views:
            padded.write(views[padded.name])
        for column, low, factor, place in self._arrays:
            np.subtract(column, low, out=place, casting="unsafe")
            place *= factor
        buffer = self._buffer
        for function, graph, at in self._functions:
            buffer[at] = function(views[graph])
        if out is None:
            return buffer.copy()
        out[:] = buffer
        return out


def _span(attribute: Attribute) -> tuple[float, float]:
    """Shift and factor to 0 … 1, where an attribute has both bounds."""
    if attribute.type == "binary" or attribute.low is None or attribute.high is None:
        return 0.0, 1.0
    return attribute.low, 1.0 / ((attribute.high - attribute.low) or 1.0)
