"""Encoders and latent spaces that are hardly trained, which does not matter for time."""

from __future__ import annotations

from collections.abc import Sequence

from lagco.core.problem import Problem
from lagco.embedding.config import PretrainConfig
from lagco.embedding.encoder import Encoder
from lagco.embedding.pretraining.pretrain import pretrain
from lagco.instances import Instance
from lagco.latent.space import LatentSpace

_BRIEF = PretrainConfig(max_steps=5, states=30)


def brief_encoder(
    problem: type[Problem], data: Sequence[Instance], features: str = "full"
) -> Encoder:
    """An encoder that is hardly trained, which does not matter for time."""
    return pretrain(problem, data, features=features, training=_BRIEF, progress=False)


def brief_space(problem: type[Problem], features: str) -> LatentSpace:
    """A latent space with such an encoder."""
    data = [problem.generate(size, index=size) for size in (10, 12)]
    sources = [problem(instance, features=features) for instance in data]
    return LatentSpace.fit(brief_encoder(problem, data, features), sources, states=24)
