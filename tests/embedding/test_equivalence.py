"""Encoding gives the same result however it is computed: compiled, batched, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.core.env import draw_valid_action
from lagco.core.graph import GraphView
from lagco.embedding import EncoderConfig, pretrain_on
from lagco.embedding.inference import view_encoder as compiled
from tests.embedding.environments import (
    APPLIED_CASES,
    BRIEF,
    CASES,
    PROBLEMS,
    Growing,
    brief_encoder,
    permuted,
)

CLOSE = 1e-5


def trajectory(env, seed, steps):
    """The views after each of some random valid steps."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        yield env.graph_views()
        action = draw_valid_action(env, rng)
        if action is None:
            break
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset(seed=seed + 1)


def check_along(encoder, views_of_each_state):
    """Incremental = from scratch (bit by bit) = torch, at every state; returns the states' copies."""
    stepwise, torch_stepwise = encoder.embedder(), encoder.embedder(compiled=False)
    states, results = [], []
    for views in views_of_each_state:
        now = {name: z.copy() for name, z in stepwise(views).items()}
        by_torch = torch_stepwise(views)
        fresh = encoder.embedder()(views)
        for name, z in now.items():
            assert z.dtype == np.float32 and z.shape == (views[name].num_nodes, encoder.width)
            assert np.array_equal(z, fresh[name])
            assert np.abs(z - by_torch[name]).max(initial=0.0) < CLOSE
            assert np.allclose(np.linalg.norm(z, axis=1), 1.0, atol=1e-4)
        states.append({name: view.copy() for name, view in views.items()})
        results.append(now)
    for compiled_too in (True, False):
        batch = encoder.embed_batch(states, compiled=compiled_too)
        for one, other in zip(results, batch, strict=True):
            for name in one:
                assert np.abs(one[name] - other[name]).max(initial=0.0) < CLOSE
    return states, results


@pytest.mark.parametrize(("name", "features"), CASES)
def test_problems(name, features):
    encoder = brief_encoder(name, features)
    assert all(encoder.embedder().compiled.values())
    for seed in range(3):
        env = PROBLEMS[name](PROBLEMS[name].generate(9 + 8 * seed, index=seed), features=features)
        states, results = check_along(encoder, trajectory(env, seed, 20))
        order = np.random.default_rng(seed).permutation(env.instance.size)
        for views, z in list(zip(states, results, strict=True))[::5]:
            turned = {key: permuted(view, order) for key, view in views.items()}
            for key, value in encoder.embedder()(turned).items():
                assert np.abs(value - z[key][order]).max() < CLOSE


@pytest.mark.parametrize(("name", "features"), APPLIED_CASES)
def test_applied_problems(name, features):
    """Edges that move (placement), graphs that grow (cyber-path), several views (the others)."""
    encoder = brief_encoder(name, features)
    for seed in range(2):
        env = PROBLEMS[name](PROBLEMS[name].generate(11 + 4 * seed, index=seed), features=features)
        check_along(encoder, trajectory(env, seed, 12))


def drawn_view(rng, n, directed, static):
    """A random graph with the attributes of :class:`Growing`, or of `max-cut`."""
    if static:
        nodes = {"side": rng.integers(2, size=n)}
    else:
        kinds = np.array(["red", "green", "blue"])[rng.integers(3, size=n)].tolist()
        nodes = {
            "age": rng.random(n), "kind": kinds, "marks": rng.normal(size=(n, 2)),
            "old": rng.random(n) < 0.5,
        }  # fmt: skip
    edges = rng.integers(n, size=(2, 2 * n))
    return GraphView(
        n, edges, nodes=nodes, edge_attributes=drawn_edges(rng, 2 * n, static), directed=directed,
        multigraph=True,
    )  # fmt: skip


def drawn_edges(rng, count, static):
    if static:
        return {"weight": rng.random(count)}
    return {"length": rng.random(count), "used": rng.random(count) < 0.5}


