"""The studies of the paper: `study generalization`, `scalability`, `tune`, `training-time`,
`throughput`, `embeddings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lagco.cli.output import AsJson, print_json, print_table
from lagco.cli.study_output import (
    print_embeddings,
    print_estimate,
    print_generalization,
    print_rates,
    print_scaling,
    print_searches,
    print_status,
    print_training_times,
    progress_bar,
    watch_by,
)
from lagco.errors import UsageError

if TYPE_CHECKING:
    from lagco.study import Ledger
    from lagco.study.settings import Settings


def add_commands(app: typer.Typer) -> None:
    """Add the command group of this module."""
    group = typer.Typer(help="Run the paper's experiments; what is done is not done again.")
    group.command()(generalization)
    group.command()(scalability)
    group.command()(tune)
    group.command("training-time")(training_time)
    group.command()(throughput)
    group.command()(embeddings)
    app.add_typer(group, name="study")


Out = Annotated[Path, typer.Option(help="Folder of the ledger.")]
Preset = Annotated[str, typer.Option(help="default, paper, smoke or tiny.")]
Status = Annotated[bool, typer.Option("--status", help="Say where the study stands.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and how long.")]
Engine = Annotated[str, typer.Option(help="local or ray.")]
Address = Annotated[str | None, typer.Option(help="Of a Ray cluster, such as auto.")]
Workers = Annotated[int | None, typer.Option(help="Processes; one per core by default.")]
OneWorker = Annotated[int | None, typer.Option(help="Processes; one by default.")]
Problems = Annotated[str | None, typer.Option(help="Names or module:Class, with commas.")]
Methods = Annotated[str | None, typer.Option(help="Methods with commas.")]
Features = Annotated[str | None, typer.Option(help="Feature sets with commas: full, paper.")]
Seeds = Annotated[str | None, typer.Option(help="Training seeds with commas.")]
Steps = Annotated[int | None, typer.Option(help="Environment steps of a run or trial.")]
Instances = Annotated[int | None, typer.Option(help="Instances per problem.")]
Sizes = Annotated[str | None, typer.Option(help="Sizes of instances, as in lagco generate.")]
Sweeps = Annotated[int | None, typer.Option(help="Sweeps of the references.")]
Episodes = Annotated[int | None, typer.Option(help="Episodes per test instance.")]
Training = Annotated[str | None, typer.Option(help="Training values: default or paper.")]


def generalization(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Methods = None,
    strategies: Annotated[
        str | None, typer.Option(help="small, medium, large, varied, with commas.")
    ] = None,
    seeds: Seeds = None,
    features: Features = None,
    steps: Annotated[str | None, typer.Option(help="Steps per run; several with commas.")] = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    episodes: Episodes = None,
    training: Training = None,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    status: Status = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Train on few instances, test on all others: every problem, method, strategy and seed."""
    ledger = _run("generalization", locals())
    if ledger is not None:
        from lagco.study import generalization_table

        rows = generalization_table(ledger, ("score", "solver_score", "gap"), ("best",))
        _show(rows, as_json, print_generalization)


def scalability(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods that look for an action among all, or faiss-flat; with commas."),
    ] = None,
    features: Features = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes with commas, for all problems.")] = None,
    decisions: Annotated[int | None, typer.Option(help="Decisions to time per size.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Spent on a size at most.")] = None,
    engine: Engine = "local",
    address: Address = None,
    workers: OneWorker = None,
    status: Status = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Time whole decisions and their parts over growing sizes, and fit power laws."""
    ledger = _run("scalability", locals())
    if ledger is not None:
        from lagco.study import scaling

        rows = scaling(ledger)
        _show(rows, as_json, print_scaling)


def tune(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    spaces: Annotated[
        str | None,
        typer.Option(help="discrete, projection, iterative, gae, or TOML files, with commas."),
    ] = None,
    features: Features = None,
    trials: Annotated[int | None, typer.Option(help="Trials per space.")] = None,
    batch: Annotated[int | None, typer.Option(help="Trials that are chosen together.")] = None,
    steps: Steps = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    episodes: Episodes = None,
    training: Training = None,
    measure: Annotated[str | None, typer.Option(help="What is made large.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of search and trials.")] = None,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    status: Status = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Search for hyper-parameters (TPE), judged on validation instances apart from the test."""
    ledger = _run("tune", locals())
    if ledger is not None:
        rows = [{"spec": dict(r.spec), "result": dict(r.result)} for r in ledger.records("tune")]
        _show(rows, as_json, print_searches)


