"""Estimates: what a study has still to do, and how long that takes."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lagco.study.engines import Engine
from lagco.study.execute import Watch, last_settings, run_study
from lagco.study.ledger import Ledger, Record
from lagco.study.plan import plan_study
from lagco.study.settings import GeneralizationSettings, Settings, ThroughputSettings
from lagco.study.task import Plan, Task


def to_do(settings: Settings, ledger: Ledger) -> dict[str, int]:
    """Number of tasks by kind that a study lacks, those included that follow from others."""
    plan = plan_study(settings, ledger)
    counts = Counter(task.kind for task in plan.tasks if not ledger.has(task))
    return dict(counts + Counter(plan.later))


# -- where a study stands


@dataclass(frozen=True)
class Status:
    """State of a plan.

    Attributes:
        done: finished tasks.
        running: tasks that a process works on now: name, host, share done where it is known, and
            seconds since its last sign of life.
        failed: name and error of tasks that failed the last time.
        waiting: tasks not begun.
        total: all of them.
        seconds_left: estimate for the tasks that can be specified, over the workers that are at it
            (at least one); None without a finished task to judge by.
    """

    done: int
    running: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    waiting: int
    total: int
    seconds_left: float | None


def status_of(ledger: Ledger, plan: Plan, workers: int | None = None) -> Status:
    """State of a plan, seen from its folder."""
    times = _Times()
    left: list[tuple[Task, float]] = []
    done, running, failed = 0, [], []
    waiting = sum(plan.later.values())
    for task in plan.tasks:
        record = ledger.get(task)
        if record is not None:
            done += 1
            times.add(task, float(record.measured.get("seconds", 0.0)))
            continue
        share = 0.0
        holder = ledger.claims.holder(task.claim)
        failure = ledger.failure(task)
        if holder is not None:
            share = _share(ledger, task)
            entry = {"name": task.name, "host": holder.get("host"), "share": share}
            running.append(entry | {"silent_s": ledger.claims.age(task.claim)})
        elif failure is not None:
            failed.append({"name": task.name, "error": failure.get("error")})
        else:
            waiting += 1
        left.append((task, 1.0 - share))
    expected = [(times.expect(task), share) for task, share in left]
    known = [seconds * share for seconds, share in expected if seconds is not None]
    seconds_left = sum(known) / max(workers or len(running), 1) if known or not left else None
    return Status(done, running, failed, waiting, len(plan), seconds_left)


class _Times:
    """Seconds of finished tasks, by what tasks have in common; the closest match is taken."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], list[float]] = {}

    def add(self, task: Task, seconds: float) -> None:
        for trait in _traits(task):
            self._known.setdefault(trait, []).append(seconds)

    def expect(self, task: Task) -> float | None:
        for trait in _traits(task):
            if trait in self._known:
                return median(self._known[trait])
        return None


def _traits(task: Task) -> list[tuple[Any, ...]]:
    method = task.spec.get("config", {}).get("method") or task.spec.get("method")
    problem = task.spec["problem"]
    return [(task.kind, method, problem), (task.kind, method), (task.kind, problem), (task.kind,)]


def _share(ledger: Ledger, task: Task) -> float:
    """Share of a training run that is done, read off its curve."""
    steps = task.spec.get("config", {}).get("steps")
    if not steps:
        return 0.0
    try:
        last = (ledger.folder(task) / "progress.csv").read_text().splitlines()[-1]
        return min(1.0, int(last.split(",")[0]) / int(steps))
    except (OSError, ValueError, IndexError):
        return 0.0


def study_status(
    study: str, out: str | Path, settings: Settings | None = None, workers: int | None = None
) -> Status:
    """State of a study; without settings, of the one that was started last in the folder."""
    ledger = Ledger(out)
    plan = plan_study(settings or last_settings(study, out), ledger)
    return status_of(ledger, plan, workers)


# -- how long a generalisation study takes, from rates measured now

#: environment steps that are timed per problem and method, and instances they are timed on
_STEPS, _INSTANCES = 2048, 6


@dataclass(frozen=True)
class Estimate:
    """Time that a generalisation study will take on one worker.

    Attributes:
        runs: training runs.
        seconds: of all tasks, by what is done: ``data``, ``encoders``, and every method.
        rows: per problem and method: ``runs``, ``steps_per_s``, ``train_s`` and ``test_s``.
    """

    runs: int
    seconds: dict[str, float]
    rows: list[dict[str, Any]]

    @property
    def methods(self) -> list[str]:
        """Methods that take part."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def slowest(self) -> str:
        """The method that takes longest."""
        return max(self.methods, key=lambda method: self.seconds[method])

    def hours(self, workers: int, *, without: str = "") -> float:
        """Hours on so many workers, leaving one method out."""
        total = sum(seconds for name, seconds in self.seconds.items() if name != without)
        return total / 3600.0 / workers


def estimate(
    settings: GeneralizationSettings, engine: Engine, watch: Watch | None = None
) -> Estimate:
    """Measure short runs of every method on every problem, and add up the whole study."""
    timed = ThroughputSettings(
        problems=settings.problems,
        methods=settings.methods,
        features=settings.features,
        steps=_STEPS,
        instances=_INSTANCES,
        sizes=settings.sizes,
        sweeps=settings.sweeps,
        training=settings.training,
        config=settings.config,
        pretraining=settings.pretraining,
        cartpole=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        ledger = run_study(timed, folder, engine=engine, watch=watch)
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
