"""The faster NNConv is NNConv, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.nn import NNConv

from lagco.embedding.network.nnconv import FactoredNNConv


@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
def test_equals_pytorch_geometric(aggregation):
    torch.manual_seed(0)
    n, messages, rows = 9, 40, 13
    conv = FactoredNNConv(5, 6, 3, 8, aggregation)
    source, target = torch.randint(n, (2, messages))
    row = torch.randint(rows, (messages,))
    results = []
    for forward in (
        lambda x, f: conv(x, source, target, row, f),
        lambda x, f: NNConv.forward(conv, x, torch.stack([source, target]), f[row]),
    ):
        torch.manual_seed(1)
        x = torch.randn(n, 5, requires_grad=True)
        features = torch.randn(rows, 3, requires_grad=True)
        conv.zero_grad()
        out = forward(x, features)
        out.square().sum().backward()
        gradients = [x.grad, features.grad, *(p.grad.clone() for p in conv.parameters())]
        results.append([out.detach(), *gradients])
    for ours, theirs in zip(*results, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-3)