def training_time(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Methods = None,
    seeds: Seeds = None,
    features: Features = None,
    steps: Steps = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    training: Training = None,
    engine: Engine = "local",
    address: Address = None,
    workers: OneWorker = None,
    status: Status = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Time full training runs on varied instances, one after the other, as in the paper."""
    ledger = _run("training-time", locals())
    if ledger is not None:
        from lagco.study import training_times

        rows = training_times(ledger)
        _show(rows, as_json, print_training_times)


def throughput(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Methods = None,
    features: Features = None,
    steps: Annotated[int | None, typer.Option(help="Steps to time.")] = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    training: Training = None,
    engine: Engine = "local",
    address: Address = None,
    workers: OneWorker = None,
    status: Status = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Measure steps per second of training and testing of every method, CartPole beside it."""
    ledger = _run("throughput", locals())
    if ledger is not None:
        rows = [
            {**{n: r.spec[n] for n in ("problem", "method", "features")}, **r.measured}
            for r in ledger.records("throughput")
        ]
        _show(rows, as_json, print_rates)


def embeddings(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    features: Features = None,
    size: Annotated[int | None, typer.Option(help="Size of the instances.")] = None,
    instances: Instances = None,
    shown: Annotated[int | None, typer.Option(help="Instances to draw.")] = None,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    status: Status = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Measure (cmp@k) and project action spaces; compare encoders with random ones."""
    ledger = _run("embeddings", locals())
    if ledger is not None:
        rows = []
        for record in ledger.records("embedding"):
            found = {name: record.spec[name] for name in ("problem", "features")}
            found["actions"] = record.result["actions"]
            found |= {f"cmp@{k}": v for k, v in record.result["cmp"].items()}
            found |= {f"random cmp@{k}": v for k, v in record.result["cmp_random"].items()}
            rows.append(found)
        _show(rows, as_json, print_embeddings)


# -- what the commands have in common


def _run(study: str, given: Mapping[str, Any]) -> Ledger | None:
    """Run a study, or say where it stands or what it would take; None if it was not run.

    Args:
        study: its name.
        given: all arguments of its command.
    """
    from lagco.study import run_study, study_status
    from lagco.study.settings import settings_class

    cls = settings_class(study)
    options = {field.name: _value(field, given) for field in fields(cls) if field.name in given}
    if given["status"]:
        chosen = given["preset"] != "default" or any(v is not None for v in options.values())
        settings = cls.of(given["preset"], **options) if chosen else None
        print_status(study_status(study, given["out"], settings, given["workers"]))
        return None
    settings = cls.of(given["preset"], **options)
    how = {name: given[name] for name in ("engine", "workers", "address")}
    if given["dry_run"]:
        _print_plan(settings, given["out"], **how)
        return None
    with progress_bar() as bar:
        return run_study(settings, given["out"], watch=watch_by(bar, study), **how)


def _show(rows: list[dict[str, Any]], as_json: bool, printer: Callable[[Any], None]) -> None:
    (print_json if as_json else printer)(rows)


def _value(field: Any, given: Mapping[str, Any]) -> Any:
    """The value of a setting; several are typed with commas."""
    text = given[field.name]
    if text is None or not str(field.type).startswith("tuple["):
        return text
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if not str(field.type).startswith("tuple[int"):
        return parts
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        raise UsageError(
            f"--{field.name} {text}: whole numbers with commas, such as 42,100"
        ) from None


def _print_plan(
    settings: Settings, out: Path, engine: str, workers: int | None, address: str | None
) -> None:
    from lagco.study import Ledger
    from lagco.study.engines import engine_of
    from lagco.study.estimate import estimate, to_do
    from lagco.study.settings import GeneralizationSettings

    print_table("to do", ("kind", "tasks"), to_do(settings, Ledger(out)).items())
    if not isinstance(settings, GeneralizationSettings):
        return
    with closing(engine_of(engine, workers, address)) as made, progress_bar() as bar:
        found = estimate(settings, made, watch_by(bar, "measuring rates"))
        print_estimate(found, made.workers)
