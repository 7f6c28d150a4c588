"""The paper's experiments, one call each, on one machine or a cluster.

>>> ledger = lagco.study.generalization("study", preset="smoke")
>>> lagco.study.generalization_table(ledger)

Everything is written to a folder (:class:`Ledger`); what is there is not done again. A study goes
one way: settings, plan, execution by an engine, ledger, tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lagco.study.planning.estimate import Estimate, Status, estimate, study_status
from lagco.study.records.archive import Snapshot, export, import_records
from lagco.study.records.ledger import Ledger, Record
from lagco.study.results.paper import paper_score, paper_tables
from lagco.study.results.tables import (
    generalization_table,
    improvement_table,
    scaling,
    training_times,
)
from lagco.study.running.engines import Engine, LocalEngine, RayEngine
from lagco.study.running.execute import Progress, StudyFailed, run_study
from lagco.study.settings import settings_class

__all__ = [
    "Engine",
    "Estimate",
    "Ledger",
    "LocalEngine",
    "Progress",
    "RayEngine",
    "Record",
    "Snapshot",
    "Status",
    "StudyFailed",
    "embeddings",
    "estimate",
    "export",
    "generalization",
    "generalization_table",
    "import_records",
    "improvement_table",
    "paper_score",
    "paper_tables",
    "run_study",
    "scalability",
    "scaling",
    "study_status",
    "throughput",
    "training_time",
    "training_times",
    "tune",
]


def generalization(out: str | Path, *, preset: str = "default", **options: Any) -> Ledger:
    """Train on few instances, test on all the others: every method, strategy and seed.

    Args:
        out: folder of the ledger.
        preset: ``default`` (the paper's protocol with our training defaults), ``paper``, ``smoke``
            or ``tiny``.
        options: ``engine`` (``local``, ``ray`` or an :class:`Engine`), ``workers``, ``address``,
            ``progress`` (whether to show how it goes) and ``watch`` (called with the
            :class:`Progress`); all others are fields of
            :class:`lagco.study.settings.GeneralizationSettings`.
    """
    return _run("generalization", out, preset, options)


def scalability(out: str | Path, *, preset: str = "default", **options: Any) -> Ledger:
    """Time whole decisions over growing sizes.

    Arguments as for :func:`generalization`; settings are those of
    :class:`lagco.study.settings.ScalabilitySettings`.
    """
    return _run("scalability", out, preset, options)


def tune(out: str | Path, *, preset: str = "default", **options: Any) -> Ledger:
    """Search for hyper-parameters.

    Arguments as for :func:`generalization`; settings are those of
    :class:`lagco.study.settings.TuneSettings`.
    """
    return _run("tune", out, preset, options)


def training_time(out: str | Path, *, preset: str = "default", **options: Any) -> Ledger:
    """Time full training runs on varied instances, as the paper does.

    Arguments as for :func:`generalization`; settings are those of
    :class:`lagco.study.settings.TrainingTimeSettings`.
    """
    return _run("training-time", out, preset, options)


def throughput(out: str | Path, *, preset: str = "default", **options: Any) -> Ledger:
    """Measure the steps per second of training and testing of every method, over a short while.

    Arguments as for :func:`generalization`; settings are those of
    :class:`lagco.study.settings.ThroughputSettings`.
    """
    return _run("throughput", out, preset, options)


def embeddings(out: str | Path, *, preset: str = "default", **options: Any) -> Ledger:
    """Measure and project action spaces, and compare encoders with random ones.

    Arguments as for :func:`generalization`; settings are those of
    :class:`lagco.study.settings.EmbeddingsSettings`.
    """
    return _run("embeddings", out, preset, options)


def _run(study: str, out: str | Path, preset: str, options: dict[str, Any]) -> Ledger:
    names = ("engine", "workers", "address", "progress", "watch")
    how = {name: options.pop(name) for name in names if name in options}
    return run_study(settings_class(study).of(preset, **options), out, **how)
