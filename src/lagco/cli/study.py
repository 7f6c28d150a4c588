"""The studies of the paper: `study generalization`, `scalability`, `tune`, `training-time`,
`embeddings`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lagco.cli.output import AsJson, print_facts, print_json, print_table
from lagco.cli.study_output import cell, print_estimate, print_generalization, print_status
from lagco.errors import UsageError

if TYPE_CHECKING:
    from lagco.study.driver import Watch


def add_commands(app: typer.Typer) -> None:
    """Add the command group of this module."""
    group = typer.Typer(help="Run the paper's experiments; what is done is not done again.")
    group.command()(generalization)
    group.command()(scalability)
    group.command()(tune)
    group.command("training-time")(training_time)
    group.command()(embeddings)
    app.add_typer(group, name="study")


Out = Annotated[Path, typer.Option(help="Folder of the ledger.")]
Preset = Annotated[str, typer.Option(help="default, paper, smoke or tiny.")]
ShowStatus = Annotated[bool, typer.Option("--status", help="Say where the study stands.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and how long.")]
EngineName = Annotated[str, typer.Option("--engine", help="local or ray.")]
Address = Annotated[str | None, typer.Option(help="Of a Ray cluster, such as auto.")]
Workers = Annotated[int | None, typer.Option(help="Processes; one per core by default.")]
Problems = Annotated[str | None, typer.Option(help="Names or module:Class, with commas.")]
Methods = Annotated[str | None, typer.Option(help="Methods with commas.")]
Features = Annotated[str | None, typer.Option(help="Feature sets with commas: full, paper.")]
Instances = Annotated[int | None, typer.Option(help="Instances per problem.")]
Sizes = Annotated[str | None, typer.Option(help="Sizes of instances, as in lagco generate.")]
Sweeps = Annotated[int | None, typer.Option(help="Sweeps of the references.")]
Episodes = Annotated[int | None, typer.Option(help="Episodes per test instance.")]


def generalization(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Methods = None,
    strategies: Annotated[
        str | None, typer.Option(help="small, medium, large, varied, with commas.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Training seeds with commas.")] = None,
    features: Features = None,
    steps: Annotated[str | None, typer.Option(help="Steps per run; several with commas.")] = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    episodes: Episodes = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    status: ShowStatus = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Train on few instances, test on all others: every problem, method, strategy and seed."""
    given = {
        "problems": _names(problems),
        "methods": _names(methods),
        "strategies": _names(strategies),
        "seeds": _numbers(seeds, "--seeds"),
        "features": _names(features),
        "steps": _numbers(steps, "--steps"),
        "instances": instances,
        "sizes": sizes,
        "sweeps": sweeps,
        "episodes": episodes,
    }
    if not _run("generalization", out, preset, given, engine, address, workers, status, dry_run):
        return
    from lagco.study import Ledger, generalization_table

    rows = generalization_table(Ledger(out), ("score", "solver_score", "gap"), ("best",))
    if as_json:
        print_json(rows)
    else:
        print_generalization(rows)


