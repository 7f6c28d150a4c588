"""Components of which none may be chosen: doing nothing and rejecting as ordinary actions."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import lagco
from lagco import Attribute, ContinuousEnv, Edge, Graph, GraphView, Mean, Node, Object
from lagco.core.spec import Concat
from lagco.embedding.config import PretrainConfig
from lagco.errors import SpecError
from lagco.latent.space import LatentSpace


class Parking(ContinuousEnv):
    """Cars arrive; each gets a free place, or is sent away. Leaving one free pays at times."""

    stochastic = True
    _node_attributes = {"free": Attribute(type="binary"), "fee": Attribute(low=0.0)}
    _observation_type = {"places": Graph(poolings=[Mean])}
    _action_type = {"place": Node(spec={"free": True}, attributes=["fee"], none=True)}
    places = 5

    def __init__(self):
        self.action_space = gym.spaces.Discrete(self.places + 1)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (self.places,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        ring = np.stack([np.arange(5), (np.arange(5) + 1) % 5])
        fees = self.np_random.random(5)
        self.view = GraphView(5, ring, nodes={"free": np.ones(5, np.int8), "fee": fees})
        self.left = 12
        return self._seen(), {}

    def _seen(self):
        return self.view.nodes["free"].astype(np.float32)

    def step(self, action):
        reward = 0.0
        if action < self.places:
            self.view.set_node("free", int(action), 0)
            reward = float(self.view.nodes["fee"][action])
        leaves = int(self.np_random.integers(self.places))
        self.view.set_node("free", leaves, 1)
        self.left -= 1
        return self._seen(), reward, self.left == 0, False, {}

    def get_graphs(self):
        return {"places": self.view}

    def is_valid_action(self, action):
        return action == self.places or bool(self.view.nodes["free"][action])


class Links(Parking):
    """The same with the edges between places."""

    _action_type = {"pair": Edge(pooling=Concat, none=True)}

    def is_valid_action(self, action):
        return True


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    brief = PretrainConfig(max_steps=5, states=30)
    folder = tmp_path_factory.mktemp("encoder")
    return lagco.pretrain(Parking, seeds=range(2), out=folder, training=brief, progress=False)


@pytest.mark.parametrize("kind", [Parking, Links])
def test_it_passes_the_check(kind):
    assert lagco.check_problem(kind(), raises=False) == []


@pytest.mark.parametrize("kind", [Parking, Links])
def test_none_is_found_like_any_other_action(kind, encoder):
    env = kind()
    env.reset(seed=1)
    space = LatentSpace.fit(encoder, [env], states=20)
    view = space.view(env)
    for action in (2, 3):
        view.refresh()
        rows = view.actions().rows(env.valid_actions()[:, None])
        raw = view.raw(rows)
        np.testing.assert_array_equal(raw, env.valid_actions())
        for row, value in zip(rows, raw, strict=True):
            vector = view.actions().vectors(row[None])[0]
            assert view.raw(view.nearest(vector, metric="l2").indices)[0] == value
        env.step(action)


def test_samples_contain_none():
    env = Parking()
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    assert 5 in {int(env.sample_valid_action(rng)) for _ in range(60)}


def test_agents_learn_to_choose_it(encoder, tmp_path):
    agent = lagco.train(
        Parking,
        seeds=range(2),
        out=tmp_path / "agent",
        method="soft-projection",
        encoder=encoder,
        steps=64,
        rollout=32,
        batch_size=16,
        progress=False,
    )
    found = lagco.evaluate(agent, seeds=range(2), problem=Parking, episodes=2, progress=False)
    assert found.summary()["episode_return/mean"].mean > 0


def test_nothing_may_refer_to_what_may_be_none():
    class Wrong(Parking):
        _action_type = {
            "place": Node(none=True),
            "what": Object(reference="place", key="free"),
        }

    env = Wrong()
    env.reset(seed=0)
    with pytest.raises(SpecError, match="may be none of the elements"):
        lagco.pretrain(Wrong, seeds=range(1), progress=False)
