"""Fine-tuning of the encoder by gradients of the imitation loss through action vectors.

The logits of a policy are inner products with action vectors, which contain node embeddings. States
are stored as graphs and embedded again in torch when the policy is fitted; the change that the new
embeddings make to the logits is added to the logits of the round's embeddings. Gradients do not
pass through observations. After a round the environments use the new weights, compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lagco.agents.training.checkpoint import module_arrays, restore_module
from lagco.arrays import Array
from lagco.core.declaring.declaration import read_declaration
from lagco.core.spec import Node
from lagco.embedding.encoder import ViewEncoder
from lagco.embedding.messages import Messages, build_messages, message_features
from lagco.embedding.pretraining.states import ViewState, collate
from lagco.errors import UsageError
from lagco.latent.space import LatentSpace, LatentView

#: learning rate of the encoder as a share of the policy's
RATE = 0.3


@dataclass(frozen=True)
class SeenGraph:
    """Inputs and outputs of the encoder in a labelled state.

    Attributes:
        states: inputs per view.
        embeddings: outputs (n, p) per view.
        nodes: (k, components) nodes of the actions, in the order of the tunable components.
    """

    states: dict[str, ViewState]
    embeddings: dict[str, Array]
    nodes: Array


class _Reader:
    """Features of one view of one environment, state by state."""

    def __init__(self, encoder: ViewEncoder) -> None:
        self._encoder = encoder
        self._features = encoder.features()
        self._edges: Array = np.zeros((2, 0), np.int64)
        self._messages: Messages | None = None

    def read(self, view: Any) -> ViewState:
        """Copies of the present inputs; arrays of unchanged edges are shared."""
        features, layout = self._features, self._encoder.layout
        features.forget()
        features.sync(view)
        known = self._messages
        same = known is not None and known.num_nodes == view.num_nodes
        if not same or not np.array_equal(self._edges, view.edges):
            self._edges = view.edges.copy()
            self._messages = build_messages(view, layout)
        assert self._messages is not None
        return ViewState(
            np.array(features.nodes.matrix, order="C"),
            self._edges,
            np.array(features.edges.matrix, order="C"),
            self._messages,
            np.array(message_features(features.edges.columns, layout, self._messages.num_rows)),
        )


class EncoderTuner:
    """Trains the encoder of a latent space together with the policy.

    Args:
        space: latent space, whose encoder is changed in place.
        views: latent views of the training environments.

    Raises:
        UsageError: no part of an action is a node, or action vectors are reduced.
    """

    def __init__(self, space: LatentSpace, views: Sequence[LatentView]) -> None:
        if space.scale.projection is not None:
            raise UsageError(
                "encoder_training='fine-tuned' needs whole action vectors; leave reduce= out"
            )
        env, layout = views[0].env, views[0].layout
        declared = read_declaration(env, env.graph_views())
        #: per tunable component: its view, its place among the parts, its columns in a vector
        self._components: list[tuple[str, int, slice]] = []
        width = space.encoder.width
        for place, (name, component) in enumerate(declared.action.items()):
            if isinstance(component, Node) and not component.none:
                start = layout.columns[name].start
                self._components.append((component.graph or "", place, slice(start, start + width)))
        if not self._components:
            raise UsageError(
                f"encoder_training='fine-tuned': no part of an action of {type(env).__name__} is "
                "a node, so that no gradient reaches the encoder; leave it frozen"
            )
        self._factor = torch.from_numpy(np.asarray(layout.factor))
        self._space, self._views = space, views
        names = dict.fromkeys(view for view, _, _ in self._components)
        self.networks = {name: self._network(name) for name in names}
        self.optimisers = {
            name: torch.optim.Adam(network.parameters()) for name, network in self.networks.items()
        }
        self._readers = [
            {name: _Reader(space.encoder.views[name]) for name in names} for _ in views
        ]

    def _network(self, name: str) -> Any:
        view = self._space.encoder.views[name]
        network = view.new_network()
        network.load_state_dict({k: torch.from_numpy(a.copy()) for k, a in view.weights.items()})
        return network.eval()  # statistics of norms stay fixed

    def see(self, index: int, rows: Array) -> SeenGraph:
        """Record the present state of an environment and the nodes of actions (search rows)."""
        view, graphs = self._views[index], self._views[index].env.graph_views()
        parts = np.asarray(view.actions().parts(rows)).reshape(len(rows), -1)
        readers = self._readers[index]
        return SeenGraph(
            {name: reader.read(graphs[name]) for name, reader in readers.items()},
            {name: view.embeddings[name].copy() for name in readers},
            parts[:, [place for _, place, _ in self._components]].astype(np.int64),
        )

    def changes(self, seen: Sequence[SeenGraph], protos: Tensor, count: int) -> Tensor:
        """Change (B, count) of the actions' inner products since the states were recorded."""
        found = torch.zeros(len(seen), count)
        moved: dict[str, tuple[Tensor, Array]] = {}
        for name, network in self.networks.items():
            batch = collate([graph.states[name] for graph in seen])
            before = torch.from_numpy(np.concatenate([graph.embeddings[name] for graph in seen]))
            moved[name] = network(batch) - before, np.cumsum(batch.sizes) - batch.sizes
        for column, (name, _, columns) in enumerate(self._components):
            change, first = moved[name]
            at = np.zeros((len(seen), count), np.int64)
            for row, graph in enumerate(seen):
                at[row, : len(graph.nodes)] = graph.nodes[:, column] + first[row]
            asked = (protos[:, columns] * self._factor[columns])[:, :, None]
            found = found + torch.bmm(change[torch.from_numpy(at)], asked)[:, :, 0]
        return found

    def begin(self, rate: float) -> None:
        """Set the learning rate and clear gradients."""
        for optimiser in self.optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = RATE * rate
            optimiser.zero_grad(set_to_none=True)

    def descend(self) -> None:
        """Take a clipped gradient step."""
        for name, network in self.networks.items():
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            self.optimisers[name].step()

    def adopt(self) -> None:
        """Use the trained weights in the environments."""
        for name, network in self.networks.items():
            self._space.encoder.views[name].renew(network)
        for view in self._views:
            view.renew()

    # -- checkpoints

    def arrays(self) -> dict[str, Array]:
        """Weights and optimiser states."""
        found: dict[str, Array] = {}
        for name, network in self.networks.items():
            found |= module_arrays(f"encoder.{name}", network, self.optimisers[name])
        return found

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore :meth:`arrays`."""
        for name, network in self.networks.items():
            restore_module(f"encoder.{name}", network, self.optimisers[name], dict(arrays))
        self.adopt()
