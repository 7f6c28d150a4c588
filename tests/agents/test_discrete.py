from __future__ import annotations

import json

import numpy as np
import pytest

import lagco
from lagco.agents.methods.discrete import without_summary
from lagco.agents.padding.actions import PaddedActions
from lagco.agents.padding.observation import PaddingObservation
from lagco.agents.padding.widths import Widths
from lagco.core.spec import Function
from lagco.errors import LagcoError, SpecError, TooLarge, UsageError
from lagco.problems import problem_class
from tests.agents.brief import (
    METHODS,
    PROBLEMS,
    RandomActor,
    equal_weights,
    instance,
    instances,
    make_actor,
    play,
    training_env,
    weights_of,
)
from tests.core.test_sampling import Detours
from tests.latent.conftest import brief_space

DISCRETE = [name for name in METHODS if "discrete" in name]


def widths_of(name, features="full", sizes=(8, 10)):
    return Widths.over(problem_class(name), instances(name, sizes), features, views=True)


# -- padded actions


@pytest.mark.parametrize("name", PROBLEMS)
def test_numbers_follow_the_order_of_all_actions(name):
    env = problem_class(name)(instance(name, 8, 8))
    env.reset(seed=0)
    listed = env.all_actions()
    actions = PaddedActions(env, len(listed) + 3)
    for number in np.linspace(0, len(listed) - 1, 20).astype(int):
        assert np.array_equal(actions.raw(int(number)), listed[number])


@pytest.mark.parametrize("name", PROBLEMS)
def test_mask_is_what_is_valid(name):
    env = problem_class(name)(instance(name, 8, 8))
    width = widths_of(name).actions
    actions = PaddedActions(env, width)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(6):
        mask = actions.mask()
        assert mask.shape == (width,)
        valid = env.valid_actions()
        chosen = np.array([actions.raw(int(i)) for i in np.flatnonzero(mask)])
        assert {np.ravel(a).tobytes() for a in chosen} == {np.ravel(a).tobytes() for a in valid}
        *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
        if terminated or truncated:
            env.reset(seed=1)


@pytest.mark.parametrize("name", PROBLEMS)
def test_invalid_numbers_cost_and_never_raise(name):
    env = problem_class(name)(instance(name, 8, 8))
    width = widths_of(name).actions + 5
    actions = PaddedActions(env, width)
    rng = np.random.default_rng(1)
    env.reset(seed=0)
    invalid = 0
    for number in [width - 1, *rng.integers(width, size=30).tolist()]:
        before = env.solution()
        valid = actions.mask()[number]
        *_, terminated, truncated, info = env.step(actions.raw(number))
        if not valid:
            invalid += 1
            assert info["reward_terms"]["invalid"] == pytest.approx(-10 / env.episode_length)
            assert np.array_equal(before, env.solution())
        if terminated or truncated:
            env.reset(seed=2)
    assert invalid


def test_actions_follow_the_instance():
    env = problem_class("placement")(instance("placement", 10, 10))
    env.reset(seed=0)
    actions = PaddedActions(env, 1000)
    actions.mask()
    env.reset(seed=0, options={"instance": instance("placement", 8, 8)})
    assert actions.mask().sum() == len(env.valid_actions())
    assert not env.is_valid_action(actions.outside)


# -- padding observation


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_incremental_observation_equals_a_fresh_one(name, features):
    widths = widths_of(name, features)
    env = problem_class(name)(instance(name, 10, 10), features=features)
    env.reset(seed=0)
    observe = PaddingObservation(env, widths)
    rng = np.random.default_rng(0)
    for step in range(25):
        seen = observe()
        assert seen.shape == (observe.width,) and np.isfinite(seen).all()
        assert np.array_equal(seen, PaddingObservation(env, widths)())
        *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
        if terminated or truncated:
            env.reset(seed=step, options={"instance": instance(name, 8, 8)})


