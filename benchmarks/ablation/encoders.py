"""Encoders to compare: trained, variational, random, and none at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from lagco.core.problem import Problem
from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.embedding.encoder import Encoder
from lagco.embedding.pretraining.pretrain import pretrain
from lagco.instances import Instance

KINDS = ("gae", "vgae", "random", "raw", "zero")
#: enough for graphs of the paper's range
_BRIEF = PretrainConfig(max_steps=200, states=400)
#: one step at rate 0: scales of the inputs are fitted, weights stay as they were drawn
_UNTRAINED = PretrainConfig(max_steps=1, learning_rate=0.0, states=300)
_WIDEST = 64


def encoder_of(
    kind: str, problem: type[Problem], instances: Sequence[Instance], seed: int, features: str
) -> Encoder:
    """An encoder of one of `KINDS`.

    `gae` and `vgae` are pre-trained, `random` has the weights that pre-training begins with, `raw`
    gives every node its own attributes over their deviations, and `zero` gives it nothing.
    """
    config = EncoderConfig(text_width=None if features == "paper" else 32)
    training = _BRIEF
    if kind == "vgae":
        config = replace(config, variational=True)
    if kind in ("random", "raw", "zero"):
        training = _UNTRAINED
    if kind in ("raw", "zero"):
        config = replace(config, out_channels=_WIDEST, batch_norm=False, normalise=False)
        # what a node's attributes are tells how wide embeddings have to be
        config = replace(config, out_channels=_width(problem, instances, features, config))
        config = replace(config, hidden_channels=2 * config.out_channels)
    encoder = pretrain(
        problem, list(instances), features=features, config=config, training=training, seed=seed,
        progress=False,
    )  # fmt: skip
    if kind in ("raw", "zero"):
        for view in encoder.views.values():
            network = view.network
            _pass_through(network, 1.0 if kind == "raw" else 0.0)
            view.renew(network)
    return encoder


def _width(
    problem: type[Problem], instances: Sequence[Instance], features: str, config: Any
) -> int:
    """Width of the widest node attributes of a view."""
    found = pretrain(
        problem, list(instances[:2]), features=features, config=config, training=_UNTRAINED,
        progress=False,
    )  # fmt: skip
    return max(view.layout.nodes.width for view in found.views.values())


def _pass_through(network: Any, factor: float) -> None:
    """Make embeddings the node's own scaled attributes times a factor, without messages.

    The first layer gives their positive and their negative parts, which the activation leaves as
    they are, the second one their difference.
    """
    first, second = network.layers
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        hidden, inputs = first.lin.weight.shape
        own = torch.eye(hidden // 2, inputs)
        first.lin.weight.copy_(torch.cat([own, -own]))
        outputs = second.lin_r.weight.shape[0]
        back = torch.eye(outputs, hidden // 2)
        second.lin_r.weight.copy_(factor * torch.cat([back, -back], dim=1))
