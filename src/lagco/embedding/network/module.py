"""The encoder as a torch module: message-passing layers over several graphs side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import EdgeConv, GATConv, GCNConv, GINEConv, SAGEConv

from lagco.embedding.config import EncoderConfig
from lagco.embedding.network.nnconv import FactoredNNConv
from lagco.errors import UsageError


@dataclass(frozen=True)
class GraphBatch:
    """Several graphs side by side.

    Attributes:
        x: (n, d_v) node features.
        edges: (2, E) node pairs as the views list them.
        edge_features: (E, d_e)
        source: (M,) messages, see :class:`~lagco.embedding.messages.Messages`.
        target: (M,)
        row: (M,)
        message_features: (R, d_m)
        graph: (n,) which graph a node belongs to.
        sizes: nodes per graph.
    """

    x: Tensor
    edges: Tensor
    edge_features: Tensor
    source: Tensor
    target: Tensor
    row: Tensor
    message_features: Tensor
    graph: Tensor
    sizes: np.ndarray[Any, Any]

    def to(self, device: str) -> GraphBatch:
        """The same on another device."""
        tensors = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "sizes"}
        return replace(self, **{name: tensor.to(device) for name, tensor in tensors.items()})


class GraphEncoder(nn.Module):
    """Node features and graph to embeddings (n, p).

    Inputs are divided by their standard deviation over the training states (`node_scale`,
    `edge_scale`; message features are centred too): a flag that one city of fifty carries would
    otherwise hardly move the first layer. These are fixed numbers, stored with the weights.

    Args:
        config: shape of the stack.
        node_width: d_v.
        message_width: d_m.
    """

    node_scale: Tensor
    edge_scale: Tensor
    edge_shift: Tensor

    def __init__(self, config: EncoderConfig, node_width: int, message_width: int) -> None:
        super().__init__()
        self.config = config
        widths = [config.hidden_channels] * (len(config.layers) - 1) + [config.out_channels]
        inputs = [node_width, *widths[:-1]]
        self.register_buffer("node_scale", torch.ones(node_width))
        self.register_buffer("edge_scale", torch.ones(message_width))
        self.register_buffer("edge_shift", torch.zeros(message_width))
        self.layers = nn.ModuleList(
            _layer(kind, config, i, o, message_width)
            for kind, i, o in zip(config.layers, inputs, widths, strict=True)
        )
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(width) if config.batch_norm else nn.Identity() for width in widths[:-1]
        )
        self.log_variance: nn.Module | None = None
        if config.variational:
            last = config.layers[-1]
            self.log_variance = _layer(last, config, inputs[-1], widths[-1], message_width)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Embeddings (n, p); the mean, where the encoder is variational."""
        mean, _ = self.distribution(batch)
        return self.finish(mean)

    def distribution(self, batch: GraphBatch) -> tuple[Tensor, Tensor | None]:
        """Output of the last layer before normalisation, and its log-variance if variational."""
        x = batch.x * self.node_scale
        features = (batch.message_features - self.edge_shift) * self.edge_scale
        for layer, norm in zip(self.layers, self.norms, strict=False):
            x = self._activated(_normed(norm, _apply(layer, x, batch, features)))
        mean = _apply(self.layers[-1], x, batch, features)
        if self.log_variance is None:
            return mean, None
        spread = _apply(self.log_variance, x, batch, features)
        return mean, spread.clamp(-10.0, 10.0)

    def finish(self, z: Tensor) -> Tensor:
        """Scale to length 1, where configured."""
        return F.normalize(z, dim=-1) if self.config.normalise else z

    def _activated(self, x: Tensor) -> Tensor:
        if self.config.activation == "relu":
            return F.relu(x)
        return F.leaky_relu(x) if self.config.activation == "leaky_relu" else x


class OwnGraphEncoder(GraphEncoder):
    """A module of the user's own in the place of the stack; inputs are scaled as for ours.

    Args:
        config: its ``out_channels`` and ``normalise`` count.
        node_width: d_v.
        message_width: d_m.
        factory: class or function of (node_width, message_width, out_channels) that gives a module
            from x (n, d_v), messages (2, M) as source and target, and their features (M, d_m), to
            (n, out_channels).
    """

    def __init__(
        self,
        config: EncoderConfig,
        node_width: int,
        message_width: int,
        factory: Callable[[int, int, int], nn.Module],
    ) -> None:
        nn.Module.__init__(self)
        self.config = config
        self.register_buffer("node_scale", torch.ones(node_width))
        self.register_buffer("edge_scale", torch.ones(message_width))
        self.register_buffer("edge_shift", torch.zeros(message_width))
        self.norms = nn.ModuleList()
        self.module = factory(node_width, message_width, config.out_channels)
        if not isinstance(self.module, nn.Module):
            raise UsageError(
                f"{factory!r} gives a {type(self.module).__name__}, an encoder is a torch.nn.Module"
            )

    def distribution(self, batch: GraphBatch) -> tuple[Tensor, Tensor | None]:
        """See :class:`GraphEncoder`."""
        features = (batch.message_features - self.edge_shift) * self.edge_scale
        pairs = torch.stack([batch.source, batch.target])
        z = self.module(batch.x * self.node_scale, pairs, features[batch.row])
        wanted = (len(batch.x), self.config.out_channels)
        if tuple(z.shape) != wanted:
            raise UsageError(
                f"{type(self.module).__name__} gives embeddings of shape {tuple(z.shape)}, they "
                f"must be {wanted}"
            )
        return z, None


def _normed(norm: nn.Module, x: Tensor) -> Tensor:
    if norm.training and len(x) < 2:  # one node has no statistics
        return x
    return norm(x)


def _layer(
    kind: str, config: EncoderConfig, inputs: int, outputs: int, message_width: int
) -> nn.Module:
    if kind == "nnconv":
        return FactoredNNConv(
            inputs, outputs, message_width, config.edge_channels, config.aggregation
        )
    if kind == "sage":
        return SAGEConv(inputs, outputs, aggr="mean")
    if kind == "gcn":
        return GCNConv(inputs, outputs)
    if kind == "gat":
        return GATConv(inputs, outputs, edge_dim=message_width)
    if kind == "gin":
        network = nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
        return GINEConv(network, edge_dim=message_width, train_eps=True)
    network = nn.Sequential(nn.Linear(2 * inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
    return EdgeConv(network, aggr="max")


def _apply(layer: nn.Module, x: Tensor, batch: GraphBatch, features: Tensor) -> Tensor:
    if isinstance(layer, FactoredNNConv):
        return layer(x, batch.source, batch.target, batch.row, features)
    pairs = torch.stack([batch.source, batch.target])
    if isinstance(layer, GATConv | GINEConv):
        return layer(x, pairs, features[batch.row])
    return layer(x, pairs)