def rewirings(rng, view, name, static):
    """States of a view whose edges move, and which gains nodes and edges, some of them at once."""
    for step in range(24):
        yield {name: view}
        n, count = view.num_nodes, view.num_edges
        move = rng.integers(count, size=rng.integers(1, 4))
        if step % 2 == 0:  # to loops as well, and back
            view.move_edges(move, rng.integers(n, size=len(move)))
        if step % 5 == 1:
            view.move_edges(int(move[0]), int(rng.integers(n)), int(rng.integers(n)))
        if step % 3 == 0:
            other = drawn_view(rng, n + int(rng.integers(3)), view.directed, static)
            extra = int(rng.integers(3))
            view.extend(
                rng.integers(other.num_nodes, size=(2, extra)),
                num_nodes=other.num_nodes,
                nodes={
                    key: np.concatenate([column, other.nodes[key][n:]])
                    if isinstance(column, np.ndarray)
                    else column + other.nodes[key][n:]
                    for key, column in view.nodes.items()
                },
                edge_attributes={
                    key: np.concatenate([column, more])
                    for (key, column), more in zip(
                        view.edge_attributes.items(),
                        drawn_edges(rng, extra, static).values(),
                        strict=True,
                    )
                },
            )
        flag = "side" if static else "old"
        row = int(rng.integers(view.num_nodes))
        view.set_node(flag, row, 1 - int(view.nodes[flag][row]))
        if not static:
            view.set_edge("length", int(rng.integers(view.num_edges)), rng.random())


@pytest.mark.parametrize("case", ["undirected", "directed", "static edges", "nothing declared"])
def test_edges_that_move_and_graphs_that_grow(case):
    rng = np.random.default_rng(5)
    directed, static = case == "directed", case == "static edges"
    if static:
        encoder, name = brief_encoder("max-cut", "paper"), "graph"
    else:
        env = Growing(directed, case != "nothing declared")
        encoder, name = pretrain_on([env], training=BRIEF), "graph"
    check_along(encoder, rewirings(rng, drawn_view(rng, 6, directed, static), name, static))


@pytest.mark.parametrize("limit", ["MATRIX_BYTES", "PARTS_BYTES"])
def test_a_graph_that_outgrows_the_memory_cap(monkeypatch, limit):
    rng = np.random.default_rng(6)
    monkeypatch.setattr(compiled, limit, 3000)
    view = drawn_view(rng, 5, False, True)
    check_along(brief_encoder("max-cut", "paper"), rewirings(rng, view, "graph", True))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("attributes", [False, True])
def test_growing_graphs(directed, attributes):
    env = Growing(directed, attributes)
    encoder = pretrain_on([env], training=BRIEF)
    check_along(encoder, trajectory(Growing(directed, attributes), 5, 30))


@pytest.mark.parametrize(
    "config",
    [
        EncoderConfig(layers=("nnconv", "sage", "sage"), hidden_channels=20, out_channels=8),
        EncoderConfig(activation="leaky_relu", batch_norm=False),
        EncoderConfig(variational=True),
        *(EncoderConfig(layers=(kind, kind)) for kind in ("gcn", "gat", "gin", "sage", "edgeconv")),
        EncoderConfig(layers=("nnconv", "nnconv", "sage"), activation="none", aggregation="mean"),
        EncoderConfig(layers=("nnconv",), aggregation="max"),
    ],
    ids=lambda c: "-".join(c.layers),
)
def test_other_stacks(config):
    encoder = brief_encoder("tsp", "full", config)
    runs_compiled = config.layers[0] == "nnconv" and set(config.layers[1:]) == {"sage"}
    assert encoder.embedder().compiled == {"cities": runs_compiled}
    check_along(encoder, trajectory(PROBLEMS["tsp"](size=12), 3, 6))


def test_embeddings_need_not_have_length_one():
    encoder = brief_encoder("tsp", "full", EncoderConfig(normalise=False))
    views = PROBLEMS["tsp"](size=12).graph_views()
    z = encoder.embedder()(views)["cities"]
    wanted = encoder.embedder(compiled=False)(views)["cities"]
    assert np.abs(z - wanted).max() < 1e-4 and np.linalg.norm(z, axis=1).std() > 1e-3


@pytest.mark.parametrize(("name", "features"), [("tsp", "full"), ("min-vertex", "full")])
@pytest.mark.parametrize("limit", ["MATRIX_BYTES", "PARTS_BYTES"])
def test_graphs_beyond_the_memory_cap(monkeypatch, name, features, limit):
    encoder = brief_encoder(name, features)
    env = PROBLEMS[name](PROBLEMS[name].generate(15), features=features)
    monkeypatch.setattr(compiled, limit, 0)
    check_along(encoder, trajectory(env, 0, 12))


