"""Action spaces: compactness, projections, and the effect of pre-training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.commands.pretrain import in_two_dimensions, sampled_actions
from lagco.core.problem import Problem
from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.embedding.encoder import Encoder
from lagco.embedding.pretraining.pretrain import pretrain, problem_environments
from lagco.embedding.pretraining.report import reconstruction_report
from lagco.instances import Instance
from lagco.latent.compactness import compactness
from lagco.latent.space import LatentSpace
from lagco.problems import problem_class
from lagco.study.records.ledger import rounded, significant
from lagco.study.running.code import code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task
from lagco.study.tasks.encoder import load_encoder

_MEASURED = (
    "lagco.embedding.pretraining.report",
    "lagco.latent.compactness",
    "lagco.commands.pretrain",
)
_NEIGHBOURS = (3, 5, 10)


def embedding_task(
    problem: str,
    data: Mapping[str, Any],
    encoder: Task,
    *,
    features: str,
    size: int,
    instances: int,
    shown: int,
    drawn_states: int,
    states: int,
    seed: int,
) -> Task:
    """Task of measuring and projecting action spaces of the instances after the first ones.

    Args:
        problem: as the user typed it.
        data: entries that name the data set; it has twice as many instances.
        encoder: task that makes the encoder.
        features: feature set.
        size: of the instances.
        instances: how many the encoder was trained on, and how many others are measured.
        shown: how many of these are projected.
        drawn_states: states of random episodes to project, per instance.
        states: states to reconstruct from.
        seed: of everything random.
    """
    spec = {
        "problem": problem,
        **data,
        "features": features,
        "size": size,
        "instances": instances,
        "shown": shown,
        "drawn_states": drawn_states,
        "states": states,
        "encoder": encoder.key,
        "seed": seed,
        "code": code_version(problem, _MEASURED),
    }
    return Task("embedding", f"{problem}-{features}", spec, (str(data["data"]), encoder.key))


def do(context: Context) -> Outcome:
    """Measure and project, on instances that the encoder was not trained on."""
    spec = context.spec
    cls, features, seed = problem_class(spec["problem"]), spec["features"], spec["seed"]
    data = list(context.ledger.data(context.task))
    known, unseen = data[: spec["instances"]], data[spec["instances"] :]
    encoder = load_encoder(context.ledger, spec["encoder"])
    assert encoder is not None
    random = _untrained(cls, known, features, encoder, seed)
    sources = problem_environments(cls, known, features)
    spaces = {"trained": LatentSpace.fit(encoder, sources, seed=seed)}
    spaces["random"] = LatentSpace.fit(random, sources, seed=seed)
    context.report({})
    vectors: dict[str, list[Any]] = {}
    counts: list[int] = []
    for which, space in spaces.items():
        found = [
            sampled_actions(space, cls(instance, features=features), seed, number)
            for number, instance in enumerate(unseen)
        ]
        vectors[which] = [action_vectors for action_vectors, _ in found]
        counts = [size for _, size in found]
    pictures = []
    for number in range(min(spec["shown"], len(unseen))):
        context.report({})
        env = cls(unseen[number], features=features)
        pictures.append(
            {
                "index": spec["instances"] + number,
                "size": unseen[number].size,
                "actions": _points(vectors["trained"][number], seed),
                "random": _points(vectors["random"][number], seed),
                "states": _states(spaces["trained"], env, spec["drawn_states"], seed),
            }
        )
    scores = reconstruction_report(
        encoder,
        sources,
        problem_environments(cls, unseen, features),
        states=spec["states"],
        seed=seed,
    )
    heads = [
        {name: value if isinstance(value, str) else significant(value) for name, value in row}
        for row in (asdict(score).items() for score in scores)
    ]
    return {
        "actions": significant(float(np.mean(counts))),
        "cmp": _compactness(vectors["trained"]),
        "cmp_random": _compactness(vectors["random"]),
        "pictures": pictures,
        "heads": heads,
    }, {}


def _untrained(
    cls: type[Problem], known: Sequence[Instance], features: str, encoder: Encoder, seed: int
) -> Encoder:
    """A randomly initialised encoder of the same shape, its input scales and norms fitted."""
    shape: EncoderConfig = next(iter(encoder.views.values())).config
    still = PretrainConfig(max_steps=1, learning_rate=0.0, states=400)
    return pretrain(
        cls,
        known,
        features=features,
        config=shape,
        training=still,
        seed=seed + 1000,
        progress=False,
    )


def _compactness(vectors: Sequence[Any]) -> dict[str, float | None]:
    """Means of cmp@k over the instances that have more than k actions."""
    measured = [compactness(v, _NEIGHBOURS) for v in vectors]
    means: dict[str, float | None] = {}
    for k in _NEIGHBOURS:
        values = [m[k] for m in measured if k in m and np.isfinite(m[k])]
        means[str(k)] = significant(float(np.mean(values))) if values else None
    return means


def _points(vectors: npt.NDArray[Any], seed: int) -> dict[str, Any]:
    points = in_two_dimensions(vectors, seed)
    shade = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    return {
        "x": rounded(points[:, 0].tolist(), 4),
        "y": rounded(points[:, 1].tolist(), 4),
        "shade": rounded(shade.tolist(), 4),
    }


def _states(space: LatentSpace, env: Problem, count: int, seed: int) -> dict[str, Any]:
    """Observations along random episodes in two dimensions, and how far each episode is."""
    rng = np.random.default_rng([seed, 11])
    observations: list[Any] = []
    progress: list[float] = []
    while len(observations) < count:
        env.reset(seed=int(rng.integers(2**31)))
        view = space.view(env)
        ended, step = False, 0
        while not ended and len(observations) < count:
            view.refresh()
            observations.append(view.observation().copy())
            progress.append(step / env.episode_length)
            *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
            ended = terminated or truncated
            step += 1
    points = in_two_dimensions(np.array(observations), seed)
    return {
        "x": rounded(points[:, 0].tolist(), 4),
        "y": rounded(points[:, 1].tolist(), 4),
        "progress": rounded(progress, 4),
    }
