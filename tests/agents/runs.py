"""Short training runs that several tests share."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from lagco.agents.config import applicable_settings
from lagco.agents.training.trainer import train
from lagco.commands.generate import generate_instance
from tests.latent.conftest import brief_encoder

SETTINGS = {"steps": 1024, "rollout": 256, "envs": 4, "epochs": 2, "seed": 5}


def settings(method, **changes):
    """Settings of a short run, those that the method has."""
    return applicable_settings(method, SETTINGS) | changes


@functools.cache
def instances(name="tsp"):
    return [
        generate_instance(name, size=s, index=s, references=("sweeps", "solver"), sweeps=30)
        for s in (8, 10, 12)
    ]


@functools.cache
def trained(method="projection", name="tsp", **changes):
    folder = Path(tempfile.mkdtemp()) / "agent"
    train(
        name,
        instances(name),
        folder,
        encoder=brief_encoder(name),
        method=method,
        **settings(method, **changes),
    )
    return folder