def test_graphs_without_edges_and_single_nodes():
    encoder = brief_encoder("tsp", "full")
    for n in (1, 2, 7):
        rng = np.random.default_rng(n)
        nodes = {
            entry.name: rng.integers(2, size=n)
            if entry.type == "binary"
            else rng.random((n, entry.width) if entry.width > 1 else n)
            for entry in encoder.layout["cities"].nodes
        }
        view = GraphView(
            n, np.zeros((2, 0)), nodes=nodes, edge_attributes={"distance": np.zeros(0)}
        )

        def changing(view=view, n=n):
            for _ in range(3):
                yield {"cities": view}
                view.set_node("visited", n - 1, 1 - view.nodes["visited"][n - 1])

        check_along(encoder, changing())


def test_loops_and_parallel_edges():
    encoder = brief_encoder("max-cut", "paper")
    view = GraphView(
        4, [[0, 0, 1, 2, 1], [1, 1, 1, 3, 0]], nodes={"side": np.array([1, 0, 1, 0])},
        edge_attributes={"weight": np.array([1.0, 2.0, 3.0, 4.0, 5.0])}, multigraph=True,
    )  # fmt: skip
    check_along(encoder, [{"graph": view}])


def test_an_unchanged_view_is_not_computed_again():
    encoder = brief_encoder("tsp", "full")
    env = PROBLEMS["tsp"](size=12)
    env.reset(seed=0)
    embedder = encoder.embedder()
    z = embedder(env.graph_views())["cities"]
    z[:] = 7.0
    assert (embedder(env.graph_views())["cities"] == 7.0).all()
    env.reset(seed=1, options={"instance": PROBLEMS["tsp"].generate(9)})
    assert embedder(env.graph_views())["cities"].shape == (9, 16)


def test_a_value_that_is_not_finite_is_refused_and_forgotten():
    from lagco.errors import SpecError

    encoder = brief_encoder("tsp", "full")
    env = PROBLEMS["tsp"](size=12)
    env.reset(seed=0)
    embedder = encoder.embedder()
    good = embedder(env.graph_views())["cities"].copy()
    view = env.graph_views()["cities"]
    kept = view.nodes["to_start"][3]
    view.set_node("to_start", 3, np.nan)
    for make in (True, False):
        other = encoder.embedder(compiled=make)
        for one in (embedder, other):
            with pytest.raises(SpecError, match="'to_start': row 3"):
                one(env.graph_views())
    view.set_node("to_start", 3, kept)
    assert np.array_equal(embedder(env.graph_views())["cities"], good)


def test_features_of_single_attributes_can_be_read():
    encoder = brief_encoder("tsp", "full")
    env = PROBLEMS["tsp"](size=12)
    env.reset(seed=0)
    embedder = encoder.embedder()
    embedder(env.graph_views())
    features = embedder.features("cities")
    view, layout = env.graph_views()["cities"], features.layout
    current, distance = layout.nodes.columns(("to_current",)), layout.edges.columns(("distance",))
    assert np.array_equal(features.nodes[:, current[0]], view.nodes["to_current"])
    assert np.array_equal(features.edges[:, distance[0]], view.edge_attributes["distance"])
    assert features.nodes.shape == (12, encoder.layout["cities"].nodes.width)
    assert not features.nodes.flags.writeable
    embedder(env.graph_views())  # reading made nothing read-only that is still written to
    env.step(draw_valid_action(env, np.random.default_rng(0)))
    embedder(env.graph_views())
    assert np.array_equal(features.nodes[:, current[0]], view.nodes["to_current"])


def test_a_graph_without_nodes():
    encoder = brief_encoder("max-cut", "paper")
    view = GraphView(0, np.zeros((2, 0)), nodes={"side": np.zeros(0)},
                     edge_attributes={"weight": np.zeros(0)})  # fmt: skip
    for compiled_too in (True, False):
        z = encoder.embedder(compiled=compiled_too)({"graph": view})["graph"]
        assert z.shape == (0, 16)


def test_a_declaration_that_differs_is_refused():
    from lagco.core.declaring.declaration import read_declaration
    from lagco.errors import SpecError

    encoder = brief_encoder("tsp", "full")
    full, paper = (PROBLEMS["tsp"](size=12, features=features) for features in ("full", "paper"))
    encoder.embedder(read_declaration(full, full.graph_views()))
    with pytest.raises(SpecError, match="'cities', nodes: the encoder was trained with the attr"):
        encoder.embedder(read_declaration(paper, paper.graph_views()))
