"""Observations, wrapper and files of a latent space."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import lagco
from lagco.commands.generate import generate_instance
from lagco.core.declaring.declaration import read_declaration
from lagco.errors import LagcoError, UsageError
from lagco.instances import Instance
from lagco.latent.compactness import compactness
from lagco.latent.files import SPACE, load_space, save_space
from lagco.problems import problem_class
from tests.latent.conftest import brief_encoder, brief_space
from tests.store.forging import forge, put

CLASSICAL = ("tsp", "min-vertex", "max-cut")


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", CLASSICAL)
def test_observation_width_does_not_depend_on_size(name, features):
    space, cls = brief_space(name, features), problem_class(name)
    widths = set()
    for size in (10, 60) if name != "tsp" else (10, 2000):
        env = cls(generate_instance(name, size=size), features=features, rewards=False)
        env.reset(seed=0)
        view = space.view(env)
        view.refresh()
        observation = view.observation()
        assert np.isfinite(observation).all()
        widths.add(observation.shape)
    assert len(widths) == 1


@pytest.mark.parametrize("name", CLASSICAL)
def test_node_order_does_not_matter(name, rng):
    cls, space = problem_class(name), brief_space(name)
    instance = generate_instance(name, size=14, seed=5)
    order = rng.permutation(14)
    place = np.argsort(order)
    arrays = dict(instance.arrays)
    if name == "tsp":
        arrays["coordinates"] = arrays["coordinates"][order]
    else:
        arrays["edges"] = place[arrays["edges"]]
    other = Instance(name, "permuted", 14, arrays, instance.params)
    observations, chosen = [], []
    for data, rename in ((instance, np.arange(14)), (other, place)):
        env = cls(data, rewards=False)
        env.reset(options={"start": int(rename[3])} if name == "tsp" else None)
        for action in (5, 8):
            env.step(int(rename[action]))
        view = space.view(env)
        view.refresh()
        observations.append(view.observation())
        query = np.random.default_rng(1).normal(size=view.width).astype(np.float32)
        raw = view.raw(view.nearest(query).indices)[0]
        chosen.append(int(np.argsort(rename)[raw]) if data is other else int(raw))
    np.testing.assert_allclose(observations[0], observations[1], atol=2e-4)
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("name", CLASSICAL)
def test_wrapper_passes_gymnasiums_check(name):
    env = lagco.wrap(problem_class(name)(size=9), brief_space(name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    ended = False
    while not ended:
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        ended = terminated or truncated
    assert "action" in info


@pytest.mark.parametrize(
    "decoder", ["nearest", "sampled", "preview", "rule:tests.latent.test_space:last"]
)
def test_wrapper_from_an_encoder_alone_and_all_decoders(decoder):
    env = lagco.wrap(problem_class("tsp")(size=9), brief_encoder("tsp"), decoder=decoder, k=4)
    env.reset(seed=0)
    point = env.action_space.sample()
    raw = env.decode(point)
    assert env.unwrapped.is_valid_action(raw)
    if decoder == "preview":
        near = env._view.raw(env._view.nearest(point, 4).indices)
        assert raw in near
        assert env.unwrapped.preview(np.array([raw]))[0] == env.unwrapped.preview(near).max()


def last(candidates, scores, context):
    """A decoding rule: the farthest of the candidates."""
    assert context.problem.are_valid_actions(candidates).all()
    return len(scores) - 1


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize(
    "name", ["tsp", "min-vertex", "max-cut", "placement", "ospf", "traffic", "cyber-path"]
)
def test_a_view_that_follows_an_episode_equals_a_fresh_one(name, features, rng):
    """What is kept from state to state (selections, lists, the shape of the set) is never stale."""
    space = brief_space(name, features)
    env = problem_class(name)(generate_instance(name, size=11, index=7), features=features)
    env.reset(seed=1)
    kept = space.view(env)
    for _ in range(14):
        fresh = space.view(env)
        kept.refresh()
        fresh.refresh()
        np.testing.assert_array_equal(kept.observation(), fresh.observation())
        proto = rng.normal(size=space.scale.width).astype(np.float32)
        for k in (1, 4):
            mine, other = kept.nearest(proto, k), fresh.nearest(proto, k)
            np.testing.assert_array_equal(kept.raw(mine.indices), fresh.raw(other.indices))
            np.testing.assert_array_equal(mine.scores, other.scores)
            assert env.are_valid_actions(kept.raw(mine.indices)).all()
        *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
        if terminated or truncated:
            env.reset(seed=2)


def test_unknown_decoder_is_named():
    with pytest.raises(ValueError, match="did you mean 'nearest'"):
        lagco.wrap(problem_class("tsp")(size=9), brief_space("tsp"), decoder="nearst")


def test_another_problems_space_is_refused():
    with pytest.raises(UsageError, match=r"view|trained"):
        lagco.wrap(problem_class("max-cut")(size=9), brief_space("tsp"))


@pytest.mark.parametrize("name", ["tsp", "cyber-path"])
def test_a_saved_space_gives_the_same_observations(name, tmp_path):
    space, cls = brief_space(name), problem_class(name)
    env = cls(generate_instance(name, size=12, seed=8))
    env.reset(seed=0)
    save_space(space, tmp_path)
    declaration = read_declaration(env, env.graph_views())
    back = load_space(tmp_path, declaration)
    for first, second in ((space.view(env), back.view(env)),):
        first.refresh()
        second.refresh()
        np.testing.assert_array_equal(first.observation(), second.observation())
        np.testing.assert_array_equal(
            first.actions().vectors(first.actions().list()),
            second.actions().vectors(second.actions().list()),
        )


def test_a_reduced_space_survives_saving(tmp_path):
    space = brief_space("tsp", "full", 4)
    save_space(space, tmp_path)
    back = load_space(tmp_path)
    np.testing.assert_array_equal(back.scale.projection, space.scale.projection)
    assert back.scale.width == 4


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda f: (f / "latent.safetensors").write_bytes(b"x" * 40),
            "not a safetensors file",
        ),
        (lambda f: (f / "latent.json").write_text("{"), "not JSON"),
        (lambda f: (f / "latent.json").unlink(), "is this a latent space"),
        (lambda f: edit(f, version=9), "version 9 is not supported"),
        (lambda f: edit(f, format="x"), "not a latent space"),
        (lambda f: edit(f, summary=["Max"]), "does not match its checksum"),
        (lambda f: forge(SPACE, f, put("summary", value=["eval"])), r"summary\[0\]: is 'eval'"),
        (lambda f: forge(SPACE, f, put("encoder", value="0" * 64)), "than it belongs to"),
        (
            lambda f: forge(SPACE, f, tensors=put("mean", value=np.zeros(3, "f4"))),
            r"it must have \(3,\)",
        ),
        (lambda f: forge(SPACE, f, tensors=put("low", value=np.zeros(3, "f4"))), "'low' has shape"),
        (lambda f: forge(SPACE, f, tensors=put("more", value=np.zeros(3, "f4"))), "belong nowhere"),
        (lambda f: (f / "encoder" / "encoder.safetensors").write_bytes(b""), "encoder"),
    ],
)
def test_damaged_files_are_named(tmp_path, damage, message):
    save_space(brief_space("tsp"), tmp_path)
    damage(tmp_path)
    with pytest.raises(LagcoError, match=message) as caught:
        load_space(tmp_path)
    assert str(tmp_path) in str(caught.value)


def edit(folder, **changes):
    path = folder / "latent.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_compactness_is_the_ratio_of_distances():
    points = np.array([[0.0], [1.0], [2.0], [10.0]])
    pairwise = np.mean([1, 2, 10, 1, 9, 8])
    assert compactness(points, (1,))[1] == pytest.approx(pairwise / np.mean([1, 1, 1, 8]))
    assert compactness(points, (3, 10)).keys() == {3}


def test_embed_measures_and_draws(tmp_path):
    pytest.importorskip("umap")
    data = [generate_instance("tsp", size=14, index=i) for i in range(3)]
    picture = tmp_path / "space.png"
    found = lagco.embed("tsp", data, brief_encoder("tsp"), plot=picture)
    assert set(found["cmp"]) == {"cmp@3", "cmp@5"} or "cmp@10" in found["cmp"]
    assert all(value >= 1 for value in found["cmp"].values())
    assert picture.stat().st_size > 3000


def test_an_observation_of_another_width_is_refused():
    """Compiled code standardises as many numbers as there are means."""
    space = brief_space("tsp")
    wide = replace(
        space, observation_mean=np.zeros(4000, "f4"), observation_factor=np.ones(4000, "f4")
    )
    with pytest.raises(UsageError, match="shows observations of .* was fitted to 4000"):
        wide.view(problem_class("tsp")(generate_instance("tsp", size=8)))


def test_what_a_space_was_not_fitted_to_is_named():
    space = brief_space("ospf")
    env = problem_class("ospf")(generate_instance("ospf", size=8))
    with pytest.raises(UsageError, match=r"_action_type\['delta'\]: .* fitted without it"):
        replace(space, objects={}).view(env)
