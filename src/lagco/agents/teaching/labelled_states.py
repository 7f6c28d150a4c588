"""States of one round of imitation, labelled with the right actions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.teaching.fine_tuning import SeenGraph
from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures


class LabelledStates:
    """Labelled states of one round.

    Attributes:
        observations: (w,) per state.
        actions: all valid actions, or the nearest and the right ones.
        right: bool (k,) per state, which actions are right.
        features: of the candidates, and which of these are right; None without a choice or
            without a right one.
        graphs: inputs of the encoder, if that is fine-tuned.
    """

    def __init__(self) -> None:
        self.observations: list[Array] = []
        self.actions: list[ActionTables] = []
        self.right: list[Array] = []
        self.features: list[tuple[CandidateFeatures, Array] | None] = []
        self.graphs: list[SeenGraph] = []

    def __len__(self) -> int:
        return len(self.observations)


def right_loss(log_probabilities: Tensor, right: Tensor) -> Tensor:
    """Mean negative log-probability (B, k) of choosing any right action."""
    return -log_probabilities.masked_fill(~right, -1e9).logsumexp(dim=1).mean()


def padded_features(
    usable: list[tuple[CandidateFeatures, Array]],
) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
    """Candidates (S, K, f), pairs (S, K, K, g) in half precision, masks (S, K), right (S, K)."""
    first = usable[0][0]
    count, width = len(usable), first.each.shape[1]
    k = max(len(features.each) for features, _ in usable)
    candidates = np.zeros((count, k, width), np.float32)
    mask, right = np.zeros((count, k), bool), np.zeros((count, k), bool)
    pairs = None
    if first.pairs is not None:
        pairs = np.zeros((count, k, k, first.pairs.shape[2]), np.float16)
    for i, (features, among) in enumerate(usable):
        n = len(features.each)
        candidates[i, :n] = features.each
        mask[i, :n] = True
        right[i, :n] = among
        if pairs is not None:
            pairs[i, :n, :n] = features.pairs
    return (
        torch.from_numpy(candidates),
        None if pairs is None else torch.from_numpy(pairs),
        torch.from_numpy(mask),
        torch.from_numpy(right),
    )
