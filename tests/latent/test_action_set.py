"""Action sets of every kind: listed equals declared, nearest equals brute force, summaries."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from lagco.core.pooling import Concat, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import Graph
from lagco.errors import SpecError, UsageError
from lagco.latent.space import LatentSpace
from lagco.problems.placement import Placement
from lagco.problems.placement.generator import draw_cloud
from lagco.search import LISTED, NoValidAction
from tests.latent.conftest import brief_space, encoder_for
from tests.latent.grids import ALL, WALKED, Grid, spread
from tests.search.brute_force import connected_sets

SPACES = {}


def view_of(kind, reduce=None):
    """A latent view of the grid with that kind of action, in a random state."""
    env = Grid(ALL[kind])
    env.reset(seed=3)
    if (kind, reduce) not in SPACES:
        SPACES[kind, reduce] = LatentSpace.fit(encoder_for(env), [env], states=12, reduce=reduce)
    env.reset(seed=11)
    view = SPACES[kind, reduce].view(env)
    view.refresh()
    return env, view


def brute_force(vectors, query, metric):
    if metric == "l2":
        return -((vectors - query) ** 2).sum(axis=1)
    dots = vectors @ query
    if metric == "inner":
        return dots
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)


@pytest.mark.parametrize("metric", ["cosine", "l2", "inner"])
@pytest.mark.parametrize("kind", ALL)
def test_nearest_equals_brute_force_over_the_list(kind, metric, rng):
    env, view = view_of(kind)
    actions = view.actions()
    rows = actions.list()
    vectors = actions.vectors(rows)
    assert vectors.shape == (len(rows), view.width)
    parts = actions.parts(rows)
    assert len(np.unique(parts, axis=0)) == len(parts) == actions.size
    for trial in range(4):
        query = rng.normal(size=view.width).astype(np.float32)
        forbidden = rng.random(len(parts)) < 0.5 * (trial > 0)
        forbidden[rng.integers(len(parts))] = False
        env.forbidden = {tuple(p) for p in parts[forbidden].tolist()}
        valid = np.array([tuple(p) not in env.forbidden for p in parts.tolist()])
        scores = np.where(valid, brute_force(vectors, query.astype(float), metric), -np.inf)
        for k in (1, 5):
            found = view.nearest(query, k, metric)
            got = brute_force(actions.vectors(found.indices), query.astype(float), metric)
            best = np.sort(scores)[::-1][: min(k, valid.sum())]
            np.testing.assert_allclose(got, best, rtol=1e-4, atol=1e-5)
            assert not {tuple(p) for p in actions.parts(found.indices).tolist()} & env.forbidden


@pytest.mark.parametrize("kind", ALL)
def test_nothing_valid_is_a_clear_error(kind, rng):
    env, view = view_of(kind)
    env.forbidden = {tuple(p) for p in view.actions().parts(view.actions().list()).tolist()}
    with pytest.raises(NoValidAction, match="valid"):
        view.nearest(rng.normal(size=view.width).astype(np.float32))


@pytest.mark.parametrize("kind", ["pair", "link", "mean link", "area"])
def test_summary_equals_pooling_the_list(kind):
    _, view = view_of(kind)
    actions = view.actions()
    vectors = actions.vectors(actions.list())
    expected = [vectors.mean(axis=0), vectors.max(axis=0), vectors.min(axis=0), vectors.sum(axis=0)]
    got = actions.summary((Mean, Max, Min, Sum)).reshape(4, -1)
    if kind == "pair":  # the number of pairs ignores that few of them are excluded
        expected, got = expected[:3], got[:3]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
    rooted = actions.summary((RootSum,))
    np.testing.assert_allclose(
        rooted, vectors.mean(axis=0) * np.sqrt(len(vectors)), rtol=0.1, atol=1e-3
    )


@pytest.mark.parametrize("pooling", [spread, Concat])
def test_a_summary_that_would_need_a_list_is_refused_by_name(pooling):
    name = getattr(pooling, "__name__", repr(pooling))
    env, view = view_of("pair")
    with pytest.raises(UsageError, match=rf"summary.*{name}.*use Mean"):
        view.actions().summary((Mean, pooling))
    with pytest.raises(UsageError, match=rf"summary.*{name}"):
        LatentSpace.fit(view.space.encoder, [env], states=4, summary=[pooling])
    with pytest.raises(UsageError, match=rf"summary.*{name}"):
        replace(view.space, summary=(pooling,))


class Spread:
    """The same as an object that cannot be hashed."""

    __hash__ = None

    def __call__(self, vectors):
        return spread(vectors)


@pytest.mark.parametrize("pooling", [spread, Spread()])
def test_a_pooling_of_ones_own_is_computed_in_the_observation(pooling):
    env = Grid(ALL["pair"])
    env._observation_type = {"grid": Graph(poolings=[Mean, pooling], graph="grid")}
    env.reset(seed=3)
    view = LatentSpace.fit(encoder_for(env), [env], states=4, summary=()).view(env)
    view.space.observation_mean = None
    view.refresh()
    z = view.embeddings["grid"]
    np.testing.assert_allclose(view.observation(), [*z.mean(axis=0), *spread(z)], rtol=1e-5)


def test_nodes_are_chosen_by_flags_as_by_any_other_condition(rng):
    """Flags are looked at by compiled code, functions are not."""
    seen = []
    for wanted in (True, lambda busy: busy == 1):
        env = Grid(ALL["pair"])
        env._observation_type = {
            "busy": Graph(poolings=[Mean, Max, Sum], graph="grid", spec={"busy": wanted}),
            "idle": Graph(poolings=[RootSum], graph="grid", spec={"busy": False}),
        }
        env.reset(seed=3)
        view = LatentSpace.fit(encoder_for(env), [env], states=4).view(env)
        env.reset(seed=5)
        observations = []
        for step in range(12):
            view.refresh()
            observations.append(view.observation())
            env.step(None)
            if step == 5:  # an array of its own, as after a change of instance
                env.view.nodes["busy"] = env.view.nodes["busy"].copy()
                env.view.touch_node("busy")
        seen.append(observations)
    np.testing.assert_array_equal(*seen)
    assert len(np.unique(seen[0], axis=0)) > 6


@pytest.mark.parametrize("kind", ALL)
def test_few_actions_are_listed_in_the_order_of_the_space(kind):
    _, view = view_of(kind)
    actions = view.actions()
    listed = actions.all_rows(LISTED)
    if listed is None:
        assert kind in WALKED
    else:
        np.testing.assert_array_equal(listed, actions.list())
        assert len(listed) == actions.size
        assert actions.all_rows(actions.size - 1) is None


@pytest.mark.parametrize("kind", ["tool", "link", "route"])
def test_many_actions_are_found_however_many_are_valid(kind, rng):
    """All are asked about at once where few more are there; else as many as were needed before."""
    env, view = view_of(kind)
    actions = view.actions()
    rows = actions.list()
    parts, vectors = actions.parts(rows), actions.vectors(rows)
    for share in (0.0, 0.9, 0.5, 0.95, 0.0):
        env.forbidden = {tuple(p) for p in parts[rng.random(len(parts)) < share].tolist()}
        valid = np.array([tuple(p) not in env.forbidden for p in parts.tolist()])
        query = rng.normal(size=view.width).astype(np.float32)
        best = np.sort((vectors @ query)[valid])[::-1]
        for k in (2, 7, len(rows)) if valid.any() else ():
            found = view.nearest(query, k, "inner")
            np.testing.assert_allclose(found.scores, best[:k], rtol=1e-4, atol=1e-5)


def test_attributes_of_objects_belong_to_element_and_position():
    env, view = view_of("worn tool")
    actions = view.actions()
    rows = actions.list()
    raw = actions.vectors(rows) / view.layout.factor + view.layout.mean
    wear, fit = env.view.nodes["wear"], env.view.nodes["fit"]
    for (who, position), vector in zip(actions.parts(rows).tolist(), raw, strict=True):
        own = [wear[who, position], *fit[who, position]]
        np.testing.assert_allclose(vector[-3:], own, atol=1e-4)
    before = actions.vectors(rows)
    env.view.set_node("wear", None, wear + 1.0)
    view.refresh()
    moved = np.abs(view.actions().vectors(rows) - before).max(axis=0)
    assert moved[-3] > 0.1
    assert not moved[-2:].any()


def test_attributes_of_objects_need_a_position():
    wrong = {**ALL["tool"], "tool": replace(ALL["tool"]["tool"], attributes=["load"])}
    env = Grid(wrong)
    env.reset(seed=3)
    with pytest.raises(SpecError, match=r"'load'.*shape \(8,\).*\(n, L\)"):
        LatentSpace.fit(encoder_for(env), [env], states=4)


def test_objects_count_as_often_as_they_are_listed():
    _, view = view_of("tool")
    actions = view.actions()
    vectors = actions.vectors(actions.list())
    got = actions.summary((Mean, Max, Min)).reshape(3, -1)
    np.testing.assert_allclose(
        got, [vectors.mean(axis=0), vectors.max(axis=0), vectors.min(axis=0)], rtol=1e-3, atol=1e-4
    )


def test_conditions_hold():
    env, view = view_of("pair")
    parts = view.actions().parts(view.actions().list())
    busy = env.view.nodes["busy"]
    assert (parts[:, 0] != parts[:, 1]).all()
    assert not busy[parts[:, 0]].any()
    env, view = view_of("tool")
    parts = view.actions().parts(view.actions().list())
    counts = [len(env.view.nodes["tools"][who]) for who in parts[:, 0]]
    assert (parts[:, 1] < counts).all()
    assert len(parts) == sum(
        3 * len(env.view.nodes["tools"][v]) for v in np.flatnonzero(env.view.nodes["busy"] == 0)
    )


@pytest.mark.parametrize("kind", ["route", "led route", "mean route"])
def test_paths_join_the_ends_of_their_demand(kind):
    env, view = view_of(kind)
    parts = view.actions().parts(view.actions().list())
    edges = {frozenset(e) for e in env.view.edges.T.tolist()}
    n = env.view.num_nodes
    width = 6  # the demand 0 -> 7 is 4 hops long, and nothing is longer than max_len = 4
    for row in parts.tolist():
        demand, way = row[0], [v for v in row[1:width] if v < n]
        assert (way[0], way[-1]) == tuple(env.demands.edges[:, demand])
        assert len(set(way)) == len(way) <= 5
        assert all(frozenset(pair) in edges for pair in pairwise(way))
        if kind == "led route":
            assert row[-1] in (0, 1)


@pytest.mark.parametrize("kind", ["region", "sum region", "max region", "slotted region"])
def test_connected_subgraphs_are_as_declared(kind):
    """All connected sets of up to so many nodes that meet the spec, pooled with attributes."""
    env, view = view_of(kind)
    actions, component = view.actions(), env._action_type["area"]
    rows = actions.list()
    n, most = env.view.num_nodes, component.max_size
    free = env.view.nodes["busy"] == 0 if kind == "region" else np.ones(n, bool)
    expected = {tuple(row) for row in connected_sets(env.view.edges, n, most, free).tolist()}
    parts = actions.parts(rows)
    assert {tuple(part[:most]) for part in parts.tolist()} == expected
    assert component.fits(env.view, parts[:, :most]).all()
    np.testing.assert_array_equal(actions.rows(parts), rows)
    raw = actions.vectors(rows) / view.layout.factor + view.layout.mean
    z = view.embeddings["grid"]
    if component.attributes:
        z = np.column_stack([z, view._embedder.node_store("grid")[:1, :n].T])
    for part, vector in zip(parts[:50], raw, strict=False):
        nodes = part[:most][part[:most] < n]
        pooled = np.ravel(component.pooling(z[nodes]))
        at = view.layout.columns["area"].start
        np.testing.assert_allclose(vector[at : at + len(pooled)], pooled, rtol=1e-3, atol=1e-4)


def test_values_that_are_no_connected_subgraph_are_known():
    env = Grid(ALL["region"])
    env.reset(seed=3)
    n, busy = env.view.num_nodes, env.view.nodes["busy"]
    busy[:] = 0
    fits = env._action_type["area"].fits
    right = [[1, 2, n], [2, 3, 7], [5, n, n]]
    assert fits(env.view, np.array(right)).all()
    wrong = [[2, 1, n], [1, 1, n], [0, 2, n], [n, n, n], [1, n, 2], [-1, 0, n], [1, n, n + 1]]
    assert not fits(env.view, np.array(wrong)).any()
    busy[2] = 1
    env.view.touch_node("busy", 2)
    assert fits(env.view, np.array(right)).tolist() == [False, False, True]


@pytest.mark.parametrize("kind", ["pair", "route", "tool", "region"])
def test_reduced_vectors_are_searched_exactly(kind, rng):
    _, view = view_of(kind, reduce=5)
    actions = view.actions()
    rows = actions.list()
    vectors = actions.vectors(rows)
    assert vectors.shape[1] == 5 == view.space.scale.width
    for metric in ("cosine", "l2", "inner"):
        query = rng.normal(size=5).astype(np.float32)
        found = view.nearest(query, 3, metric)
        scores = brute_force(vectors.astype(float), query.astype(float), metric)
        got = brute_force(actions.vectors(found.indices).astype(float), query.astype(float), metric)
        np.testing.assert_allclose(got, np.sort(scores)[::-1][:3], rtol=1e-4, atol=1e-5)


def test_standardised_actions_lie_near_the_bounds():
    for kind in ("pair", "link", "route"):
        env, view = view_of(kind)
        scale = view.space.scale
        for seed in range(5):
            env.reset(seed=seed)
            view.refresh()
            vectors = view.actions().vectors(view.actions().list())
            inside = (vectors >= scale.low - 0.5) & (vectors <= scale.high + 0.5)
            assert inside.mean() > 0.99, kind


def test_the_plan_says_what_and_why():
    _, view = view_of("pair")
    plan = view.actions().plan("cosine")
    assert plan.search in ("listed", "product")
    assert plan.reason


def test_sampled_rows_are_declared_actions(rng):
    for kind in ALL:
        _, view = view_of(kind)
        actions = view.actions()
        listed = {tuple(p) for p in actions.parts(actions.list()).tolist()}
        drawn = actions.parts(actions.sample(rng, 40))
        assert {tuple(p) for p in drawn.tolist()} <= listed, kind


def test_what_is_ruled_out_beforehand_does_not_change_the_answer(rng, monkeypatch):
    """More actions than are listed, and many machines without room."""
    env = Placement(draw_cloud(rng, 150, 150, 5), rewards=False, start="default")
    env.reset(seed=0)
    view = brief_space("placement").view(env)
    view.refresh()
    assert view.actions().size > LISTED
    asked = []
    real = type(env).possible_parts
    monkeypatch.setattr(env, "possible_parts", lambda: asked.append(1) or real(env))
    for _ in range(20):
        query = rng.normal(size=view.width).astype(np.float32)
        with_masks = view.nearest(query, 5)
        before = len(asked)
        with monkeypatch.context() as patch:
            patch.setattr(env, "possible_parts", dict)
            without = view.nearest(query, 5)
        np.testing.assert_array_equal(with_masks.indices, without.indices)
        assert before == len(asked) > 0
