"""The network behind the decoder ``ranked`` in training: attention among candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lagco.agents.inference.ranker import FAR, PREFIX
from lagco.arrays import Array

_HIDDEN = -1e4


class RankerNetwork(nn.Module):
    """Transformer layers over candidates, without positions.

    Args:
        features: numbers per candidate, f.
        pairs: numbers per pair of candidates, g; 0 where pairs have none.
        width: of the layers.
        layers: number of them.
        heads: of attention; `width` is a multiple of it.

    Shapes:
        candidates (B, K, f), pairs (B, K, K, g) or None, mask (B, K) True where there is a
        candidate; logits (B, K).
    """

    mean: Tensor
    factor: Tensor
    pair_mean: Tensor
    pair_factor: Tensor

    def __init__(
        self, features: int, pairs: int = 0, width: int = 48, layers: int = 3, heads: int = 4
    ) -> None:
        super().__init__()
        self.heads = heads
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("factor", torch.ones(features))
        self.register_buffer("pair_mean", torch.zeros(pairs))
        self.register_buffer("pair_factor", torch.ones(pairs))
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, width)
        self.pair_bias = nn.Parameter(0.3 * torch.randn(layers * heads, pairs))
        self.attend_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.query_key_value = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.joined = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.think_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.wide = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers))
        self.narrow = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.last_norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, 1)
        with torch.no_grad():  # begin near the identity
            for layer in (*self.joined, *self.narrow):
                layer.weight.mul_(0.5)

    def standardise_by(self, candidates: Tensor, pairs: Tensor | None, mask: Tensor) -> None:
        """Fix the standardisation of the inputs to the moments of a sample."""
        _fix(self.mean, self.factor, candidates[mask])
        if pairs is not None and pairs.shape[-1]:
            among = mask[:, :, None] & mask[:, None, :]
            among &= ~torch.eye(mask.shape[1], dtype=torch.bool)
            _fix(self.pair_mean, self.pair_factor, pairs[among])

    def forward(self, candidates: Tensor, pairs: Tensor | None, mask: Tensor) -> Tensor:
        """Logits; padded candidates get a very low one."""
        batch, count, _ = candidates.shape
        heads, layers = self.heads, len(self.joined)
        x = ((candidates - self.mean) * self.factor).clamp(-FAR, FAR)
        x = self.second(torch.relu(self.first(x)))
        bias = (
            torch.zeros((), device=mask.device)
            .masked_fill(~mask[:, None, None, :], _HIDDEN)
            .unsqueeze(0)
        )
        if pairs is not None and pairs.shape[-1]:
            given = ((pairs - self.pair_mean) * self.pair_factor).clamp(-FAR, FAR)
            found = (given @ self.pair_bias.T).permute(3, 0, 1, 2)
            found = found.reshape(layers, heads, batch, count, count).transpose(1, 2)
            bias = found + bias
        else:
            bias = bias.expand(layers, -1, -1, -1, -1)
        for i in range(layers):
            x = x + self._attend(i, x, bias[i])
            wide = torch.relu(self.wide[i](self.think_norms[i](x)))
            x = x + self.narrow[i](wide)
        logits: Tensor = self.last(self.last_norm(x))[:, :, 0]
        return logits.masked_fill(~mask, _HIDDEN)

    def _attend(self, i: int, x: Tensor, bias: Tensor) -> Tensor:
        batch, count, width = x.shape
        each = width // self.heads
        mixed = self.query_key_value[i](self.attend_norms[i](x))
        query, key, value = mixed.view(batch, count, 3, self.heads, each).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) * each**-0.5 + bias
        found = scores.softmax(-1) @ value
        result: Tensor = self.joined[i](found.transpose(1, 2).reshape(batch, count, width))
        return result

    def arrays(self) -> dict[str, Array]:
        """Weights as a bundle stores them; the module's own, not copies."""
        found = {PREFIX + name: t.detach().cpu().numpy() for name, t in self.state_dict().items()}
        return found | {PREFIX + "heads": np.array([self.heads], np.int64)}


class LinearRankerNetwork(RankerNetwork):
    """Weighted sums of the standardised columns, without features of pairs.

    Args:
        features: numbers per candidate, f.
    """

    def __init__(self, features: int) -> None:
        nn.Module.__init__(self)
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("factor", torch.ones(features))
        self.register_buffer("pair_mean", torch.zeros(0))
        self.register_buffer("pair_factor", torch.zeros(0))
        self.last = nn.Linear(features, 1, bias=False)
        with torch.no_grad():
            self.last.weight.zero_()

    def standardise_by(self, candidates: Tensor, pairs: Tensor | None, mask: Tensor) -> None:
        """Fix the standardisation of the columns to the moments of a sample."""
        _fix(self.mean, self.factor, candidates[mask])

    def forward(self, candidates: Tensor, pairs: Tensor | None, mask: Tensor) -> Tensor:
        """Logits; padded candidates get a very low one."""
        x = ((candidates - self.mean) * self.factor).clamp(-FAR, FAR)
        return self.last(x)[:, :, 0].masked_fill(~mask, _HIDDEN)

    def arrays(self) -> dict[str, Array]:
        """Weights as a bundle stores them; the module's own, not copies."""
        return {PREFIX + name: t.detach().cpu().numpy() for name, t in self.state_dict().items()}


def _fix(mean: Any, factor: Any, rows: Tensor) -> None:
    deviation = rows.std(dim=0) if len(rows) > 1 else torch.zeros(rows.shape[1])
    mean.copy_(rows.mean(dim=0))
    factor.copy_(torch.where(deviation > 1e-3, 1.0 / deviation.clamp_min(1e-3), 1.0))
