"""The studies by name, and what can be done with one: run it, ask where it stands."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lagco
from lagco.errors import LagcoError, UsageError, suggest
from lagco.registration import ENTRIES
from lagco.study.driver import Progress, Status, Watch, carry_out, status_of
from lagco.study.engines import Engine, engine_of
from lagco.study.ledger import NOTE, Ledger
from lagco.study.plans import (
    plan_embeddings,
    plan_generalization,
    plan_scalability,
    plan_training_time,
)
from lagco.study.search import plan_tune
from lagco.study.settings import (
    EmbeddingsSettings,
    GeneralizationSettings,
    ScalabilitySettings,
    Settings,
    TrainingTimeSettings,
    TuneSettings,
)
from lagco.study.task import Task


@dataclass(frozen=True)
class Study:
    """A study: its settings and its plan.

    Attributes:
        settings: class of the settings.
        plan: all tasks that can be planned from what the ledger holds.
        workers: processes by default; None is one per core, studies that measure time use one.
    """

    settings: type[Settings]
    plan: Callable[[Any, Ledger], list[Task]]
    workers: int | None = None


STUDIES = {
    "generalization": Study(GeneralizationSettings, plan_generalization),
    "scalability": Study(ScalabilitySettings, plan_scalability, workers=1),
    "tune": Study(TuneSettings, plan_tune),
    "training-time": Study(TrainingTimeSettings, plan_training_time, workers=1),
    "embeddings": Study(EmbeddingsSettings, plan_embeddings),
}


class StudyFailed(LagcoError):
    """Some tasks of a study failed; the message lists them."""


def study_of(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise UsageError(suggest("study", name, STUDIES))
    return STUDIES[name]


def run_study(
    name: str,
    out: str | Path,
    settings: Settings,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    watch: Watch | None = None,
) -> Ledger:
    """Do everything that a study lacks.

    Raises:
        StudyFailed: when everything else is done.
    """
    study, ledger = study_of(name), Ledger(out)
    _note(ledger, name, settings)
    if not isinstance(engine, str):
        failed = _carry_out(study, settings, ledger, engine, watch)
    else:
        with closing(engine_of(engine, workers or study.workers, address)) as made:
            failed = _carry_out(study, settings, ledger, made, watch)
    if failed:
        listed = [f"{t.kind} {t.name}: {_reason(ledger, t)}" for t in failed[:10]]
        more = f"\n… and {len(failed) - 10} more" if len(failed) > 10 else ""
        raise StudyFailed(
            f"{len(failed)} task(s) failed; all that did not need them is done. Tracebacks are in "
            f"{ledger.root / 'failures'}; the same command tries them again.\n"
            + "\n".join(listed)
            + more
        )
    return ledger


def _carry_out(
    study: Study, settings: Settings, ledger: Ledger, engine: Engine, watch: Watch | None
) -> list[Task]:
    """Plan, do what is planned, and plan again while that brings up something new."""
    failed: dict[str, Task] = {}
    seen: set[str] = set()
    while True:
        tasks = study.plan(settings, ledger)
        # keys of what uses data that is not made yet are not known yet
        final = [task for task in tasks if task.spec.get("data_checksum", "") is not None]
        if seen.issuperset(task.key for task in final):
            return list(failed.values())
        seen |= {task.key for task in final}
        rest = [task for task in final if task.key not in failed]
        later = len(tasks) - len(rest)
        failed |= {t.key: t for t in carry_out(ledger, rest, engine, _shifted(watch, later))}


def _shifted(watch: Watch | None, later: int) -> Watch | None:
    if watch is None:
        return None
    return lambda seen: watch(Progress(seen.done, seen.failed, seen.total + later, seen.last))


def _reason(ledger: Ledger, task: Task) -> str:
    failure = ledger.failure(task)
    return "what it needs failed" if failure is None else str(failure.get("error"))


def study_status(
    name: str, out: str | Path, settings: Settings | None = None, workers: int | None = None
) -> Status:
    """Where a study stands; without settings, the one that was started last in the folder."""
    study, ledger = study_of(name), Ledger(out)
    chosen = settings or noted_settings(name, out)
    return status_of(ledger, study.plan(chosen, ledger), workers)


def noted_settings(name: str, out: str | Path) -> Settings:
    """The settings with which a study was last started in a folder."""
    path = _note_path(Ledger(out), name)
    if not path.exists():
        raise LagcoError(f"{path.parent.parent}: no {name} study was started here")
    settings = NOTE.read_file(path).content["settings"]
    foreign = [problem for problem in settings["problems"] if problem not in ENTRIES]
    if foreign:  # a file must not say what to import
        raise LagcoError(
            f"{path} names the problem {foreign[0]!r}, which is not one of lagco's; give the "
            "options with which the study was started"
        )
    try:
        return study_of(name).settings.of(**settings)
    except (LagcoError, TypeError) as error:
        raise LagcoError(f"{path}: {error}; {NOTE.remedy}") from error


def _note(ledger: Ledger, name: str, settings: Settings) -> None:
    content = {"study": name, "settings": settings.as_dict()}
    NOTE.write_file(_note_path(ledger, name), content, {"lagco": lagco.__version__})


def _note_path(ledger: Ledger, name: str) -> Path:
    return ledger.root / "studies" / f"{name}.json"
