"""What a generalisation study will take, from rates measured now."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any

from lagco.study.driver import Watch
from lagco.study.engines import Engine
from lagco.study.ledger import Ledger, Record
from lagco.study.running import run_study
from lagco.study.settings import GeneralizationSettings, TrainingTimeSettings

#: environment steps that are timed per problem and method, and instances they are timed on
_STEPS, _INSTANCES = 2048, 6


@dataclass(frozen=True)
class Estimate:
    """What a study will take on one worker.

    Attributes:
        runs: training runs.
        seconds: of all tasks, by what is done: ``data``, ``encoders``, and every method.
        rows: per problem and method: ``runs``, ``steps_per_s``, ``train_s`` and ``test_s``.
    """

    runs: int
    seconds: dict[str, float]
    rows: list[dict[str, Any]]

    def hours(self, workers: int, *, without: str = "") -> float:
        """Hours on so many workers, leaving one method out."""
        total = sum(seconds for name, seconds in self.seconds.items() if name != without)
        return total / 3600.0 / workers


def estimate(
    settings: GeneralizationSettings, engine: Engine, watch: Watch | None = None
) -> Estimate:
    """Measure short runs of every method on every problem, and add up the whole study."""
    timed = TrainingTimeSettings(
        problems=settings.problems,
        methods=settings.methods,
        features=settings.features,
        steps=_STEPS,
        instances=_INSTANCES,
        sizes=settings.sizes,
        sweeps=settings.sweeps,
        training=settings.training,
        pretraining=settings.pretraining,
        cartpole=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        ledger = run_study("training-time", folder, timed, engine=engine, watch=watch)
        return _added_up(settings, ledger)


def _added_up(settings: GeneralizationSettings, ledger: Ledger) -> Estimate:
    runs = len(settings.strategies) * len(settings.seeds)
    seconds = {"data": 0.0, "encoders": 0.0} | dict.fromkeys(settings.methods, 0.0)
    rows = []
    for record in ledger.records("data"):
        seconds["data"] += record.measured["seconds"] * settings.instances / record.spec["n"]
    for record in ledger.records("encoder"):
        seconds["encoders"] += record.measured["seconds"] * runs
    for record in ledger.records("throughput"):
        rows += [_row(settings, record, steps, runs) for steps in settings.steps]
    for row in rows:
        seconds[row["method"]] += row["runs"] * (row["train_s"] + row["test_s"])
    return Estimate(sum(row["runs"] for row in rows), seconds, rows)


def _row(settings: GeneralizationSettings, record: Record, steps: int, runs: int) -> dict[str, Any]:
    measured = record.measured
    decisions = settings.instances * settings.episodes * measured["episode_steps"]
    return {
        "problem": record.spec["problem"],
        "method": record.spec["method"],
        "features": record.spec["features"],
        "steps": steps,
        "runs": runs,
        "steps_per_s": measured["steps_per_s"],
        "train_s": measured["space_s"] + steps / measured["steps_per_s"],
        "test_s": decisions / measured["decisions_per_s"],
    }
