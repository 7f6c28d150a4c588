"""Processor time of tasks: of those that a ledger holds, and of short runs made to know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import median
from typing import Any

from lagco.embedding.config import PretrainConfig
from lagco.errors import LagcoError
from lagco.problems import problem_class
from lagco.study.planning.plan import training_of
from lagco.study.records.ledger import Ledger, Record
from lagco.study.settings import (
    EmbeddingsSettings,
    Settings,
    ThroughputSettings,
    TrainingSettings,
    sees_latent,
)
from lagco.study.task import deviations

#: environment steps that are timed per problem and method, instances for them, and a rollout
_STEPS, _INSTANCES, _ROLLOUT = 1024, 4, 512
#: fields of a training configuration that a step costs the same with
_FREE = ("steps", "seed", "strategy")


@dataclass(frozen=True)
class RunCost:
    """Processor time of a training run and its test.

    Attributes:
        fixed_s: seconds before the first step.
        step_s: seconds per environment step, updates included.
        episode_s: seconds per test instance and episode, from all starts that are tested.
        source: what it is known from.
    """

    fixed_s: float
    step_s: float
    episode_s: float
    source: str


# -- known from the ledger


class FinishedTasks:
    """Costs of finished tasks that are like those of a study.

    Args:
        ledger: with the finished tasks.
        settings: of the study; runs count that trained with its configuration on data of its sizes.
    """

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        self._ledger = ledger
        self._settings = settings

    def lacking(self, problem: str, methods: tuple[str, ...]) -> tuple[str, ...]:
        """Methods to measure on a problem; one of them if only data or an encoder is unknown."""
        features = self._settings.features
        runs = getattr(self._settings, "steps", None)
        lacking = tuple(
            method
            for method in methods
            if runs is not None and not all(self._runs(problem, method, f) for f in features)
        )
        encoded = not any(map(sees_latent, methods)) or all(
            self.encoder_s(problem, f) for f in features
        )
        return lacking or (() if encoded and self.data_s(problem) else methods[:1])

    def data_s(self, problem: str) -> float | None:
        """Seconds per generated instance."""
        found = [_cpu_s(r) / r.spec["n"] for r in self._data.values() if self._is_like(r, problem)]
        return median(found) if found else None

    def encoder_s(self, problem: str, features: str) -> float | None:
        """Seconds per encoder."""
        wanted = asdict(PretrainConfig(**getattr(self._settings, "pretraining", {})))
        found = [
            _cpu_s(record)
            for record in self._records("encoder")
            if record.spec["features"] == features
            and record.spec["pretraining"] == wanted
            and self._is_like(self._data.get(record.spec["data"]), problem)
        ]
        return median(found) if found else None

    def run(self, problem: str, method: str, features: str, steps: int) -> RunCost | None:
        """Cost of a run; of those with the nearest number of steps."""
        found = self._runs(problem, method, features)
        if not found:
            return None
        nearest = min((run["steps"] for run in found), key=lambda known: abs(known - steps))
        found = [run for run in found if run["steps"] == nearest]
        tested = [run["episode_s"] for run in found if run["episode_s"] is not None]
        return RunCost(
            0.0,
            median(run["train_s"] for run in found) / nearest,
            median(tested) if tested else 0.0,
            f"{len(found)} run{'s' * (len(found) > 1)}",
        )

    def _runs(self, problem: str, method: str, features: str) -> list[dict[str, Any]]:
        if not isinstance(self._settings, TrainingSettings):
            return []
        wanted = _kept(training_of(self._settings, method, features=features).as_dict())
        return [
            run
            for run in self._all_runs
            if run["problem"] == problem
            and run["config"]["method"] == method
            and _kept(run["config"]) == wanted
            and self._is_like(self._data.get(run["data"]), problem)
        ]

    @cached_property
    def _all_runs(self) -> list[dict[str, Any]]:
        return [_finished_run(r) for kind in ("run", "training") for r in self._records(kind)]

    @cached_property
    def _data(self) -> dict[str, Record]:
        return {record.key: record for record in self._records("data")}

    def _records(self, kind: str) -> list[Record]:
        try:
            return self._ledger.records(kind, superseded=True)
        except LagcoError:  # a damaged record is named by the study itself
            return []

    def _is_like(self, data: Record | None, problem: str) -> bool:
        """Whether data is of a problem and of the sizes of the study."""
        if data is None or data.spec["problem"] != problem or not _cpu_s(data):
            return False
        wanted = _data_settings(self._settings)
        return all(data.spec[name] == value for name, value in wanted.items())


def _kept(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in deviations(config).items() if name not in _FREE}


def _cpu_s(record: Record) -> float:
    return float(record.measured.get("cpu_s", 0.0))


def _finished_run(record: Record) -> dict[str, Any]:
    """Problem, data, configuration, steps and seconds of a finished run."""
    spec, measured = record.spec, record.measured
    train_s = float(measured.get("train_cpu_s", _cpu_s(record)))
    episodes = spec.get("instances", 0) * spec.get("episodes", 0)
    return {
        "problem": spec["problem"],
        "data": spec["data"],
        "config": spec["config"],
        "steps": int(record.result["training"]["steps"]),
        "train_s": train_s,
        "episode_s": (_cpu_s(record) - train_s) / episodes if episodes else None,
    }


# -- measured now


def _data_settings(settings: Settings) -> dict[str, Any]:
    """Settings of the data that the cost of everything else depends on."""
    if isinstance(settings, EmbeddingsSettings):
        return {"sizes": str(settings.size)}
    return {name: getattr(settings, name) for name in ("sizes", "sweeps")}


def short_runs(
    settings: Settings, problems: Sequence[str], methods: Sequence[str]
) -> ThroughputSettings:
    """The study that measures what a step, a test episode, data and an encoder cost."""
    training: dict[str, Any] = {}
    if isinstance(settings, TrainingSettings):
        training = {
            "training": settings.training,
            "config": {**settings.config, "rollout": _ROLLOUT},
        }
    return ThroughputSettings(
        problems=tuple(problems),
        methods=tuple(methods),
        features=settings.features,
        steps=_STEPS,
        instances=_INSTANCES,
        cartpole=False,
        pretraining=getattr(settings, "pretraining", {}),
        **_data_settings(settings),
        **training,
    )


class ShortRuns:
    """Costs that the study of :func:`short_runs` measured.

    Args:
        ledger: of that study.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._data = {r.spec["problem"]: _cpu_s(r) / r.spec["n"] for r in ledger.records("data")}
        self._encoders = {
            (r.spec["problem"], r.spec["features"]): _cpu_s(r) for r in ledger.records("encoder")
        }
        self._rates = {
            (r.spec["problem"], r.spec["method"], r.spec["features"]): r.measured
            for r in ledger.records("throughput")
        }

    def data_s(self, problem: str) -> float | None:
        """Seconds per generated instance."""
        return self._data.get(problem)

    def encoder_s(self, problem: str, features: str) -> float | None:
        """Seconds per encoder."""
        return self._encoders.get((problem, features))

    def run(self, problem: str, method: str, features: str) -> RunCost:
        """Cost of a run."""
        rates = self._rates[problem, method, features]
        starts = 1 if problem_class(problem).compared_start is None else 2
        return RunCost(
            rates["space_s"],
            1.0 / rates["steps_per_s"],
            starts * rates["episode_steps"] / rates["decisions_per_s"],
            "short run",
        )
