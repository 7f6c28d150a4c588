"""Pre-training of the graph auto-encoder on states reached by random valid actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.embedding.config import OWN, EncoderConfig, PretrainConfig
from lagco.embedding.devices import torch_device
from lagco.embedding.encoder import Encoder, NetworkClass, fit_encoder
from lagco.embedding.pretraining.loop import Progress, train_view
from lagco.embedding.pretraining.states import EnvSource, collect_snapshots, view_states
from lagco.errors import UsageError
from lagco.instances import DataSet, Instance
from lagco.runtime.one_thread import one_thread
from lagco.runtime.progress import Progress as ShownProgress


def pretrain(
    problem: type[Problem],
    data: DataSet | Sequence[Instance],
    out: str | Path | None = None,
    *,
    features: str = "full",
    config: EncoderConfig | None = None,
    training: PretrainConfig | None = None,
    seed: int = 42,
    progress: bool = True,
    device: str = "cpu",
    network: NetworkClass | None = None,
) -> Encoder:
    """Pre-train the encoder of a problem on a data set.

    Args:
        problem: the problem class.
        data: instances to train on; some are held out for early stopping.
        out: folder to save the encoder and its loss curves in.
        features: ``full`` or ``paper``; with ``paper`` and no `config`, texts keep their width.
        config: shape of the encoder.
        training: budget and optimiser.
        seed: everything random follows from it.
        progress: whether to show how it goes.
        device: ``cpu``, ``cuda``, or ``auto`` for cuda where there is one.
        network: makes a torch module of one's own in the place of our layers; see
            :class:`~lagco.embedding.network.module.OwnGraphEncoder`.
    """
    if config is None:
        config = EncoderConfig(text_width=None if features == "paper" else 32)
    with ShownProgress(f"encoder of {problem.name}, steps", show=progress) as shown:

        def look(view: str, step: int, steps: int, loss: float) -> None:
            shown.update(step, steps, f"{view}: held-out loss {loss:.4f}")

        encoder = pretrain_on(
            problem_environments(problem, data, features),
            config=config,
            training=training,
            seed=seed,
            progress=look,
            device=device,
            network=network,
        )
    encoder.training |= {"problem": problem.name, "features": features}
    if out is not None:
        encoder.save(out)
        encoder.write_curves(Path(out) / "curves.csv")
    return encoder


def problem_environments(
    problem: type[Problem], data: DataSet | Sequence[Instance], features: str = "full"
) -> list[Callable[[], ContinuousEnv]]:
    """A factory per instance; each makes its environment when called."""
    count = len(data)
    return [partial(_make, problem, data, index, features) for index in range(count)]


def _make(
    problem: type[Problem], data: DataSet | Sequence[Instance], index: int, features: str
) -> ContinuousEnv:
    return problem(data[index], features=features, rewards=False)


@one_thread()
def pretrain_on(
    sources: Sequence[EnvSource],
    *,
    config: EncoderConfig | None = None,
    training: PretrainConfig | None = None,
    seed: int = 42,
    progress: Progress | None = None,
    device: str = "cpu",
    network: NetworkClass | None = None,
) -> Encoder:
    """Pre-train an encoder on environments (or factories of them).

    States come from random valid actions. Some environments are held out for early stopping, or
    some states where there is only one environment.
    """
    config, training = config or EncoderConfig(), training or PretrainConfig()
    device = torch_device(device)
    if network is not None:
        config = replace(config, layers=(OWN,))
    began = time.perf_counter()
    declaration, collected = collect_snapshots(sources, training.states, seed)
    train, held_out = _split(collected, training.held_out, seed)
    if not train:
        raise UsageError("pre-training found no states")
    encoder = fit_encoder(declaration, train, config, network)
    steps: dict[str, int] = {}
    with one_thread():
        for index, (name, view) in enumerate(encoder.views.items()):
            states = view_states(view, (snapshot[name] for snapshot in train))
            others = view_states(view, (snapshot[name] for snapshot in held_out))
            rng = np.random.default_rng([seed, 1, index])
            network, decoder, curves = train_view(
                view, states, others, training, rng, progress, device
            )
            view.adopt(network, decoder)
            encoder.curves += curves
            steps[name] = max((row["step"] for row in curves), default=0)
    encoder.training = {
        "seed": seed,
        "environments": len(collected),
        "states": len(train),
        "held_out_states": len(held_out),
        "steps": steps,
    }
    encoder.measured = {"seconds": round(time.perf_counter() - began, 3)}
    return encoder


def _split(collected: list[list[Any]], share: float, seed: int) -> tuple[list[Any], list[Any]]:
    """Training and held-out snapshots."""
    rng = np.random.default_rng([seed, 2])
    if len(collected) > 1:
        order = rng.permutation(len(collected))
        count = max(1, round(share * len(collected)))
        held = set(order[:count].tolist())
        train = [s for i, states in enumerate(collected) if i not in held for s in states]
        return train, [s for i in sorted(held) for s in collected[i]]
    states = collected[0]
    if len(states) < 2:
        return states, states
    order = rng.permutation(len(states))
    count = max(1, round(share * len(states)))
    return [states[i] for i in sorted(order[count:])], [states[i] for i in sorted(order[:count])]