def scalability(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Annotated[
        str | None, typer.Option(help="projection, soft-projection, iterative, faiss-flat.")
    ] = None,
    features: Features = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes with commas, for all problems.")] = None,
    decisions: Annotated[int | None, typer.Option(help="Decisions to time per size.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Spent on a size at most.")] = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Annotated[int | None, typer.Option(help="Processes; one by default.")] = None,
    status: ShowStatus = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Time whole decisions and their parts over growing sizes, and fit power laws."""
    given = {
        "problems": _names(problems),
        "methods": _names(methods),
        "features": _names(features),
        "sizes": _numbers(sizes, "--sizes"),
        "decisions": decisions,
        "seconds": seconds,
    }
    if not _run("scalability", out, preset, given, engine, address, workers, status, dry_run):
        return
    from lagco.study import Ledger, scaling

    rows = scaling(Ledger(out))
    if as_json:
        print_json(rows)
        return
    columns = ("problem", "method", "part", "exponent", "95 %", "R2", "up to", "paper")
    cells = [
        (
            row["problem"],
            row["method"],
            row["part"],
            f"{row['alpha']:.2f}",
            f"[{row['low']:.2f}, {row['high']:.2f}]",
            f"{row['r2']:.2f}",
            row["largest"],
            cell(row["paper_alpha"]),
        )
        for row in rows
        if row["part"] in ("decision", "selection")
    ]
    print_table("time of a decision over size", columns, cells)


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
    steps: Annotated[int | None, typer.Option(help="Steps per trial.")] = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    episodes: Episodes = None,
    measure: Annotated[str | None, typer.Option(help="What is made large.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of search and trials.")] = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    status: ShowStatus = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Search for hyper-parameters (TPE), judged on validation instances apart from the test."""
    given = {
        "problems": _names(problems),
        "spaces": _names(spaces),
        "features": _names(features),
        "trials": trials,
        "batch": batch,
        "steps": steps,
        "instances": instances,
        "sizes": sizes,
        "sweeps": sweeps,
        "episodes": episodes,
        "measure": measure,
        "seed": seed,
    }
    if not _run("tune", out, preset, given, engine, address, workers, status, dry_run):
        return
    from lagco.study import Ledger

    found = Ledger(out).records("tune")
    if as_json:
        print_json([{"spec": dict(r.spec), "result": dict(r.result)} for r in found])
        return
    for record in found:
        best, measure_name = record.result["best"], record.spec["measure"]
        facts = {
            f"{measure_name}, validation": best["value"],
            f"{measure_name}, test": best["test"]["unseen"][measure_name]["best"],
            "trial": f"{best['number']} of {len(record.result['trials'])}",
            **best["params"],
        }
        typer.echo(f"{record.spec['problem']}, {record.spec['space']}:")
        print_facts(facts)


def training_time(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    methods: Methods = None,
    features: Features = None,
    steps: Annotated[int | None, typer.Option(help="Steps to time.")] = None,
    instances: Instances = None,
    sizes: Sizes = None,
    sweeps: Sweeps = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Annotated[int | None, typer.Option(help="Processes; one by default.")] = None,
    status: ShowStatus = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Time training and testing of every method, and CartPole beside it."""
    given = {
        "problems": _names(problems),
        "methods": _names(methods),
        "features": _names(features),
        "steps": steps,
        "instances": instances,
        "sizes": sizes,
        "sweeps": sweeps,
    }
    if not _run("training-time", out, preset, given, engine, address, workers, status, dry_run):
        return
    from lagco.study import Ledger

    rows = [
        {**{n: r.spec[n] for n in ("problem", "method", "features")}, **r.measured}
        for r in Ledger(out).records("throughput")
    ]
    if as_json:
        print_json(rows)
        return
    speeds = ("steps_per_s", "cartpole_steps_per_s", "decisions_per_s")
    columns = ("problem", "method", "features", *speeds)
    print_table("training", columns, [[cell(row[name]) for name in columns] for row in rows])


def embeddings(
    out: Out,
    preset: Preset = "default",
    problems: Problems = None,
    features: Features = None,
    size: Annotated[int | None, typer.Option(help="Size of the instances.")] = None,
    instances: Instances = None,
    shown: Annotated[int | None, typer.Option(help="Instances to draw.")] = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    status: ShowStatus = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Measure (cmp@k) and project action spaces; compare encoders with random ones."""
    given = {
        "problems": _names(problems),
        "features": _names(features),
        "size": size,
        "instances": instances,
        "shown": shown,
    }
    if not _run("embeddings", out, preset, given, engine, address, workers, status, dry_run):
        return
    from lagco.study import Ledger

    rows = []
    for record in Ledger(out).records("embedding"):
        found = {
            "problem": record.spec["problem"],
            "features": record.spec["features"],
            "actions": record.result["actions"],
        }
        found |= {f"cmp@{k}": v for k, v in record.result["cmp"].items()}
        found |= {f"random cmp@{k}": v for k, v in record.result["cmp_random"].items()}
        rows.append(found)
    if as_json:
        print_json(rows)
    elif rows:
        print_table("action spaces", rows[0], [[cell(v) for v in row.values()] for row in rows])


# -- what the commands have in common


def _run(
    name: str,
    out: Path,
    preset: str,
    given: dict[str, Any],
    engine: str,
    address: str | None,
    workers: int | None,
    status: bool,
    dry_run: bool,
) -> bool:
    """Run a study, or say where it stands or what it would take; False if it was not run."""
    from lagco.study.running import run_study, study_of, study_status

    study = study_of(name)
    chosen = preset != "default" or any(value is not None for value in given.values())
    if status:
        settings = study.settings.of(preset, **given) if chosen else None
        print_status(study_status(name, out, settings, workers))
        return False
    settings = study.settings.of(preset, **given)
    if dry_run:
        _print_plan(name, out, settings, engine, address, workers)
        return False
    with _progress(name) as bar:
        run_study(
            name,
            out,
            settings,
            engine=engine,
            workers=workers,
            address=address,
            watch=_watch(bar, name),
        )
    return True


def _progress(name: str) -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _watch(bar: Progress, name: str) -> Watch:
    task = bar.add_task(name, total=None)

    def watch(seen: Any) -> None:
        failed = f", {seen.failed} failed" if seen.failed else ""
        text = f"{name}{failed}: {seen.last}" if seen.last else f"{name}{failed}"
        bar.update(task, total=seen.total, completed=seen.done + seen.failed, description=text)

    return watch


def _print_plan(
    name: str, out: Path, settings: Any, engine: str, address: str | None, workers: int | None
) -> None:
    from contextlib import closing

    from lagco.study import Ledger
    from lagco.study.engines import engine_of
    from lagco.study.estimating import estimate
    from lagco.study.running import study_of

    ledger = Ledger(out)
    tasks = {task.key: task for task in study_of(name).plan(settings, ledger)}
    counts: dict[str, int] = {}
    for task in tasks.values():
        if not ledger.has(task):
            counts[task.kind] = counts.get(task.kind, 0) + 1
    print_table("to do", ("kind", "tasks"), counts.items())
    if name != "generalization":
        return
    with closing(engine_of(engine, workers, address)) as made, _progress("rates") as bar:
        found = estimate(settings, made, _watch(bar, "measuring rates"))
        print_estimate(settings, found, made.workers)


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    names = _names(text)
    if names is None:
        return None
    try:
        return tuple(int(name) for name in names)
    except ValueError:
        raise UsageError(f"{option} {text}: whole numbers with commas, such as 42,100") from None
