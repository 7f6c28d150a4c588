"""The studies of the paper, one command each; their options are the fields of their settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lagco.cli.declared import declared_options, set_parameters
from lagco.cli.lazy import lazy_group, single_command
from lagco.cli.options import CONTEXT, kept, names, whole_numbers
from lagco.cli.output import AsJson, print_json, print_table
from lagco.cli.studies.study_output import RESULTS, print_estimate, print_status
from lagco.errors import UsageError

if TYPE_CHECKING:
    from lagco.study import Ledger
    from lagco.study.settings import Settings

#: the studies in order, and what they do
STUDIES = {
    "generalization": "Train on few instances, test on all others.",
    "scalability": "Time whole decisions over growing sizes, and fit power laws.",
    "tune": "Search for hyper-parameters.",
    "training-time": "Time full training runs, one after the other.",
    "throughput": "Measure the steps per second of training and testing.",
    "embeddings": "Measure and project action spaces.",
}
#: what is done with the folder of a study
FILES = {
    "export": "Write the records of a study to one compressed file.",
    "import": "Go on from the records of an exported file.",
}

Out = Annotated[Path, typer.Option(help="Folder of the ledger.")]
Preset = Annotated[str, typer.Option(help="default, paper, smoke or tiny.")]
Engine = Annotated[str, typer.Option(help="local or ray.")]
Address = Annotated[str | None, typer.Option(help="Address of a Ray cluster, such as auto.")]
Workers = Annotated[
    int | None, typer.Option(help="Number of processes. Default: the study chooses.")
]
Status = Annotated[bool, typer.Option("--status", help="Show progress.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done, and for how long.")
]
#: options of every study, with their defaults, after those of its settings
_COMMON: dict[str, tuple[Any, Any]] = {
    "engine": (Engine, "local"),
    "address": (Address, None),
    "workers": (Workers, None),
    "status": (Status, False),
    "dry_run": (DryRun, False),
    "as_json": (AsJson, False),
}


def _load(name: str) -> Any:
    """A command, made from the settings of its study."""
    return single_command(name, _FILES[name] if name in FILES else _command(name))


group = typer.Typer(
    cls=lazy_group("study", STUDIES | FILES, _load),
    help="Run the paper's experiments. Finished tasks are not repeated.",
    no_args_is_help=True,
    context_settings=CONTEXT,
    add_completion=False,
)


@group.callback()
def _study() -> None:
    """Run the paper's experiments. Finished tasks are not repeated."""


def _export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("records.jsonl.xz"),
    name: Annotated[
        str | None, typer.Option(help="Name of the study. Default: that of DIR.")
    ] = None,
) -> None:
    """Write the records of a study to one compressed file.

    lagco report makes the same page from it as from the folder, without drawn episodes. Machines
    are numbered instead of named.
    """
    from lagco.study import export

    made = export(folder, out, name=name)
    typer.echo(f"{made} ({made.stat().st_size / 1e6:.1f} MB)")


def _import(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written by lagco study export.")],
    out: Out,
) -> None:
    """Add the records of an exported file to the folder of a study.

    The study continues from there: what has a record is not done again. Data sets and encoders that
    new tasks need are made again.
    """
    from lagco.study import import_records

    added = import_records(file, out)
    typer.echo(f"{added} records added to {out}")


_FILES: dict[str, Callable[..., None]] = {"export": _export, "import": _import}


def _command(study: str) -> Callable[..., None]:
    """Function of a study whose parameters are its settings and what all studies share."""
    from lagco.study.settings import settings_class

    def command(**given: Any) -> None:
        ledger = _run(study, given)
        if ledger is not None:
            rows, show = RESULTS[study]
            found = rows(ledger)
            print_json(found) if given["as_json"] else show(found)

    cls = settings_class(study)
    options = {"out": (Out, inspect.Parameter.empty), "preset": (Preset, "default")}
    set_parameters(command, options | declared_options(cls) | _COMMON)
    command.__doc__ = (inspect.getdoc(cls) or "").partition("\n\nAttributes:")[0]
    return command


# -- running


def _run(study: str, given: Mapping[str, Any]) -> Ledger | None:
    """Run a study, or show its progress or what it would take; None if it was not run.

    Args:
        study: its name.
        given: all arguments of its command.
    """
    from lagco.study import run_study, study_status
    from lagco.study.settings import settings_class

    cls = settings_class(study)
    options = {field.name: _value(field, given) for field in fields(cls) if field.name in given}
    out, how = given["out"], {name: given[name] for name in ("engine", "workers", "address")}
    if given["status"]:
        chosen = given["preset"] != "default" or any(v is not None for v in options.values())
        settings = cls.of(given["preset"], **options) if chosen else None
        print_status(study_status(study, out, settings, given["workers"]))
        return None
    settings = cls.of(given["preset"], **options)
    if given["dry_run"]:
        _print_plan(settings, out, **how)
        return None

    def done() -> str:
        try:
            status = study_status(study, out, settings, given["workers"])
        except Exception:  # modules of which the import was interrupted are not whole
            return f"what is done is kept in {out}"
        return f"{status.done} of {status.total} tasks are done and kept in {out}"

    go_on = "the same command continues, --status shows the progress"
    with kept(lambda: f"{done()}; {go_on}"):
        return run_study(settings, out, **how)


def _value(field: Field[Any], given: Mapping[str, Any]) -> Any:
    """The value of a setting; several are typed with commas."""
    text, kind = given[field.name], str(field.type)
    if text is None or not kind.startswith("tuple["):
        return text
    if kind.startswith("tuple[int"):
        return tuple(whole_numbers(field.name, text))
    if not kind.startswith("tuple[float"):
        return tuple(names(text))
    try:
        return tuple(float(part) for part in names(text))
    except ValueError:
        raise UsageError(f"{field.name}={text!r}: numbers with commas, such as 0.5,2") from None


def _print_plan(
    settings: Settings, out: Path, engine: str, workers: int | None, address: str | None
) -> None:
    from lagco.study import Ledger
    from lagco.study.planning.estimate import estimate, to_do
    from lagco.study.running.engines import engine_of

    ledger = Ledger(out)
    print_table("to do", ("kind", "tasks"), to_do(settings, ledger).items())
    with closing(engine_of(engine, workers or settings.workers, address)) as made:
        print_estimate(estimate(settings, ledger, made), made.workers)
