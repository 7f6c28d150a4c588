"""The studies of the paper, one command each; their options are the fields of their settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from lagco.cli.lazy import lazy_group, single_command
from lagco.cli.options import CONTEXT, INTERRUPTED, names, whole_number, whole_numbers
from lagco.cli.output import AsJson, print_json, print_table
from lagco.cli.study_output import RESULTS, print_estimate, print_status
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
Workers = Annotated[int | None, typer.Option(help="Number of processes; the study chooses.")]
Status = Annotated[bool, typer.Option("--status", help="Say where the study stands.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and how long.")]
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
    help="Run the paper's experiments; what is done is not done again.",
    no_args_is_help=True,
    context_settings=CONTEXT,
    add_completion=False,
)


@group.callback()
def _study() -> None:
    """Run the paper's experiments; what is done is not done again."""


def _export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.")],
    out: Annotated[Path, typer.Option(help="The file.")] = Path("records.jsonl.xz"),
    name: Annotated[str | None, typer.Option(help="Name of the study; else that of DIR.")] = None,
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

    The study goes on from there: what has a record is not done again. Data sets and encoders that
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
    about, hints = _sentences(cls), get_type_hints(cls)
    options: dict[str, tuple[Any, Any]] = {"out": (Out, inspect.Parameter.empty)}
    options["preset"] = (Preset, "default")
    for field in fields(cls):
        if not str(field.type).startswith("Mapping"):
            options[field.name] = _option(field, hints[field.name], about.get(field.name, ""))
    options |= _COMMON
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter(name, keyword, default=default, annotation=hint)
            for name, (hint, default) in options.items()
        ]
    )
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: hint for name, (hint, _) in options.items()}
    command.__doc__ = (inspect.getdoc(cls) or "").partition("\n\nAttributes:")[0]
    return command


def _sentences(cls: type) -> dict[str, str]:
    """Descriptions of attributes, from the docstrings of a class and its parents."""
    found: dict[str, str] = {}
    for kind in reversed(cls.__mro__):
        _, _, section = (inspect.getdoc(kind) or "").partition("Attributes:\n")
        for name, words in re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.M):
            found[name] = " ".join(words.split())
    return found


def _option(field: Field[Any], hint: Any, about: str) -> tuple[Any, Any]:
    """Annotation and default of an option; None stands for the preset's value."""
    about = about[:1].upper() + about[1:]
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    shown = ", ".join(map(str, default)) if isinstance(default, tuple) else default
    if shown is not None:
        about = f"{about} [default: {shown}]".replace("[default", r"\[default")
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    if hint is bool:
        return Annotated[bool | None, typer.Option(help=about)], None
    if kinds == [int]:
        return Annotated[
            int | None, typer.Option(help=about, parser=whole_number, metavar="INTEGER")
        ], None
    kind: Any = float if kinds == [float] else str
    return Annotated[kind | None, typer.Option(help=about)], None


# -- running


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
    try:
        return run_study(settings, out, **how)
    except KeyboardInterrupt:
        try:
            status = study_status(study, out, settings, given["workers"])
            done = f"{status.done} of {status.total} tasks are done and kept in {out}"
        except Exception:  # modules of which the import was interrupted are not whole
            done = f"what is done is kept in {out}"
        typer.echo(
            f"stopped: {done}; the same command goes on from there, --status says where it stands",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


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
    from lagco.study.engines import engine_of
    from lagco.study.estimate import estimate, to_do

    ledger = Ledger(out)
    print_table("to do", ("kind", "tasks"), to_do(settings, ledger).items())
    with closing(engine_of(engine, workers or settings.workers, address)) as made:
        print_estimate(estimate(settings, ledger, made), made.workers)