def padded(name, size, features="paper"):
    """An environment after a few steps, and its observation padded for three more nodes."""
    env = problem_class(name)(instance(name, size, size), features=features)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.sample_valid_action(np.random.default_rng(0)))
    (view, graph), *_ = env.graph_views().items()
    widths = Widths(1000, {view: (size + 3, 20 * size)})
    assert graph.num_edges < size * (size - 1) // 2  # the view has some of the pairs only
    return env, PaddingObservation(env, widths)()


def triangle_of(values, reserved, n):
    """Values over the upper triangle of all reserved pairs, of the nodes there are."""
    matrix = np.zeros((reserved, reserved), dtype=np.float32)
    matrix[np.triu_indices(reserved, 1)] = values
    assert not matrix[:, n:].any()
    return matrix[np.triu_indices(n, 1)]


def min_max(values):
    return (values - values.min()) / (values.max() - values.min())


def test_padding_of_tsp_is_the_papers():
    env, seen = padded("tsp", 20)
    assert seen.shape == (3 * 23 + 23 * 22 // 2,)
    places = env.instance.arrays["coordinates"]
    assert np.array_equal(np.flatnonzero(seen[:23]), np.sort(env.solution()))
    for axis in (0, 1):
        row = seen[23 * (axis + 1) :][:23]
        assert row[:20] == pytest.approx(min_max(places[:, axis]), abs=1e-5)
    lengths = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(20, 1)]
    assert triangle_of(seen[69:], 23, 20) == pytest.approx(min_max(lengths), abs=1e-5)


def test_padding_of_max_cut_is_the_papers():
    env, seen = padded("max-cut", 24)
    assert seen.shape == (27 + 27 * 26 // 2,)
    assert np.array_equal(seen[:24], env.solution())
    weights = np.zeros((24, 24))
    weights[tuple(np.sort(env.instance.array("edges"), axis=0))] = env.instance.array("weights")
    expected = min_max(weights[np.triu_indices(24, 1)])
    assert triangle_of(seen[27:], 27, 24) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["tsp", "max-cut"])
def test_padding_shows_all_pairs_with_full_features_too(name):
    env, seen = padded(name, 24, "full")
    (found,) = env.pair_attributes().values()
    reserved = 27 * 26 // 2
    functions = sum(isinstance(part, Function) for part in env._observation_type.values())
    pairs = seen[len(seen) - functions - reserved : len(seen) - functions]
    expected = np.asarray(found)[np.triu_indices(24, 1)]
    assert triangle_of(pairs, 27, 24) == pytest.approx(expected, abs=1e-5)


def test_padding_of_placement_is_the_papers():
    env = problem_class("placement")(instance("placement", 8, 8), features="paper")
    env.reset(seed=0)
    widths = widths_of("placement", "paper")
    n = widths.views["graph"][0]
    seen = PaddingObservation(env, widths)()
    view = env.graph_views()["graph"]
    # VMs and PMs: a flag, demand, power, capacity and utilisation; then the hosts of the VMs
    assert seen.shape == ((1 + 4 + 1 + 4 + 4) * n + widths.arrays["allocation"],)
    rows = seen[: 14 * n].reshape(14, n)[:, : view.num_nodes]
    capacities = env.instance.array("pm_capacities")
    for resource in range(4):
        shown = rows[6 + resource]
        assert not shown[:8].any()
        assert shown[8:] == pytest.approx(capacities[:, resource] / capacities[:, resource].max())
    assert seen[14 * n :][:8] * (len(capacities) - 1) == pytest.approx(env.solution(), abs=1e-4)


