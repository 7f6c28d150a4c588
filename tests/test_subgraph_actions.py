"""A problem whose actions are connected subgraphs, through every part of the library."""

from __future__ import annotations

import numpy as np
import pytest

import lagco
from examples.regions import LARGEST, Regions
from lagco.embedding import PretrainConfig
from lagco.errors import SpecError, UsageError
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentSpace
from lagco.search import METRICS
from lagco.search.subgraphs import search
from tests.search.brute_force import connected_sets, costs

BRIEF = PretrainConfig(max_steps=5, states=24)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    out = tmp_path_factory.mktemp("regions") / "encoder"
    return lagco.pretrain(Regions, seeds=range(3), out=out, training=BRIEF, progress=False)


@pytest.fixture(scope="module")
def space(encoder):
    envs = [Regions(12), Regions(14)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    return LatentSpace.fit(encoder, envs, states=16)


def test_it_passes_every_check():
    assert lagco.check("examples.regions:Regions", episodes=1) == []


@pytest.mark.parametrize("listed", [4096, -1])
@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_valid_region_is_that_of_an_enumeration(space, metric, listed, monkeypatch):
    monkeypatch.setattr(search, "LISTED", listed)
    rng = np.random.default_rng(0)
    for seed in range(3):
        env = Regions(12)
        env.reset(seed=seed)
        env.step(env.sample_valid_action(rng))
        view = space.view(env)
        view.refresh()
        free = env.view.nodes["taken"] == 0
        regions = connected_sets(env.view.edges, 12, LARGEST, free)
        monkeypatch.setattr(
            env,
            "are_valid_actions",
            lambda actions, env=env: (
                type(env).are_valid_actions(env, actions) & (env.preview(actions) < 0.5)
            ),
        )
        valid = regions[env.are_valid_actions(regions)]
        vectors = view.actions().vectors(valid)
        for k in (1, 7):
            query = rng.normal(size=view.width)
            found = view.nearest(query.astype(np.float32), k, metric)
            assert env.are_valid_actions(view.raw(found.indices)).all()
            got = costs(view.actions().vectors(found.indices), query, metric)
            best = np.sort(costs(vectors, query, metric))[:k]
            np.testing.assert_allclose(got, best, rtol=1e-4, atol=1e-5)
            assert len(np.unique(found.indices, axis=0)) == k


@pytest.mark.parametrize("decoder", ["nearest", "sampled", "preview"])
def test_every_decoder_gives_a_region(space, decoder):
    env = Regions(14)
    env.reset(seed=3)
    view = space.view(env)
    rng = np.random.default_rng(0)
    for _ in range(3):
        view.refresh()
        proto = rng.normal(size=view.width).astype(np.float32)
        row = Decoder(decoder, 8).choose(view, proto, rng, view.observation())
        action = view.raw(row)[0]
        assert env.is_valid_action(action)
        if decoder == "preview":
            near = view.raw(view.nearest(proto, 8).indices)
            assert action.tolist() == near[env.preview(near).argmax()].tolist()
        env.step(action)


LONG = [pytest.param(name, marks=pytest.mark.slow) for name in ("projection", "iterative")]


@pytest.mark.parametrize("method", ["soft-projection", *LONG])
def test_methods_train_and_decide(encoder, method, tmp_path):
    settings = {"steps": 256, "out": tmp_path / "agent", "encoder": encoder, "progress": False}
    agent = lagco.train(Regions, seeds=range(4), method=method, **settings)
    env = Regions(16)
    env.reset(seed=9)
    actor = agent.actor(env)
    action = actor.act(np.random.default_rng(0), False)
    assert env.is_valid_action(action)


def test_discrete_methods_say_that_they_have_an_output_per_action(tmp_path):
    settings = {"steps": 64, "out": tmp_path / "agent", "progress": False}
    with pytest.raises(UsageError, match=r"9765625 raw actions.*use a method that searches"):
        lagco.train(Regions, seeds=range(2), method="p-discrete-m", **settings)


class Unordered(Regions):
    """Takes places in any order, and has too little room for a region."""

    def _make_room(self, n):
        super()._make_room(n)
        self.action_space = type(self.action_space)([n + 1] * (LARGEST - 1))

    def sample_valid_action(self, rng=None):
        free = np.flatnonzero(self.view.nodes["taken"] == 0)[-1:]
        return np.array([self.view.num_nodes] * (LARGEST - 2) + free.tolist())

    def are_valid_actions(self, actions):
        return np.ones(len(actions), bool)


def test_mistakes_are_found_by_the_checker():
    findings = lagco.check(Unordered, episodes=1)
    assert any("takes 5, so an action has 5" in str(finding) for finding in findings)
    assert any("is no connected subgraph" in str(finding) for finding in findings)


def test_attributes_that_do_not_exist_are_named(encoder):
    env = Regions(12)
    component = lagco.SubGraph(max_size=3, attributes=["price"])
    env._action_type = {"region": component}
    env.reset(seed=0)
    with pytest.raises(SpecError, match=r"'price'.*did you mean 'prize'"):
        LatentSpace.fit(encoder, [env], states=2)
