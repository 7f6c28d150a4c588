"""NNConv that sums before it multiplies.

PyTorch Geometric's ``NNConv`` makes a matrix per edge and multiplies each message by it. With an
edge network that ends in a linear layer, the same sum can be taken first:

    sum_j x_j (B + sum_k r_k(e) W_k)  =  sum_k (sum_j r_k(e) x_j) W_k + (sum_j x_j) B

so the multiplication runs over nodes instead of edges. Parameters and result are those of NNConv.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import NNConv

from lagco.embedding.network.outer_sum import OuterSum


class FactoredNNConv(NNConv):  # type: ignore[misc, unused-ignore]
    """``NNConv(in, out, nn=Sequential(Linear(d_e, k), ReLU(), Linear(k, in * out)))``, faster.

    Args:
        in_channels: width of a node's input.
        out_channels: width of a node's output.
        edge_width: width d_e of message features.
        edge_channels: hidden width k of the edge network.
        aggregation: ``add`` or ``mean`` take the short way, ``max`` cannot.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_width: int,
        edge_channels: int,
        aggregation: str = "add",
    ) -> None:
        network = nn.Sequential(
            nn.Linear(edge_width, edge_channels),
            nn.ReLU(),
            nn.Linear(edge_channels, in_channels * out_channels),
        )
        super().__init__(in_channels, out_channels, network, aggr=aggregation)
        self.aggregation = aggregation

    def forward(
        self, x: Tensor, source: Tensor, target: Tensor, row: Tensor, features: Tensor
    ) -> Tensor:
        """Output (n, out).

        Args:
            x: (n, in)
            source: (M,) node a message comes from.
            target: (M,) node it goes to.
            row: (M,) its row in `features`.
            features: (R, d_e)
        """
        if self.aggregation == "max":
            pairs = torch.stack([source, target])
            return super().forward(x, pairs, features[row])
        hidden = self.nn[1](self.nn[0](features))  # (R, k)
        hidden = torch.cat([hidden, hidden.new_ones(len(hidden), 1)], dim=1)  # (R, k + 1)
        if x.device.type == "cpu":
            total = OuterSum.apply(hidden, x, source, target, row).flatten(1)  # (n, (k + 1) in)
        else:
            parts = (hidden[row].unsqueeze(2) * x[source].unsqueeze(1)).flatten(1)
            total = parts.new_zeros(len(x), parts.shape[1]).index_add(0, target, parts)
        if self.aggregation == "mean":
            counts = torch.bincount(target, minlength=len(x)).clamp(min=1).unsqueeze(1)
            total = total / counts
        last = self.nn[2]
        weights = torch.cat([last.weight.t(), last.bias.unsqueeze(0)])  # (k + 1, in * out)
        out = total @ weights.reshape(-1, self.out_channels)
        return out + self.lin(x) + self.bias
