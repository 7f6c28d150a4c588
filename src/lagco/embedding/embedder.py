"""Embedder: from the views of an environment to embeddings, computing only what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.embedding.encoder import Encoder, ViewEncoder
from lagco.embedding.features.layout import ViewLayout
from lagco.embedding.features.matrices import NEW, REWIRED, SAME, ViewFeatures
from lagco.embedding.inference.view_encoder import CompiledView
from lagco.errors import UsageError


@dataclass(frozen=True)
class FeatureMatrices:
    """Normalised features of one view, as the encoder reads them.

    Attributes:
        layout: which attribute has which columns.
        nodes: (n, d_v), and
        edges: (E, d_e), both read-only views of arrays that the next call updates.
    """

    layout: ViewLayout
    nodes: Array
    edges: Array


class Embedder:
    """Embeds the states of one environment.

    It remembers the views it saw and their clocks: an unchanged view costs nothing, a changed one
    what depends on the change, another view object or other nodes and edges a whole pass. Results
    do not depend on that history. The arrays returned are buffers that later calls overwrite; copy
    what must last.
    """

    def __init__(self, encoder: Encoder, *, compiled: bool = True) -> None:
        self.encoder = encoder
        self._views = {
            name: (_CompiledState if compiled and view.compiled_weights else _TorchState)(view)
            for name, view in encoder.views.items()
        }

    def __call__(self, views: Mapping[str, GraphView]) -> dict[str, Array]:
        """Embeddings of the present state: view to float32 (n, p)."""
        found = {}
        for name, state in self._views.items():
            view = views.get(name)
            if view is None:
                raise UsageError(
                    f"the encoder was trained on the views {', '.join(self._views)}, this state "
                    f"has {', '.join(views) or 'none'}"
                )
            found[name] = state.embed(view)
        return found

    def features(self, view: str) -> FeatureMatrices:
        """Normalised features of a view as of the last call."""
        features = self._views[view].features
        nodes, edges = features.nodes.matrix, features.edges.matrix
        nodes.flags.writeable = edges.flags.writeable = False
        return FeatureMatrices(features.layout, nodes, edges)

    def node_store(self, view: str) -> Array:
        """Node features of a view as of the last call, transposed: (d_v, ≥ n). Do not write."""
        return self._views[view].features.nodes.store

    def edge_store(self, view: str) -> Array:
        """Likewise its edge features: (d_e, ≥ E)."""
        return self._views[view].features.edges.store

    def embedding_store(self, view: str) -> Array:
        """Embeddings of a view as of the last call, and more rows behind them: (≥ n, p)."""
        return self._views[view].store

    @property
    def compiled(self) -> dict[str, bool]:
        """Whether each view runs compiled."""
        return {name: isinstance(s, _CompiledState) for name, s in self._views.items()}


class _CompiledState:
    def __init__(self, encoder: ViewEncoder) -> None:
        self.features: ViewFeatures = encoder.features()
        self._compiled = CompiledView(encoder.compiled_weights, encoder.layout)
        self._stale = True  # after an error the next call starts afresh

    def embed(self, view: GraphView) -> Array:
        features, compiled = self.features, self._compiled
        if self._stale:
            features.forget()
            self._stale = False
        try:
            found = features.look(view)
            if found == REWIRED and not compiled.suits(view):
                features.forget()
                found = features.look(view)
            if found == NEW:
                compiled.rebuild(view, features)
            elif found == REWIRED:
                compiled.rewire(view)
            if found != SAME:
                compiled.update()
                self.store = compiled.store
        except BaseException:
            self._stale = True
            raise
        return compiled.z


class _TorchState:
    def __init__(self, encoder: ViewEncoder) -> None:
        self.features: ViewFeatures = encoder.features()
        self._encoder = encoder
        self._z: Array | None = None
        self._messages: Any = None

    def embed(self, view: GraphView) -> Array:
        from lagco.embedding.messages import build_messages

        if self._z is None:
            self.features.forget()
        z, self._z = self._z, None
        found = self.features.sync(view)
        if found in (REWIRED, NEW) or self._messages is None:
            self._messages = build_messages(view, self._encoder.layout)
        if z is None or found != SAME:
            z = run_torch(self._encoder, [(view, self.features, self._messages)])[0]
            self.features.clear()
        self._z = self.store = z
        return z


def run_torch(
    encoder: ViewEncoder, graphs: Sequence[tuple[GraphView, ViewFeatures, Any]]
) -> list[Array]:
    """One torch pass over several graphs of a view: per graph (n, p)."""
    import torch

    from lagco.embedding.pretraining.states import ViewState, collate
    from lagco.runtime.one_thread import one_thread

    states = [ViewState.of(*graph, encoder.layout) for graph in graphs]
    with torch.no_grad(), one_thread():
        z = encoder.network(collate(states)).numpy()
    cuts = np.cumsum([len(state.x) for state in states])[:-1]
    return np.split(z, cuts)


def embed_batch(
    encoder: Encoder, states: Sequence[Mapping[str, GraphView]], *, compiled: bool = True
) -> list[dict[str, Array]]:
    """See :meth:`~lagco.embedding.encoder.Encoder.embed_batch`."""
    from lagco.embedding.messages import build_messages

    if not states:
        return []
    found: list[dict[str, Array]] = [{} for _ in states]
    for name, view in encoder.views.items():
        for state in states:
            if name not in state:
                raise UsageError(f"a state has no view {name!r}, it has {', '.join(state)}")
        if compiled and view.compiled_weights:
            for state, result in zip(states, found, strict=True):
                result[name] = _CompiledState(view).embed(state[name])
        else:
            graphs = []
            for state in states:
                features = view.features()
                features.sync(state[name])
                messages = build_messages(state[name], view.layout)
                graphs.append((state[name], features, messages))
            for result, z in zip(found, run_torch(view, graphs), strict=True):
                result[name] = z
    return found
