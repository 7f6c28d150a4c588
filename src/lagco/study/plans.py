"""The plans: from the settings of a study to its tasks. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.agents.config import TrainConfig, applicable_settings, train_config
from lagco.study.artefacts import data_task, encoder_task, used_data
from lagco.study.code import code_version
from lagco.study.ledger import Ledger
from lagco.study.settings import (
    EmbeddingsSettings,
    GeneralizationSettings,
    ScalabilitySettings,
    TrainingTimeSettings,
    sees_latent,
)
from lagco.study.splits import training_indices
from lagco.study.task import Task


def plan_generalization(settings: GeneralizationSettings, ledger: Ledger) -> list[Task]:
    """All tasks of the study, data first.

    Keys of runs depend on the checksum of the data: those of a problem whose data is not made yet
    are not the final ones.
    """
    found: list[Task] = []
    for problem in settings.problems:
        data = data_task(problem, settings.instances, sizes=settings.sizes, sweeps=settings.sweeps)
        found.append(data)
        used, record = used_data(ledger, data)
        sizes = (
            list(range(settings.instances))
            if record is None
            else [entry["size"] for entry in record.result["instances"]]
        )
        found += _policies(settings, problem, used)
        found += _runs(settings, problem, used, sizes)
    # one run of everything comes before a second of anything
    return sorted(found, key=lambda task: (task.kind not in ("data",), task.spec.get("fold", -1)))


def _policies(
    settings: GeneralizationSettings, problem: str, used: Mapping[str, Any]
) -> list[Task]:
    return [
        Task(
            "policy",
            f"{problem}-{policy}",
            {
                "problem": problem,
                **used,
                "policy": policy,
                "instances": settings.instances,
                "episodes": settings.episodes,
                "code": code_version(problem),
            },
            needs=(used["data"],),
        )
        for policy in settings.policies
    ]


def _runs(
    settings: GeneralizationSettings,
    problem: str,
    used: Mapping[str, Any],
    sizes: Sequence[int],
) -> list[Task]:
    found: list[Task] = []
    for fold, seed in settings.runs:
        for strategy in settings.strategies:
            place: dict[str, Any] = {
                "strategy": strategy,
                "fold": fold,
                "instances": settings.instances,
            }
            indices = training_indices(sizes, strategy, fold)
            for features in settings.features:
                encoder = encoder_task(
                    problem,
                    used,
                    indices,
                    name=f"{problem}-{features}-{strategy}-{seed}",
                    features=features,
                    seed=seed,
                    pretraining=settings.pretraining,
                    **place,
                )
                if any(sees_latent(method) for method in settings.methods):
                    found.append(encoder)
                for steps in settings.steps:
                    for method in settings.methods:
                        config = train_config(
                            method=method,
                            strategy=strategy,
                            steps=steps,
                            seed=seed,
                            features=features,
                            preset=settings.training,
                            **applicable_settings(method, settings.config),
                        )
                        found.append(_run(problem, used, indices, encoder, config, settings, place))
    return found


def _run(
    problem: str,
    used: Mapping[str, Any],
    indices: Sequence[int],
    encoder: Task,
    config: TrainConfig,
    settings: GeneralizationSettings,
    place: Mapping[str, Any],
) -> Task:
    latent = sees_latent(config.method)
    spec = {
        "problem": problem,
        **used,
        **place,
        "seed": config.seed,
        "train": list(indices),
        "config": config.as_dict(),
        "encoder": encoder.key if latent else None,
        "episodes": settings.episodes,
        "code": code_version(problem),
    }
    needs = (str(used["data"]), encoder.key) if latent else (str(used["data"]),)
    name = f"{problem}-{config.method}-{config.strategy}-{config.seed}"
    return Task("run", name, spec, needs)


def plan_scalability(settings: ScalabilitySettings, ledger: Ledger) -> list[Task]:
    """One task per problem, method and size."""
    found = []
    for features in settings.features:
        for problem in settings.problems:
            for size in settings.sizes_of(problem):
                for method in settings.methods:
                    spec = {
                        "problem": problem,
                        "method": method,
                        "size": size,
                        "features": features,
                        "decisions": settings.decisions,
                        "seconds": settings.seconds,
                        "seed": settings.seed,
                        "code": code_version(problem),
                    }
                    found.append(Task("latency", f"{problem}-{method}-{size}-{features}", spec))
    return found


def plan_training_time(settings: TrainingTimeSettings, ledger: Ledger) -> list[Task]:
    """Per problem some instances and an encoder, and then every method on them."""
    found: list[Task] = []
    for problem in settings.problems:
        data = data_task(problem, settings.instances, sizes=settings.sizes, sweeps=settings.sweeps)
        found.append(data)
        used, _ = used_data(ledger, data)
        for features in settings.features:
            encoder = encoder_task(
                problem,
                used,
                range(settings.instances),
                name=f"{problem}-{features}-timed",
                features=features,
                seed=settings.seed,
                pretraining=settings.pretraining,
                strategy="timed",
                instances=settings.instances,
            )
            if any(sees_latent(method) for method in settings.methods):
                found.append(encoder)
            for method in settings.methods:
                found.append(_timed(settings, problem, features, method, used, encoder))
    return found


def _timed(
    settings: TrainingTimeSettings,
    problem: str,
    features: str,
    method: str,
    used: Mapping[str, Any],
    encoder: Task,
) -> Task:
    latent = sees_latent(method)
    spec = {
        "problem": problem,
        **used,
        "method": method,
        "features": features,
        "steps": settings.steps,
        "cartpole": settings.cartpole,
        "instances": settings.instances,
        "sizes": settings.sizes,
        "preset": settings.training,
        "encoder": encoder.key if latent else None,
        "seed": settings.seed,
        "code": code_version(problem),
    }
    needs = (str(used["data"]), encoder.key) if latent else (str(used["data"]),)
    return Task("throughput", f"{problem}-{method}-{features}", spec, needs)


def plan_embeddings(settings: EmbeddingsSettings, ledger: Ledger) -> list[Task]:
    """Per problem instances of one size, half of them for the encoder, and the look at them."""
    found: list[Task] = []
    for problem in settings.problems:
        # no references: neither the encoder nor the pictures need them
        data = data_task(problem, 2 * settings.instances, sizes=str(settings.size), references=())
        found.append(data)
        used, _ = used_data(ledger, data)
        for features in settings.features:
            encoder = encoder_task(
                problem,
                used,
                range(settings.instances),
                name=f"{problem}-{features}-looked-at",
                features=features,
                seed=settings.seed,
                pretraining=settings.pretraining,
                strategy="embeddings",
                instances=settings.instances,
            )
            spec = {
                "problem": problem,
                **used,
                "features": features,
                "size": settings.size,
                "instances": settings.instances,
                "shown": settings.shown,
                "drawn_states": settings.drawn_states,
                "states": settings.states,
                "encoder": encoder.key,
                "seed": settings.seed,
                "code": code_version(problem),
            }
            needs = (data.key, encoder.key)
            found += [encoder, Task("embedding", f"{problem}-{features}", spec, needs)]
    return found
