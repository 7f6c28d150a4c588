"""Learning to propose moves: imitation of a teacher that previews all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lagco.arrays import Array
from lagco.live.agents.scorer import FAR, Scorer, shapes

#: share of a state's target that goes to the moves of the best changes; the rest to low levels
_BEST_SHARE = 0.5
#: by so much, relatively, a level is higher where its share is lower by a factor of e
_SHARPNESS = 0.01
_WEIGHT_DECAY, _WARM_UP, _LOWEST = 1e-3, 0.05, 0.02


@dataclass(frozen=True, eq=False)
class Example:
    """A training example: a state labelled by the teacher.

    Attributes:
        columns: (k, f) features of all moves.
        target: (k,) distribution over the moves, by how good they are.
    """

    columns: Array
    target: Array


def example_of(columns: Array, levels: Array, best: Array) -> Example:
    """An example from the levels (k,) after each move, and the moves of the best changes (k,)."""
    relative = levels / levels.min() - 1.0
    target = np.exp(-relative / _SHARPNESS)
    target /= target.sum()
    if best.any():
        target = (1.0 - _BEST_SHARE) * target + _BEST_SHARE * best / best.sum()
    return Example(columns.astype(np.float16), target.astype(np.float32))


class ScorerNetwork(nn.Module):
    """:class:`~lagco.live.agents.scorer.Scorer` in torch.

    Args:
        features: columns of a move.
        width: of the layers.

    Shapes:
        columns (B, K, f), mask (B, K) True where there is a move; scores (B, K).
    """

    #: learning rate
    rate = 2e-3
    mean: Tensor
    factor: Tensor

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("factor", torch.ones(features))
        self.first = nn.Linear(features, width)
        self.own = nn.Linear(width, width)
        self.mean_of = nn.Linear(width, width, bias=False)
        self.most_of = nn.Linear(width, width, bias=False)
        self.last = nn.Linear(width, 1, bias=False)

    def forward(self, columns: Tensor, mask: Tensor) -> Tensor:
        """Scores; without meaning where there is no move."""
        x = ((columns - self.mean) * self.factor).clamp(-FAR, FAR)
        x = self.first(x).relu() * mask[:, :, None]  # never negative: 0 is no larger than any
        around = self.mean_of(x.sum(dim=1) / mask.sum(dim=1, keepdim=True))
        around = around + self.most_of(x.max(dim=1).values)
        scores: Tensor = self.last((self.own(x) + around[:, None]).relu())[:, :, 0]
        return scores

    def scorer(self) -> Scorer:
        """The same for inference."""
        arrays = {
            "mean": self.mean,
            "factor": self.factor,
            "first": self.first.weight.T,
            "first_bias": self.first.bias,
            "own": self.own.weight.T,
            "own_bias": self.own.bias,
            "mean_of": self.mean_of.weight.T,
            "most_of": self.most_of.weight.T,
            "last": self.last.weight[0],
        }
        return Scorer({n: np.ascontiguousarray(a.detach().numpy()) for n, a in arrays.items()})

    def standardise(self, examples: Sequence[Example]) -> None:
        """Set mean and factor of the columns from examples."""
        rows = np.concatenate([example.columns for example in examples]).astype(np.float64)
        deviation = rows.std(axis=0)
        self.mean = torch.from_numpy(rows.mean(axis=0).astype(np.float32))
        factor = 1.0 / np.where(deviation < 1e-6, 1.0, deviation)
        self.factor = torch.from_numpy(factor.astype(np.float32))


class LinearScorerNetwork(ScorerNetwork):
    """Weighted sums of the standardised columns of each move.

    Args:
        features: columns of a move.
    """

    rate = 2e-2

    def __init__(self, features: int) -> None:
        nn.Module.__init__(self)
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("factor", torch.ones(features))
        self.last = nn.Linear(features, 1, bias=False)
        with torch.no_grad():
            self.last.weight.zero_()

    def forward(self, columns: Tensor, mask: Tensor) -> Tensor:
        """Scores; without meaning where there is no move."""
        x = ((columns - self.mean) * self.factor).clamp(-FAR, FAR)
        scores: Tensor = self.last(x)[:, :, 0]
        return scores

    def scorer(self) -> Scorer:
        """The same as two layers: positive and negative parts of columns, then those of the sum."""
        weights = self.last.weight.detach().numpy()[0]
        f = len(weights)
        arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes(f, 2 * f).items()}
        arrays["mean"], arrays["factor"] = self.mean.numpy(), self.factor.numpy()
        arrays["first"][:] = np.concatenate([np.eye(f), -np.eye(f)], axis=1)
        arrays["own"][:, 0] = np.concatenate([weights, -weights])
        arrays["own"][:, 1] = -arrays["own"][:, 0]
        arrays["last"][:2] = 1.0, -1.0
        return Scorer(arrays)


def seeded(seed: int, make: Callable[[], ScorerNetwork]) -> ScorerNetwork:
    """A network whose first weights follow from a seed; torch's own stream is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def fit(
    network: ScorerNetwork,
    examples: Sequence[Example],
    steps: int,
    rng: np.random.Generator,
    batch: int = 32,
) -> float:
    """Fit the network to examples by cross-entropy with their targets; the mean loss at the end."""
    rate = network.rate
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=_WEIGHT_DECAY)
    losses = []
    for step in range(steps):
        part = step / steps
        scale = min(1.0, (part + 1e-3) / _WARM_UP) * max(
            _LOWEST, 0.5 * (1.0 + np.cos(np.pi * part))
        )
        for group in optimiser.param_groups:
            group["lr"] = rate * scale
        columns, target, mask = _padded(
            [examples[i] for i in rng.integers(len(examples), size=batch)]
        )
        scores = network(columns, mask).masked_fill(~mask, -1e9)
        loss = -(target * scores.log_softmax(dim=1)).sum(dim=1).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses[-100:])) if losses else float("nan")


def _padded(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Columns (B, K, f), targets (B, K), and a mask (B, K)."""
    most = max(len(example.columns) for example in examples)
    columns = np.zeros((len(examples), most, examples[0].columns.shape[1]), np.float32)
    target, mask = (
        np.zeros((len(examples), most), np.float32),
        np.zeros((len(examples), most), bool),
    )
    for i, example in enumerate(examples):
        count = len(example.columns)
        columns[i, :count], target[i, :count], mask[i, :count] = (
            example.columns,
            example.target,
            True,
        )
    return torch.from_numpy(columns), torch.from_numpy(target), torch.from_numpy(mask)
