"""The multi-head decoder, derived from the attribute types, and its losses."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lagco.arrays import Array
from lagco.embedding.config import EncoderConfig
from lagco.embedding.features.layout import TableLayout, ViewLayout
from lagco.embedding.network.module import GraphBatch
from lagco.embedding.pretraining.negatives import draw_negatives

#: The edge losses of a gradient step are over at most this many edges of the batch, drawn anew.
EDGES_PER_STEP = 2048


class TableDecoder(nn.Module):
    """Heads for the node (or edge) attributes: one network per type, its outputs cut per attribute.

    Continuous targets are standardised over the training states (`mean`, `deviation`), so that all
    losses have the same scale; of a binary column both values weigh the same in total (`weight_1`,
    `weight_0`), so that a rare flag is learnt at all.

    Args:
        table: the attributes.
        width: of the input.
        hidden: width of the hidden layer.
    """

    mean: Tensor
    deviation: Tensor
    weight_1: Tensor
    weight_0: Tensor

    def __init__(self, table: TableLayout, width: int, hidden: int) -> None:
        super().__init__()
        self.table = table
        self.heads = nn.ModuleDict()
        for kind in ("binary", "categorical", "continuous"):
            outputs = sum(entry.width for entry in table if entry.type == kind)
            if outputs:
                self.heads[kind] = nn.Sequential(
                    nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, outputs)
                )
        self.register_buffer("mean", torch.zeros(table.width))
        self.register_buffer("deviation", torch.ones(table.width))
        self.register_buffer("weight_1", torch.ones(table.width))
        self.register_buffer("weight_0", torch.ones(table.width))

    def fit_scale(self, mean: Tensor, deviation: Tensor) -> None:
        """Take over the statistics (width,) of the training states."""
        self.mean.copy_(mean)
        self.deviation.copy_(torch.where(deviation < 1e-6, torch.ones(()), deviation))
        share = mean.clamp(0.01, 0.99)
        self.weight_1.copy_(0.5 / share)
        self.weight_0.copy_(0.5 / (1.0 - share))

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        """Per attribute (k, its width): logits, or standardised values."""
        out: dict[str, Tensor] = {}
        for kind, head in self.heads.items():
            values = head(inputs)
            start = 0
            for entry in self.table:
                if entry.type == kind:
                    out[entry.name] = values[:, start : start + entry.width]
                    start += entry.width
        return out

    def losses(self, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Per attribute the mean loss over what it reconstructs."""
        if len(targets) == 0 or self.table.constant:
            return {}
        found = {}
        for name, values in self(inputs).items():
            entry = self.table[name]
            wanted = targets[:, entry.columns]
            if entry.type == "binary":
                weight = torch.where(
                    wanted > 0.5, self.weight_1[entry.columns], self.weight_0[entry.columns]
                )
                found[name] = F.binary_cross_entropy_with_logits(values, wanted, weight=weight)
            elif entry.type == "categorical":
                total = wanted.sum(dim=1, keepdim=True).clamp(min=1e-12)
                shares = wanted / total  # a list of categories is a mixture
                found[name] = -(shares * F.log_softmax(values, dim=1)).sum(dim=1).mean()
            else:
                scaled = (wanted - self.mean[entry.columns]) / self.deviation[entry.columns]
                found[name] = F.mse_loss(values, scaled)
        return found


class GraphDecoder(nn.Module):
    """From embeddings back to node attributes, edge attributes and adjacency.

    Edge heads read (z_i, z_j): as they stand in a directed view, and as (z_i + z_j, |z_i - z_j|) in
    an undirected one, where the order of the ends means nothing.
    """

    def __init__(self, config: EncoderConfig, layout: ViewLayout) -> None:
        super().__init__()
        self.config = config
        self.directed = layout.directed
        p, hidden = config.out_channels, config.decoder_channels
        self.nodes = TableDecoder(layout.nodes, p, hidden)
        self.edges = TableDecoder(layout.edges, 2 * p, hidden)

    def edge_inputs(self, z: Tensor, edges: Tensor) -> Tensor:
        """(E, 2 p)"""
        a, b = z.index_select(0, edges[0]), z.index_select(0, edges[1])
        return torch.cat([a, b] if self.directed else [a + b, (a - b).abs()], dim=1)

    def losses(self, z: Tensor, batch: GraphBatch, seed: int) -> dict[str, Tensor]:
        """Mean loss of every head: ``node/…``, ``edge/…`` and ``adjacency``."""
        nodes = self.nodes.losses(z, batch.x)
        found = {f"node/{name}": loss for name, loss in nodes.items()}
        if not self.edges.table.constant:
            pairs, wanted = batch.edges, batch.edge_features
            if pairs.shape[1] > EDGES_PER_STEP:
                chosen = torch.from_numpy(_draw_edges(pairs.shape[1], seed)).to(z.device)
                pairs, wanted = pairs[:, chosen], wanted[chosen]
            edges = self.edges.losses(self.edge_inputs(z, pairs), wanted)
            found |= {f"edge/{name}": loss for name, loss in edges.items()}
        adjacency = contrastive_loss(z, batch, self.config, seed)
        if adjacency is not None:
            found["adjacency"] = adjacency
        return found

    def total(self, losses: dict[str, Tensor]) -> Tensor:
        """The weighted sum of the heads' losses."""
        weights = {"node": self.config.alpha, "edge": self.config.beta}
        parts = [
            weights.get(name.split("/")[0], self.config.gamma) * loss
            for name, loss in losses.items()
        ]
        return torch.stack(parts).sum() if parts else torch.zeros((), requires_grad=True)


def contrastive_loss(
    z: Tensor, batch: GraphBatch, config: EncoderConfig, seed: int
) -> Tensor | None:
    """InfoNCE over edges: each against non-neighbours of one end, by cosine; None without any.

    Edges of a graph without non-edges have nothing to be told from and do not count.
    """
    anchor, other, negatives = negatives_of(batch, config.negatives, seed, every=False)
    kept = np.flatnonzero(negatives[:, 0] >= 0)
    if len(kept) == 0:
        return None
    unit = z if config.normalise else F.normalize(z, dim=-1)
    candidates = np.concatenate([other[kept, None], negatives[kept]], axis=1)  # (E, 1 + k)
    a = unit.index_select(0, torch.from_numpy(anchor[kept]).to(z.device)).unsqueeze(1)
    b = unit.index_select(0, torch.from_numpy(candidates.reshape(-1)).to(z.device))
    similarity = (a * b.view(len(kept), -1, unit.shape[1])).sum(dim=2)
    return -F.log_softmax(similarity / config.temperature, dim=1)[:, 0].mean()


def negatives_of(
    batch: GraphBatch, count: int, seed: int, *, every: bool = True
) -> tuple[Array, Array, Array]:
    """See :func:`~lagco.embedding.pretraining.negatives.draw_negatives`; `every` edge, or a
    step's."""
    n = len(batch.x)
    target = batch.target.cpu().numpy()
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(target, minlength=n), out=first[1:])
    starts = np.cumsum(batch.sizes) - batch.sizes
    start, size = np.repeat(starts, batch.sizes), np.repeat(batch.sizes, batch.sizes)
    edges = batch.edges.cpu().numpy()
    if not every and edges.shape[1] > EDGES_PER_STEP:
        edges = edges[:, _draw_edges(edges.shape[1], seed)]
    source = batch.source.cpu().numpy()
    return draw_negatives(edges, first, source, start, size, np.uint64(seed), count)


def _draw_edges(count: int, seed: int) -> Array:
    return np.random.default_rng(seed).integers(count, size=EDGES_PER_STEP)
