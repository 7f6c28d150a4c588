"""Reconstruction quality of embeddings, head by head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.embedding.config import PretrainConfig
from lagco.embedding.encoder import Encoder, ViewEncoder
from lagco.embedding.features.layout import TableLayout
from lagco.embedding.pretraining.loop import TrainingRun, calibrate, fit_scales, seeded_modules
from lagco.embedding.pretraining.states import (
    EnvSource,
    ViewState,
    collate,
    collect_snapshots,
    view_states,
)
from lagco.runtime.one_thread import one_thread

if TYPE_CHECKING:
    from lagco.embedding.network.module import GraphEncoder
    from lagco.embedding.pretraining.reconstruction import GraphDecoder, TableDecoder


@dataclass(frozen=True)
class HeadScore:
    """Quality of one head on unseen states.

    Attributes:
        view: graph view.
        head: ``node/…``, ``edge/…`` or ``adjacency``.
        measure: ``balanced accuracy`` (binary), ``accuracy`` (categorical), ``R2`` (continuous) or
            ``AUC`` (adjacency: is an edge's cosine above that of a non-edge).
        trained: of the pre-trained encoder.
        trained_loss: the head's loss.
        random: of a random encoder whose decoder was trained as long; None if not asked for.
        random_loss: likewise.
    """

    view: str
    head: str
    measure: str
    trained: float
    trained_loss: float
    random: float | None = None
    random_loss: float | None = None

    @property
    def better(self) -> bool:
        """Whether the trained encoder beats the random one by the measure; a tie does not."""
        return self.random is None or self.trained > self.random

    @property
    def saturated(self) -> bool:
        """Whether both are perfect, so that nothing is left to beat."""
        return self.trained == self.random == 1.0


def reconstruction_report(
    encoder: Encoder,
    training: Sequence[EnvSource],
    unseen: Sequence[EnvSource],
    *,
    states: int = 400,
    seed: int = 1,
    baseline: bool = True,
) -> list[HeadScore]:
    """Scores of every head on states of environments the encoder has not seen.

    Args:
        encoder: the pre-trained encoder.
        training: environments to train the decoder of the random encoder on.
        unseen: environments to measure on.
        states: how many of their states.
        seed: of trajectories and of the random encoder.
        baseline: whether to train and measure the random encoder.
    """
    _, collected = collect_snapshots(unseen, states, seed)
    snapshots = [snapshot for part in collected for snapshot in part]
    known: list[Any] = []
    if baseline:
        _, collected = collect_snapshots(training, PretrainConfig().states, seed)
        known = [snapshot for part in collected for snapshot in part]
    scores = []
    with one_thread():
        for name, view in encoder.views.items():
            tests = view_states(view, (snapshot[name] for snapshot in snapshots))
            trained = head_scores(view.network, view.decoder, tests, seed)
            random: dict[str, tuple[str, float, float]] = {}
            if baseline:
                steps = int(encoder.training.get("steps", {}).get(name, 500)) or 1
                states_of_view = view_states(view, (snapshot[name] for snapshot in known))
                random = head_scores(*_random(view, states_of_view, steps, seed), tests, seed)
            for head, (measure, value, loss) in trained.items():
                _, other, other_loss = random.get(head, (measure, None, None))
                scores.append(HeadScore(name, head, measure, value, loss, other, other_loss))
    return scores


def _random(
    view: ViewEncoder, states: Sequence[ViewState], steps: int, seed: int
) -> tuple[GraphEncoder, GraphDecoder]:
    """A random encoder, its batch norms calibrated, with a decoder trained for `steps` steps."""
    import torch

    network, decoder = seeded_modules(view, seed + 1000)
    fit_scales(network, decoder, states)
    config = replace(PretrainConfig(), max_steps=steps)
    calibrate(network, states, config.batch_size)
    noise = torch.Generator().manual_seed(seed)
    run = TrainingRun(view.name, network, decoder, config, noise, frozen=True, early_stopping=False)
    rng = np.random.default_rng([seed, 3])
    held_out = [states[i] for i in rng.permutation(len(states))[: max(1, len(states) // 7)]]
    run.fit(states, held_out, rng, None)
    return network.eval(), decoder.eval()


def head_scores(
    network: GraphEncoder, decoder: GraphDecoder, states: Sequence[ViewState], seed: int
) -> dict[str, tuple[str, float, float]]:
    """Measure, value and loss per head over all `states` together."""
    import torch

    from lagco.embedding.pretraining.reconstruction import negatives_of

    found: dict[str, list[tuple[Array, Array]]] = {}
    similar: list[tuple[Array, Array]] = []
    losses: dict[str, list[float]] = {}
    with torch.no_grad():
        for k in range(0, len(states), 64):
            batch = collate(states[k : k + 64])
            z = network(batch)
            for head, loss in decoder.losses(z, batch, seed + k).items():
                losses.setdefault(head, []).append(float(loss))
            _predictions(decoder.nodes, "node", z, batch.x, found)
            if batch.edges.shape[1]:
                inputs = decoder.edge_inputs(z, batch.edges)
                _predictions(decoder.edges, "edge", inputs, batch.edge_features, found)
                anchor, other, negatives = negatives_of(batch, 1, seed + k)
                kept = negatives[:, 0] >= 0
                unit = torch.nn.functional.normalize(z, dim=1).numpy()
                a = unit[anchor[kept]]
                similar.append(
                    (
                        (a * unit[other[kept]]).sum(axis=1),
                        (a * unit[negatives[kept, 0]]).sum(axis=1),
                    )
                )
    scores: dict[str, tuple[str, float]] = {}
    for part, table in (("node", decoder.nodes.table), ("edge", decoder.edges.table)):
        scores |= _score_table(part, table, found)
    edges = np.concatenate([a for a, _ in similar]) if similar else np.zeros(0)
    if len(edges):
        others = np.concatenate([b for _, b in similar])
        ahead = (edges > others).mean() + 0.5 * (edges == others).mean()
        scores["adjacency"] = ("AUC", float(ahead))
    return {
        head: (measure, value, float(np.mean(losses[head])))
        for head, (measure, value) in scores.items()
    }


def _predictions(
    decoder: TableDecoder,
    part: str,
    inputs: Any,
    targets: Any,
    found: dict[str, list[tuple[Array, Array]]],
) -> None:
    if decoder.table.constant:
        return
    for name, values in decoder(inputs).items():
        entry = decoder.table[name]
        if entry.type == "continuous":
            values = values * decoder.deviation[entry.columns] + decoder.mean[entry.columns]
        pair = (values.numpy(), targets[:, entry.columns].numpy())
        found.setdefault(f"{part}/{name}", []).append(pair)


def _score_table(
    part: str, table: TableLayout, found: dict[str, list[tuple[Array, Array]]]
) -> dict[str, tuple[str, float]]:
    scores = {}
    for entry in table:
        pairs = found.get(f"{part}/{entry.name}")
        if not pairs:
            continue
        values = np.concatenate([a for a, _ in pairs])
        wanted = np.concatenate([b for _, b in pairs])
        if entry.type == "binary":
            score = ("balanced accuracy", balanced_accuracy(values > 0, wanted > 0.5))
        elif entry.type == "categorical":
            rows = wanted.sum(axis=1) > 0
            hits = values[rows].argmax(axis=1) == wanted[rows].argmax(axis=1)
            score = ("accuracy", float(hits.mean()) if rows.any() else 1.0)
        else:
            score = ("R2", r_squared(values, wanted))
        scores[f"{part}/{entry.name}"] = score
    return scores


def balanced_accuracy(predicted: Array, wanted: Array) -> float:
    """Mean of the shares found among the true and among the false; either alone if all are one."""
    shares = [
        float((predicted[wanted == value] == value).mean())
        for value in (True, False)
        if (wanted == value).any()
    ]
    return float(np.mean(shares))


def r_squared(predicted: Array, wanted: Array) -> float:
    """1 - squared error / variance, averaged over the columns that vary."""
    spread = ((wanted - wanted.mean(axis=0)) ** 2).sum(axis=0)
    varying = spread > 1e-9
    if not varying.any():
        return 1.0
    error = ((predicted - wanted) ** 2).sum(axis=0)
    return float(1.0 - (error[varying] / spread[varying]).mean())


def report_table(scores: Sequence[HeadScore]) -> str:
    """The scores as a Markdown table."""
    lines = ["| view | head | measure | pre-trained | random |", "| --- | --- | --- | --- | --- |"]
    for score in scores:
        random = "" if score.random is None else f"{score.random:.3f}"
        lines.append(
            f"| {score.view} | {score.head} | {score.measure} | {score.trained:.3f} | {random} |"
        )
    return "\n".join(lines) + "\n"
