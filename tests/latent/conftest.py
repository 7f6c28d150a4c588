"""Encoders trained briefly once: what is tested here does not depend on how good they are."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.embedding import EncoderConfig, PretrainConfig
from lagco.embedding.pretraining.pretrain import pretrain, pretrain_on
from lagco.latent.space import LatentSpace
from lagco.problems import problem_class

BRIEF = PretrainConfig(max_steps=5, states=24)


@functools.cache
def brief_encoder(name, features="full"):
    data = [generate_instance(name, size=size, index=size) for size in (8, 10, 12)]
    return pretrain(problem_class(name), data, features=features, training=BRIEF, progress=False)


@functools.cache
def brief_space(name, features="full", reduce=None):
    cls = problem_class(name)
    sources = [
        cls(generate_instance(name, size=s, index=s), features=features) for s in (8, 10, 12)
    ]
    return LatentSpace.fit(brief_encoder(name, features), sources, states=24, reduce=reduce)


def encoder_for(env):
    """A brief encoder for any environment."""
    return pretrain_on([env], config=EncoderConfig(), training=BRIEF)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