@pytest.mark.parametrize("name", ["ospf", "traffic"])
def test_padding_of_networks_is_the_papers(name):
    env = problem_class(name)(instance(name, 8, 8), features="paper")
    env.reset(seed=0)
    widths = widths_of(name, "paper")
    seen = PaddingObservation(env, widths)()
    (nodes, links), (_, demands) = widths.views.values()
    # what actions choose is listed, the rest stands among all pairs
    if name == "ospf":
        per_link, demands = 3, nodes * nodes  # capacity, weight and load
    else:
        per_link, links = 2, nodes * (nodes - 1) // 2  # capacity and load
    assert seen.shape == (per_link * links + demands,)
    loads, volumes = env.loads.max(axis=1), env.instance.array("volumes")
    shown = seen[(per_link - 1) * links : per_link * links], seen[-demands:]
    for values, wanted in zip(shown, (loads, volumes), strict=True):
        assert np.sort(values)[-len(wanted) :] == pytest.approx(np.sort(min_max(wanted)), abs=1e-5)


def test_padding_of_cyber_path_is_the_papers():
    env = problem_class("cyber-path")(instance("cyber-path", 8, 8), features="paper")
    env.reset(seed=0)
    widths = widths_of("cyber-path", "paper")
    n = widths.views["attack_G"][0]
    per_host = sum(column.size // len(column) for _, _, column in env._dynamic)
    assert PaddingObservation(env, widths)().shape == (n * per_host,)


def test_pairs_must_belong_to_an_edge_attribute_and_cover_all_nodes(monkeypatch):
    env = problem_class("tsp")(instance("tsp", 8, 8))
    env.reset(seed=0)
    widths = Widths(12, {"cities": (12, 60)})
    monkeypatch.setattr(env, "pair_attributes", lambda: {"distances": np.zeros((8, 8))})
    with pytest.raises(SpecError, match="'distances'.*did you mean 'distance'"):
        PaddingObservation(env, widths)
    monkeypatch.setattr(env, "pair_attributes", lambda: {"distance": np.zeros(28)})
    with pytest.raises(SpecError, match=r"'distance'.*\(28,\).*\(8, 8\)"):
        PaddingObservation(env, widths)


def test_flags_of_edges_show_where_edges_are():
    env = problem_class("min-vertex")(instance("min-vertex", 8, 8))
    env.reset(seed=0)
    env.step(0)
    seen = PaddingObservation(env, Widths(8, {"graph": (8, 28)}))()
    view = env.graph_views()["graph"]
    covered = view.edge_attributes["covered"]
    nodes = len(view.nodes) * 8
    pairs = seen[nodes : nodes + 28]
    assert (pairs != 0).sum() == len(covered)
    assert (pairs == 1).sum() == covered.sum()


@pytest.mark.parametrize("method", DISCRETE)
def test_larger_instance_is_refused_by_name(method):
    env, config = training_env(method, "tsp")
    weights = weights_of(method, METHODS[method].model(env, config))
    facts = json.loads(json.dumps(METHODS[method].facts(env)))
    small, large = (problem_class("tsp")(instance("tsp", size, size)) for size in (10, 12))
    for problem in (small, large):
        problem.reset(seed=0)
    actor = make_actor(method, small, weights, facts)
    with pytest.raises(TooLarge, match=r"tsp-42-0012.*12.*10"):
        make_actor(method, large, weights, facts)
    small.reset(seed=0, options={"instance": large.instance})
    with pytest.raises(TooLarge, match=r"12.*10"):
        actor.act(np.random.default_rng(0), explore=False)
    assert issubclass(TooLarge, LagcoError)


def test_padding_refuses_more_nodes_too():
    env = problem_class("tsp")(instance("tsp", 12, 12))
    env.reset(seed=0)
    with pytest.raises(TooLarge, match=r"12 nodes in the view 'cities'.*10"):
        PaddingObservation(env, Widths(100, {"cities": (10, 1000)}))


# -- environments and agents


def test_pooled_observation_is_the_front_of_the_whole_one():
    space = brief_space("tsp")
    env = problem_class("tsp")(instance("tsp", 8, 8))
    env.reset(seed=0)
    whole, front = space.view(env), without_summary(space).view(env)
    whole.refresh()
    front.refresh()
    assert front.observation_width == whole.observation_width - 4 * space.scale.width
    assert np.array_equal(front.observation(), whole.observation()[: front.observation_width])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", ["p-discrete", "g-discrete-m"])
def test_episodes_of_every_problem(method, name):
    env, _ = training_env(method, name, envs=2)
    rng = np.random.default_rng(0)
    observations = env.reset()
    for _ in range(25):
        assert observations.shape == (2, *env.observation_space.shape)
        masks = env.action_masks()
        assert masks.shape == (2, env.action_space.n)
        actions = rng.integers(env.action_space.n, size=2)
        if method.endswith("-m"):
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observations, rewards, *_ = env.step(actions)
        assert np.isfinite(observations).all() and np.isfinite(rewards).all()


@pytest.mark.parametrize("method", DISCRETE)
def test_training_repeats_exactly(method):
    found = []
    for _ in range(2):
        env, config = training_env(method, "tsp", rollout=64, epochs=2, seed=3, steps=128)
        model = METHODS[method].model(env, config)
        found.append(weights_of(method, model.learn(128)))
    assert equal_weights(*found)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", DISCRETE)
def test_actors_play_every_problem(method, name):
    env, config = training_env(method, name)
    weights = weights_of(method, METHODS[method].model(env, config))
    problem = problem_class(name)(instance(name, 8, 8))
    problem.reset(seed=0)
    actor = make_actor(method, problem, weights, METHODS[method].facts(env))
    rng = np.random.default_rng(0)
    for step in range(12):
        action = actor.act(rng, explore=step % 2 == 0)
        if method.endswith("-m"):
            assert problem.is_valid_action(action)
        *_, terminated, truncated, _ = problem.step(action)
        if terminated or truncated:
            problem.reset(seed=1)


def test_actor_agrees_with_the_model():
    env, config = training_env("p-discrete-m", "tsp", envs=1, rollout=64)
    model = METHODS["p-discrete-m"].model(env, config)
    observation = env.reset()
    problem = env.problems[0]
    weights = weights_of("p-discrete-m", model)
    actor = make_actor("p-discrete-m", problem, weights, METHODS["p-discrete-m"].facts(env))
    for _ in range(5):
        chosen, _ = model.predict(observation, deterministic=True)
        assert actor.act(np.random.default_rng(0), explore=False) == chosen[0]
        observation, *_ = env.step(chosen)


@pytest.mark.parametrize("method", ["p-discrete-m", "g-discrete-m"])
def test_masked_policy_learns_one_instance(method):
    env, config = training_env(method, "max-cut", sizes=(10,), rollout=512, seed=1)
    model = METHODS[method].model(env, config).learn(4096)
    problem = problem_class("max-cut")(instance("max-cut", 10, 10))
    problem.reset(seed=0)
    actor = make_actor(method, problem, weights_of(method, model), METHODS[method].facts(env))
    learned = play(problem, actor, 10)
    assert learned > play(problem, RandomActor(problem), 10) + 0.05


@pytest.mark.parametrize("method", ["p-discrete", "p-discrete-m", "g-discrete-m"])
@pytest.mark.parametrize(("n", "count"), [(6, 12 * 7**5), (12, 24 * 13**5)])
def test_more_actions_than_outputs_are_refused_before_any_is_asked_for(tmp_path, method, n, count):
    """Raw actions of an environment with paths: too many to list, and to have outputs for."""
    asked = []

    class Watched(Detours):
        def __init__(self):
            super().__init__(n=n)
            asked.append(self)

        def all_actions(self):
            pytest.fail("raw actions were listed")

    with pytest.raises(UsageError, match=f"has {count} raw actions, and {method} needs") as caught:
        lagco.train(Watched, seeds=[0], out=tmp_path / "agent", method=method, progress=False)
    assert str(caught.value).startswith("watched: ") and "projection" in str(caught.value)
    assert sum(env.asked for env in asked) < 2000
