"""Agents that are taught by the searches of `placement` and `cyber-path`, from short runs."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.training.trainer import train
from lagco.commands.evaluate import evaluate
from lagco.commands.generate import generate_instance
from tests.latent.conftest import brief_encoder

SETTINGS = {
    "method": "taught-projection",
    "steps": 1024,
    "rollout": 256,
    "envs": 4,
    "epochs": 4,
    "batch_size": 32,
    "k": 12,
    "seed": 3,
    "ranker_width": 16,
    "ranker_layers": 1,
}


def networks(name, seed, count):
    return [
        generate_instance(name, seed=seed, index=i, size=12, references=["sweeps"], sweeps=50)
        for i in range(count)
    ]


def taught(name, folder):
    return train(name, networks(name, 1, 4), folder, encoder=brief_encoder(name), **SETTINGS)


@pytest.mark.parametrize("name", ["placement", "cyber-path"])
def test_a_short_run_beats_random_and_repeats(name, tmp_path):
    agent = taught(name, tmp_path / "first")
    fresh = networks(name, 2, 4)
    found = [evaluate(policy, fresh, episodes=1, problem=name) for policy in (agent, "random")]
    own, plain = (result.summary()["score/first"].mean for result in found)
    assert own > plain + 0.1
    again = taught(name, tmp_path / "second")
    assert agent.weights.keys() == again.weights.keys()
    for part, array in agent.weights.items():
        np.testing.assert_array_equal(array, again.weights[part])
