"""The commands `pretrain` and `embed`: encoders by problem, and pictures of action spaces."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lagco.core.data import Data, instances_from
from lagco.core.pictures.drawing import draw_colour_bar
from lagco.core.pictures.files import DPI, SIDE, check_picture, save_picture
from lagco.core.problem import Problem
from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.embedding.encoder import Encoder, NetworkClass
from lagco.embedding.pretraining.pretrain import pretrain as pretrain_encoder
from lagco.embedding.pretraining.pretrain import problem_environments
from lagco.errors import UsageError, require_extra
from lagco.latent.compactness import compactness
from lagco.latent.space import LatentSpace
from lagco.policies import RandomPolicy
from lagco.problems import AnyProblem, problem_class
from lagco.rollout import Episode
from lagco.runtime.progress import Progress

#: at most so many actions of an instance are measured and drawn, as in the paper
SHOWN_ACTIONS = 300


def pretrain(
    problem: AnyProblem,
    data: Data | None = None,
    out: str | Path | None = None,
    *,
    seeds: Iterable[int] | None = None,
    features: str = "full",
    config: EncoderConfig | None = None,
    training: PretrainConfig | None = None,
    seed: int = 42,
    progress: bool = True,
    device: str = "cpu",
    network: NetworkClass | None = None,
) -> Encoder:
    """Pre-train the encoder of a problem on random valid trajectories over a data set.

    Args:
        problem: name, ``module:Class``, class, or a function that makes an environment.
        data: folder of a data set, the data set, or instances; for environments also options of
            ``reset``, one mapping or several.
        seeds: for environments, seeds of ``reset``.
        out: folder for the encoder and its loss curves.
        features: feature set, ``full`` or ``paper``.
        config: shape of the encoder.
        training: budget and optimiser.
        seed: everything random follows from it.
        progress: whether to say how it goes.
        device: ``cpu``, ``cuda``, or ``auto`` for cuda where there is one.
        network: a class or function of (node width, message width, out channels) that makes a torch
            module of one's own; it is called with node features (n, ·), messages (2, M) as source
            and target, and message features (M, ·), and gives embeddings (n, out channels).
    """
    cls = problem_class(problem)
    instances = instances_from(cls, data, seeds)
    return pretrain_encoder(
        cls,
        instances,
        out,
        features=features,
        config=config,
        training=training,
        seed=seed,
        progress=progress,
        device=device,
        network=network,
    )


def embed(
    problem: AnyProblem,
    data: Data | None = None,
    encoder: Encoder | str | Path | None = None,
    *,
    agent: Any = None,
    seeds: Iterable[int] | None = None,
    plot: str | Path | None = None,
    features: str = "full",
    instances: int = 20,
    seed: int = 42,
    progress: bool = True,
    side: float = SIDE,
    dpi: float = DPI,
) -> dict[str, Any]:
    """Measure the action space of a problem, and draw it.

    Args:
        problem: as for :func:`pretrain`.
        data: as for :func:`pretrain`.
        seeds: as for :func:`pretrain`.
        encoder: pre-trained encoder or its folder; pre-trained on `data` where None.
        agent: instead of an encoder, an agent whose action space to measure: ``default`` (the one
            that comes with lagco), the folder of one, or the agent.
        plot: picture to write: the action space of the first instance in two dimensions (UMAP).
        features: feature set; an agent brings its own.
        instances: how many to measure.
        seed: of the states, which are a quarter into random episodes.
        progress: whether to show how it goes.
        side: of the picture, in inches.
        dpi: dots per inch.

    Returns:
        ``cmp`` (cmp@3, cmp@5 and cmp@10, averaged over instances), ``actions`` (mean number).
    """
    cls = problem_class(problem)
    chosen = instances_from(cls, data, seeds)
    if plot is not None:
        check_picture(plot, side, dpi)
    if agent is not None and encoder is not None:
        raise UsageError(f"give agent={agent!s} or encoder={encoder!s}, not both")
    count = min(instances, len(chosen))
    listed = [chosen[i] for i in range(count)]
    if agent is None and encoder is None:
        encoder = pretrain(cls, chosen, features=features, seed=seed, progress=progress)
    elif isinstance(encoder, str | Path):
        encoder = Encoder.load(encoder)
    first: Any = None
    measured: list[dict[int, float]] = []
    sizes: list[int] = []
    with Progress(f"action spaces of {cls.name}", count, show=progress) as shown:
        if encoder is None:
            space, features = _space_of(agent, cls)
        else:
            shown.say("fitting the latent space")
            space = LatentSpace.fit(encoder, problem_environments(cls, listed, features), seed=seed)
        shown.say("measuring")
        for number, instance in enumerate(shown.over(listed)):
            vectors, size = sampled_actions(space, cls(instance, features=features), seed, number)
            measured.append(compactness(vectors))
            sizes.append(size)
            first = vectors if first is None else first
        found = {
            f"cmp@{k}": float(np.mean(values))
            for k in (3, 5, 10)
            if (values := [m[k] for m in measured if k in m and np.isfinite(m[k])])
        }
        if plot is not None:
            shown.update(count, text="drawing the picture")
            title = f"actions of {cls.name}, size {listed[0].size}: {_spelled(found)}"
            draw_space(first, title, plot, seed, side, dpi)
    return {
        "problem": cls.name,
        "instances": count,
        "actions": float(np.mean(sizes)),
        "cmp": found,
        "plot": None if plot is None else str(plot),
    }


def _space_of(agent: Any, cls: type[Problem]) -> tuple[LatentSpace, str]:
    """Latent space and feature set of an agent."""
    if isinstance(agent, str | Path):
        from lagco.agents.bundle import load
        from lagco.agents.shipped import default_agent

        agent = default_agent(cls.name) if agent == "default" else load(agent, cls)
    if agent.problem.name != cls.name:
        raise UsageError(f"problem={cls.name!r}: the agent decides on {agent.problem.name!r}")
    return agent.space, agent.features


def draw_space(
    vectors: Any,
    title: str,
    path: str | Path,
    seed: int = 42,
    side: float = SIDE,
    dpi: float = DPI,
) -> None:
    """Write a picture of action vectors (N, d) in two dimensions, coloured by their place in d."""
    points = in_two_dimensions(vectors, seed)
    shade = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)

    def draw(axes: Any) -> None:
        axes.set_aspect("auto")
        dots = axes.scatter(points[:, 0], points[:, 1], s=10, c=shade, cmap="viridis")
        draw_colour_bar(axes, dots, "distance to the mean action", "{:.3g}")
        axes.set_title(title, fontsize=8)

    save_picture(draw, path, side=side, dpi=dpi)


def in_two_dimensions(vectors: Any, seed: int = 42) -> Any:
    """UMAP of vectors (N, d): points (N, 2); a handful is turned to its principal axes instead."""
    vectors = np.asarray(vectors, dtype=np.float64)
    if len(vectors) < 6:
        _, _, axes = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        return (vectors - vectors.mean(axis=0)) @ np.pad(axes, ((0, 2), (0, 0)))[:2].T
    umap = require_extra("umap", "report", "the picture of an action space")
    few = len(vectors) <= 15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the one thread that a seed asks for
        reducer = umap.UMAP(
            n_neighbors=min(15, len(vectors) - 1),
            init="random" if few else "spectral",
            random_state=seed,
            n_jobs=1,
        )
        return reducer.fit_transform(vectors)


def sampled_actions(space: LatentSpace, env: Problem, seed: int, number: int) -> tuple[Any, int]:
    """Some action vectors of a state a quarter into a random episode, and how many there are."""
    rng = np.random.default_rng([seed, number, 7])
    episode = Episode(env, int(rng.integers(2**31)), rng=rng)
    if episode.run(RandomPolicy(), env.usual_length // 4).ended:
        env.reset(seed=int(rng.integers(2**31)))
    view = space.view(env)
    view.refresh()
    actions = view.actions()
    size = actions.size
    if size <= SHOWN_ACTIONS:
        rows = actions.list()
    else:
        rows = np.unique(actions.sample(rng, 2 * SHOWN_ACTIONS), axis=0)
        rows = rows[rng.permutation(len(rows))[:SHOWN_ACTIONS]]
    return actions.vectors(rows), size


def _spelled(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in found.items())
