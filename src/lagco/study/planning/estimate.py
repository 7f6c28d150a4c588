"""Estimates: the tasks that a study still lacks, and the time they take."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lagco.errors import LagcoError
from lagco.store import read_text
from lagco.study.planning.costs import FinishedTasks, RunCost, ShortRuns, short_runs
from lagco.study.planning.plan import plan_study
from lagco.study.planning.search_space import read_space
from lagco.study.planning.splits import FOLDS
from lagco.study.records.ledger import Ledger
from lagco.study.running.engines import Engine
from lagco.study.running.execute import last_settings, run_study
from lagco.study.settings import (
    PACE,
    TIMED,
    GeneralizationSettings,
    ScalabilitySettings,
    Settings,
    ThroughputSettings,
    TrainingTimeSettings,
    TuneSettings,
)
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
        last = read_text(ledger.folder(task) / "progress.csv").splitlines()[-1]
        return min(1.0, int(last.split(",")[0]) / int(steps))
    except (LagcoError, ValueError, IndexError):
        return 0.0


def study_status(
    study: str, out: str | Path, settings: Settings | None = None, workers: int | None = None
) -> Status:
    """State of a study; without settings, of the one that was started last in the folder."""
    ledger = Ledger(out)
    plan = plan_study(settings or last_settings(study, out), ledger)
    return status_of(ledger, plan, workers)


# -- how long a study takes


@dataclass(frozen=True)
class Estimate:
    """Processor time that a study takes on one worker.

    Attributes:
        runs: training runs or trials.
        seconds: of all tasks, by what is done: ``data``, ``encoders``, every method, …
        rows: per problem and method: ``runs``, ``steps_per_s``, ``train_s``, ``test_s`` and
            ``source``, what they are known from.
        at_most: whether it is a limit rather than an estimate.
    """

    runs: int
    seconds: dict[str, float]
    rows: list[dict[str, Any]]
    at_most: bool = False

    @property
    def methods(self) -> list[str]:
        """Methods that take part."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def slowest(self) -> str:
        """The method that takes longest."""
        return max(self.methods, key=lambda method: self.seconds[method])

    def hours(self, workers: int, *, without: str = "") -> float:
        """Hours on a number of workers, leaving one method out."""
        total = sum(seconds for name, seconds in self.seconds.items() if name != without)
        return total / 3600.0 / workers


#: time of a look at an action space, and of its two encoders, over that of one encoder
_LOOK = 3.0


@dataclass(frozen=True)
class _Work:
    """Work of a study per problem and feature set, in units whose cost is known or measured.

    Attributes:
        runs: runs per method.
        steps: environment steps of a run; several budgets are several runs each.
        decided: instances that a run is tested on, times the episodes on each.
        encoders: encoders that are pre-trained.
        searches: policies that take as long as testing a run.
    """

    runs: dict[str, int]
    steps: tuple[int, ...]
    decided: int = 0
    encoders: float = 1.0
    searches: int = 0


def _work(settings: Settings) -> _Work:
    if isinstance(settings, GeneralizationSettings):
        runs = len(settings.strategies) * len(settings.seeds)
        return _Work(
            dict.fromkeys(settings.methods, runs),
            settings.steps,
            settings.instances * settings.episodes,
            runs,
            len(set(settings.policies) & set(TIMED)),
        )
    if isinstance(settings, TrainingTimeSettings):
        runs = len(settings.seeds)
        return _Work(dict.fromkeys(settings.methods, runs), (settings.steps,), encoders=runs)
    if isinstance(settings, TuneSettings):
        spaces = [read_space(source) for source in settings.spaces]
        trials = Counter({space.method: 0 for space in spaces})
        for space in spaces:
            trials[space.method] += settings.trials
        encoders = sum(settings.trials if space.searches_encoder else 1 for space in spaces)
        decided = settings.instances // FOLDS * settings.episodes
        return _Work(dict(trials), (settings.steps,), decided, encoders)
    if isinstance(settings, ThroughputSettings):
        return _Work(dict.fromkeys(settings.methods, 1), (settings.steps,))
    return _Work({PACE: 0}, (), encoders=_LOOK)  # embeddings


def estimate(settings: Settings, ledger: Ledger, engine: Engine, progress: bool = True) -> Estimate:
    """Add up the whole study, from the costs of finished tasks and of short runs made now.

    What the ledger holds of the same problem and method is taken from there; only the rest is
    measured. A study of decision times has a limit per size, which needs neither.
    """
    if isinstance(settings, ScalabilitySettings):
        sizes = sum(len(settings.sizes_of(problem)) for problem in settings.problems)
        tasks = sizes * len(settings.methods) * len(settings.features)
        return Estimate(0, {"decisions": tasks * settings.seconds}, [], at_most=True)
    work = _work(settings)
    finished = FinishedTasks(ledger, settings)
    lacking: dict[tuple[str, ...], list[str]] = {}
    for problem in settings.problems:
        methods = finished.lacking(problem, tuple(work.runs))
        if methods:
            lacking.setdefault(methods, []).append(problem)
    with tempfile.TemporaryDirectory() as folder:
        for methods, problems in lacking.items():
            timed = short_runs(settings, problems, methods)
            run_study(timed, folder, engine=engine, progress=progress)
        return _added_up(settings, work, finished, ShortRuns(Ledger(folder)))


def _added_up(
    settings: Settings, work: _Work, finished: FinishedTasks, short: ShortRuns
) -> Estimate:
    methods = [method for method, runs in work.runs.items() if runs]
    seconds = {"data": 0.0, "encoders": 0.0} | dict.fromkeys(methods, 0.0)
    instances = getattr(settings, "instances", 0)
    rows = []
    for problem in settings.problems:
        per_instance = finished.data_s(problem) or short.data_s(problem) or 0.0
        seconds["data"] += instances * per_instance
        for features in settings.features:
            encoder_s = finished.encoder_s(problem, features) or short.encoder_s(problem, features)
            seconds["encoders"] += work.encoders * (encoder_s or 0.0)
            for steps in work.steps:
                for method in methods:
                    cost = finished.run(problem, method, features, steps)
                    cost = cost or short.run(problem, method, features)
                    rows.append(_row(work, problem, method, features, steps, cost))
    for row in rows:
        seconds[row["method"]] += row["runs"] * (row["train_s"] + row["test_s"])
    if work.searches:
        paced = [row["test_s"] for row in rows if row["method"] == _pace_of(methods)]
        seconds["searches in equal time"] = work.searches * sum(paced) / len(work.steps)
    return Estimate(sum(row["runs"] for row in rows), seconds, rows)


def _pace_of(methods: list[str]) -> str:
    return PACE if PACE in methods else methods[0]


def _row(
    work: _Work, problem: str, method: str, features: str, steps: int, cost: RunCost
) -> dict[str, Any]:
    return {
        "problem": problem,
        "method": method,
        "features": features,
        "steps": steps,
        "runs": work.runs[method],
        "steps_per_s": 1.0 / cost.step_s,
        "train_s": cost.fixed_s + steps * cost.step_s,
        "test_s": work.decided * cost.episode_s,
        "source": cost.source,
    }
