"""Pre-training: what is learnt, that it is repeatable, and that every kind of head is derived."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch

from lagco.embedding import (
    EncoderConfig,
    PretrainConfig,
    pretrain,
    pretrain_on,
    problem_environments,
    reconstruction_report,
)
from lagco.embedding.pretraining.reconstruction import contrastive_loss, negatives_of
from lagco.embedding.pretraining.states import collate, collect_snapshots, view_states
from lagco.errors import LagcoError, UsageError
from tests.embedding.environments import BRIEF, PROBLEMS, Growing, brief_encoder


def instances(name, sizes, seed):
    return [PROBLEMS[name].generate(n, seed=seed, index=i) for i, n in enumerate(sizes)]


@pytest.mark.parametrize("name", ["tsp", "min-vertex"])
def test_unseen_instances_are_reconstructed_better_than_from_a_random_encoder(name):
    problem = PROBLEMS[name]
    train = instances(name, (10, 12, 14, 16, 18, 20, 22, 24), 42)
    unseen = instances(name, (11, 17, 25), 7)
    training = PretrainConfig(max_steps=300, states=600)
    encoder = pretrain(problem, train, training=training, progress=False)
    scores = reconstruction_report(
        encoder, problem_environments(problem, train), problem_environments(problem, unseen),
        states=150,
    )  # fmt: skip
    heads = {score.head: score for score in scores}
    wanted = {
        "tsp": {"node/visited", "node/current", "node/start", "node/position", "node/to_current",
                "node/to_start", "node/to_centre", "node/nearest_left", "node/share_left",
                "edge/distance", "adjacency"},
        "min-vertex": {"node/selected", "node/uncovered", "node/leaves", "node/lowest", "edge/covered",
                       "adjacency"},
    }  # fmt: skip
    assert set(heads) == wanted[name]
    for score in scores:
        assert score.better or score.saturated, score
        if score.measure == "balanced accuracy":
            assert score.trained >= 0.95, score


def test_the_seed_decides_everything():
    data = instances("tsp", (8, 10), 0)
    encoders = [
        pretrain(PROBLEMS["tsp"], data, training=BRIEF, seed=seed, progress=False)
        for seed in (3, 3, 4)
    ]
    same, again, other = (encoder.views["cities"].weights for encoder in encoders)
    assert all(np.array_equal(same[key], again[key]) for key in same)
    assert encoders[0].curves == encoders[1].curves
    assert not np.array_equal(same["layers.0.bias"], other["layers.0.bias"])


def test_global_random_state_and_threads_stay_as_they_are():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    pretrain_on([Growing()], training=BRIEF)
    assert torch.equal(torch.rand(3), wanted) and torch.get_num_threads() == threads


def test_curves_name_every_head_and_are_written_as_csv(tmp_path):
    config = EncoderConfig(variational=True)
    encoder = pretrain(
        PROBLEMS["tsp"], instances("tsp", (14, 16), 0), tmp_path, config=config, training=BRIEF,
        progress=False,
    )  # fmt: skip
    heads = {row["head"] for row in encoder.curves}
    assert {"node/visited", "edge/distance", "adjacency", "divergence"} <= heads
    assert {row["split"] for row in encoder.curves} == {"train", "held-out"}
    with open(tmp_path / "curves.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(encoder.curves) and float(rows[0]["loss"]) > 0


def test_training_stops_when_held_out_states_get_no_better():
    data = instances("min-vertex", (6, 7), 0)
    training = PretrainConfig(
        max_steps=200, states=30, evaluate_every=5, patience=2, learning_rate=0.5
    )
    encoder = pretrain(PROBLEMS["min-vertex"], data, training=training, progress=False)
    assert encoder.training["steps"]["graph"] < 200


def test_states_cover_whole_episodes_of_all_environments():
    sources = problem_environments(PROBLEMS["tsp"], instances("tsp", (10, 40), 0))
    _, collected = collect_snapshots(sources, 40, 0)
    assert [len(states) for states in collected] == [20, 20]
    for states, n in zip(collected, (10, 40), strict=True):
        visited = [int(state["cities"].nodes["visited"].sum()) for state in states]
        assert min(visited) <= n // 4 and max(visited) >= n - n // 4


def test_heads_of_every_type():
    encoder = pretrain_on([Growing(directed=True)], training=BRIEF)
    scores = reconstruction_report(encoder, [Growing(directed=True)], [Growing(directed=True)],
                                   states=30)  # fmt: skip
    measures = {score.head: score.measure for score in scores}
    assert measures == {
        "node/age": "R2", "node/kind": "accuracy", "node/marks": "R2",
        "node/old": "balanced accuracy", "edge/length": "R2", "edge/used": "balanced accuracy",
        "adjacency": "AUC",
    }  # fmt: skip


def test_negatives_are_no_neighbours_and_graphs_without_any_contribute_nothing():
    encoder = brief_encoder("min-vertex", "full").views["graph"]
    problem = PROBLEMS["min-vertex"]
    sources = problem_environments(problem, instances("min-vertex", (9, 14), 1))
    _, collected = collect_snapshots(sources, 6, 0)
    views = [state["graph"] for states in collected for state in states]
    batch = collate(view_states(encoder, views))
    anchor, other, negatives = negatives_of(batch, 5, 1)
    pairs = {tuple(pair) for pair in batch.edges.T.tolist()}
    pairs |= {(v, u) for u, v in pairs}
    for a, b, others in zip(anchor.tolist(), other.tolist(), negatives.tolist(), strict=True):
        assert (a, b) in pairs
        for c in others:
            if c >= 0:
                assert (a, c) not in pairs and a != c and batch.graph[a] == batch.graph[c]
    n = 5
    complete = np.array([(u, v) for u in range(n) for v in range(u)]).T
    for edges in (complete, np.zeros((2, 0), dtype=int)):
        from lagco.core.graph import GraphView

        names = ("selected", "uncovered", "leaves", "lowest")
        view = GraphView(
            n,
            edges,
            nodes={name: np.zeros(n) for name in names},
            edge_attributes={"covered": np.zeros(edges.shape[1])},
        )
        alone = collate(view_states(encoder, [view]))
        assert contrastive_loss(torch.randn(n, 16), alone, encoder.config, 0) is None
        losses = encoder.decoder.losses(torch.randn(n, 16), alone, 0)
        assert torch.isfinite(encoder.decoder.total(losses))


def test_mistakes_are_named():
    with pytest.raises(UsageError, match="did you mean 'nnconv'"):
        EncoderConfig(layers=("nconv",))
    with pytest.raises(UsageError, match="at least one environment"):
        pretrain_on([])
    diverging = PretrainConfig(max_steps=60, states=20, learning_rate=1e30)
    with pytest.raises(LagcoError, match="diverged"):
        pretrain_on([Growing()], training=diverging, config=EncoderConfig(batch_norm=False))
