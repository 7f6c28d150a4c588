"""The paper's two listings through pre-training and embedding."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.core.declaring.declaration import read_declaration
from lagco.core.env import draw_valid_action
from lagco.embedding import Encoder, PretrainConfig, pretrain_on, text_encoder, use_text_encoder
from lagco.errors import UsageError
from tests.embedding.listings import (
    CyberAttackExt,
    TrafficEngineeringExt,
    fake_sentence_encoder,
)
from tests.embedding.test_equivalence import check_along, trajectory

TRAINING = PretrainConfig(max_steps=30, states=80, evaluate_every=10)


def test_cyber_path(tmp_path):
    with text_encoder(fake_sentence_encoder, "hashed words"):
        encoder = pretrain_on([CyberAttackExt(seed=s) for s in range(3)], training=TRAINING)
        layout = encoder.layout["attack_G"]
        assert layout.directed and layout.nodes["vulns"].width == 6
        env = CyberAttackExt(hosts=12, seed=9)
        states, results = check_along(encoder, trajectory(env, 0, 30))
        sizes = {len(z["attack_G"]) for z in results}
        assert min(sizes) == 3 and max(sizes) > 8  # hosts were discovered
        encoder.save(tmp_path)
        loaded = Encoder.load(tmp_path)
        z = loaded.embedder()(states[-1])["attack_G"]
        assert np.allclose(z, encoder.embedder()(states[-1])["attack_G"], rtol=0.0, atol=1e-6)
        fitted, stored = (
            e.views["attack_G"].node_readers["vulns"].reduction for e in (encoder, loaded)
        )
        assert fitted.components.shape == (48, 6)
        assert np.array_equal(stored.components, fitted.components)  # not fitted again
        assert np.array_equal(stored.mean, fitted.mean)
    with pytest.raises(UsageError, match="trained on texts embedded by 'hashed words'"):
        loaded.embedder()
    use_text_encoder(None)


def test_traffic_engineering():
    encoder = pretrain_on([TrafficEngineeringExt(seed=s) for s in range(3)], training=TRAINING)
    assert set(encoder.views) == {"comm_G", "traffic_G"}
    assert encoder.layout["comm_G"].nodes.constant
    assert [a.name for a in encoder.layout["comm_G"].edges] == ["utilisation", "capacity"]
    assert [a.name for a in encoder.layout["traffic_G"].edges] == ["volume"]
    env = TrafficEngineeringExt(nodes=9, seed=5)
    check_along(encoder, trajectory(env, 0, 25))
    embedder = encoder.embedder()
    embedder(env.graph_views())
    features = embedder.features("traffic_G")
    outgoing = features.nodes[:, features.layout.nodes.columns(("outgoing_traffic",))]
    assert outgoing.min() == 0.0 and outgoing.max() == 1.0
    encoder.bind(read_declaration(env, env.graph_views()))


def test_random_actions_are_valid():
    for env in (CyberAttackExt(), TrafficEngineeringExt()):
        rng = np.random.default_rng(0)
        env.reset(seed=0)
        for _ in range(10):
            action = draw_valid_action(env, rng)
            assert env.is_valid_action(action)
            env.step(action)
