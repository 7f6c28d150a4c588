"""The paper's two listings through observation and decoding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import lagco
from lagco.embedding import PretrainConfig, pretrain_on, text_encoder
from lagco.latent.space import LatentSpace
from tests.embedding.listings import CyberAttackExt, TrafficEngineeringExt, fake_sentence_encoder

TRAINING = PretrainConfig(max_steps=10, states=40)


@pytest.mark.parametrize("cls", [CyberAttackExt, TrafficEngineeringExt])
def test_a_listing_runs_through_observation_and_decoding(cls):
    with text_encoder(fake_sentence_encoder, "hashed words"):
        sources = [cls(seed=s) for s in range(3)]
        encoder = pretrain_on(sources, training=TRAINING)
        space = LatentSpace.fit(encoder, sources, states=30)
        env = lagco.wrap(cls(seed=7), space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_env(env, skip_render_check=True)
        rng = np.random.default_rng(0)
        observation, _ = env.reset(seed=0)
        widths, taken = set(), set()
        for _ in range(25):
            widths.add(observation.shape)
            point = rng.uniform(space.scale.low, space.scale.high).astype(np.float32)
            raw = env.decode(point)
            assert env.unwrapped.is_valid_action(raw)
            assert env.action_space.contains(point)
            taken.add(tuple(np.ravel(raw).tolist()))
            observation, _, terminated, truncated, _ = env.step(point)
            if terminated or truncated:
                observation, _ = env.reset(seed=1)
        assert len(widths) == 1
        assert len(taken) > 3


@pytest.mark.parametrize("cls", [CyberAttackExt, TrafficEngineeringExt])
def test_a_listing_is_trained_evaluated_and_solved(cls, tmp_path):
    short = {"rollout": 64, "envs": 2, "epochs": 1, "batch_size": 32, "progress": False}
    with text_encoder(fake_sentence_encoder, "hashed words"):
        encoder = lagco.pretrain(cls, seeds=range(3), training=TRAINING, progress=False)
        agent = lagco.train(cls, seeds=range(3), out=tmp_path, encoder=encoder, steps=128, **short)
        found = lagco.evaluate(agent, seeds=[7, 8], problem=cls, episodes=2)
        answer = lagco.solve(7, problem=cls, agent=agent, by="agent", turns=2, progress=False)
    assert len(found.results) == 2 and not found.refused
    env = cls()
    env.reset(seed=7)
    total = 0.0
    for action in answer.solution:
        assert env.is_valid_action(action)
        total += env.step(action)[1]
    assert total == pytest.approx(answer.objective)
