"""Plans: from the settings of a study, and the contents of its ledger, to its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lagco.agents.config import TrainConfig, applicable_settings, train_config
from lagco.study.planning.splits import numbered, training_indices
from lagco.study.planning.tuning import plan_tune
from lagco.study.records.ledger import Ledger
from lagco.study.settings import (
    PACE,
    EmbeddingsSettings,
    GeneralizationSettings,
    ScalabilitySettings,
    Settings,
    ThroughputSettings,
    TrainingSettings,
    TrainingTimeSettings,
    sees_latent,
)
from lagco.study.task import Plan, Task
from lagco.study.tasks.data import data_task, used_data
from lagco.study.tasks.embedding import embedding_task
from lagco.study.tasks.encoder import encoder_task
from lagco.study.tasks.latency import latency_task
from lagco.study.tasks.policy import policy_task
from lagco.study.tasks.run import agent_task
from lagco.study.tasks.throughput import throughput_task


def plan_study(settings: Settings, ledger: Ledger) -> Plan:
    """Tasks of the study that the settings are of.

    Keys depend on the checksum of the data: tasks on data that is not made yet are not final
    (:attr:`Task.complete`), and a later plan has others in their place.
    """
    return _PLANS[settings.study](settings, ledger)


# -- generalisation and training time: agents on folds of the data


@dataclass(frozen=True)
class _Fold:
    """Training instances of one run, with the arguments that its tasks share."""

    problem: str
    data: Mapping[str, Any]
    strategy: str
    seed: int
    train: Sequence[int]
    place: Mapping[str, Any]

    def encoder(self, features: str, settings: TrainingSettings) -> Task:
        return encoder_task(
            self.problem,
            self.data,
            self.train,
            features=features,
            seed=self.seed,
            strategy=self.strategy,
            pretraining=settings.pretraining,
            **self.place,
        )

    def agents(
        self, kind: str, features: str, settings: TrainingSettings, steps: int, **more: Any
    ) -> Iterator[Task]:
        """A task per method, after the encoder that methods share."""
        encoder = self.encoder(features, settings)
        if any(map(sees_latent, settings.methods)):
            yield encoder
        for method in settings.methods:
            config = training_of(
                settings,
                method,
                features=features,
                strategy=self.strategy,
                steps=steps,
                seed=self.seed,
            )
            used = encoder if sees_latent(method) else None
            place = {**self.place, **more, "overrides": dict(settings.config)}
            yield agent_task(kind, self.problem, self.data, self.train, config, used, **place)


def training_of(settings: TrainingSettings, method: str, **given: Any) -> TrainConfig:
    """Training configuration of a method in a study."""
    shared = applicable_settings(method, settings.config)
    return train_config(method=method, preset=settings.training, **given, **shared)


def _folds(
    settings: TrainingSettings,
    ledger: Ledger,
    data: Task,
    strategies: Sequence[str],
    seeds: Sequence[int],
) -> Iterator[_Fold]:
    used, record = used_data(ledger, data)
    sizes = (
        list(range(settings.instances))
        if record is None
        else [entry["size"] for entry in record.result["instances"]]
    )
    for fold, seed in numbered(seeds):
        for strategy in strategies:
            train = training_indices(sizes, strategy, fold)
            place = {"fold": fold, "instances": settings.instances}
            yield _Fold(str(data.spec["problem"]), used, strategy, seed, train, place)


def _data(settings: TrainingSettings, problem: str) -> Task:
    return data_task(
        problem,
        settings.instances,
        sizes=settings.sizes,
        sweeps=settings.sweeps,
        options=settings.options_of(problem),
    )


def _one_of_each_first(tasks: Sequence[Task]) -> list[Task]:
    """Data first, and one run of everything before a second of anything."""
    return sorted(tasks, key=lambda task: (task.kind != "data", task.spec.get("fold", -1)))


def _plan_generalization(settings: GeneralizationSettings, ledger: Ledger) -> Plan:
    found: dict[str, Task] = {}
    for problem in settings.problems:
        data = _data(settings, problem)
        used, _ = used_data(ledger, data)
        tasks = [data]
        for fold in _folds(settings, ledger, data, settings.strategies, settings.seeds):
            for features in settings.features:
                for steps in settings.steps:
                    tasks += fold.agents(
                        "run", features, settings, steps, episodes=settings.episodes
                    )
        pace = _pace(tasks)
        tasks += [
            policy_task(
                problem,
                used,
                policy,
                instances=settings.instances,
                episodes=settings.episodes,
                pace=pace,
            )
            for policy in settings.policies
        ]
        found |= {task.key: task for task in tasks}
    return Plan(_one_of_each_first(list(found.values())))


def _pace(tasks: Sequence[Task]) -> Task:
    """Run that says how much time searches in equal time get."""
    runs = [task for task in tasks if task.kind == "run"]
    return min(
        runs,
        key=lambda run: (
            run.spec["config"]["method"] != PACE,
            run.spec["strategy"] != "varied",
            run.spec["fold"],
        ),
    )


def _plan_training_time(settings: TrainingTimeSettings, ledger: Ledger) -> Plan:
    found: list[Task] = []
    for problem in settings.problems:
        data = _data(settings, problem)
        found.append(data)
        for fold in _folds(settings, ledger, data, ["varied"], settings.seeds):
            for features in settings.features:
                found += fold.agents("training", features, settings, settings.steps)
    return Plan(_one_of_each_first(found))


# -- the others


def _whole_encoder(
    settings: ThroughputSettings | EmbeddingsSettings,
    problem: str,
    used: Mapping[str, Any],
    features: str,
    strategy: str,
) -> Task:
    """The encoder that is trained on all instances of a study."""
    return encoder_task(
        problem,
        used,
        range(settings.instances),
        features=features,
        seed=settings.seed,
        strategy=strategy,
        pretraining=settings.pretraining,
        instances=settings.instances,
    )


def _plan_throughput(settings: ThroughputSettings, ledger: Ledger) -> Plan:
    found: list[Task] = []
    for problem in settings.problems:
        data = _data(settings, problem)
        found.append(data)
        used, _ = used_data(ledger, data)
        for features in settings.features:
            encoder = _whole_encoder(settings, problem, used, features, "throughput")
            if any(map(sees_latent, settings.methods)):
                found.append(encoder)
            for method in settings.methods:
                config = training_of(settings, method, features=features, seed=settings.seed)
                found.append(
                    throughput_task(
                        problem,
                        used,
                        config,
                        encoder if sees_latent(method) else None,
                        steps=settings.steps,
                        instances=settings.instances,
                        sizes=settings.sizes,
                        cartpole=settings.cartpole,
                    )
                )
    return Plan(found)


def _plan_scalability(settings: ScalabilitySettings, ledger: Ledger) -> Plan:
    return Plan(
        [
            latency_task(
                problem,
                method,
                size,
                features,
                decisions=settings.decisions,
                seconds=settings.seconds,
                seed=settings.seed,
            )
            for features in settings.features
            for problem in settings.problems
            for size in settings.sizes_of(problem)
            for method in settings.methods
        ]
    )


def _plan_embeddings(settings: EmbeddingsSettings, ledger: Ledger) -> Plan:
    found: list[Task] = []
    for problem in settings.problems:
        # no references: neither the encoder nor the pictures need them
        data = data_task(problem, 2 * settings.instances, sizes=str(settings.size), references=())
        found.append(data)
        used, _ = used_data(ledger, data)
        for features in settings.features:
            encoder = _whole_encoder(settings, problem, used, features, "embeddings")
            look = embedding_task(
                problem,
                used,
                encoder,
                features=features,
                size=settings.size,
                instances=settings.instances,
                shown=settings.shown,
                drawn_states=settings.drawn_states,
                states=settings.states,
                seed=settings.seed,
            )
            found += [encoder, look]
    return Plan(found)


_PLANS: dict[str, Callable[[Any, Ledger], Plan]] = {
    "generalization": _plan_generalization,
    "scalability": _plan_scalability,
    "tune": plan_tune,
    "training-time": _plan_training_time,
    "throughput": _plan_throughput,
    "embeddings": _plan_embeddings,
}
