"""The command `solve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lagco.cli.answers.changes import print_changes, print_stuck
from lagco.cli.declared import declare_command
from lagco.cli.options import Dpi, Side
from lagco.cli.output import (
    AsJson,
    duration,
    print_facts,
    print_json,
    refused_by_reader,
    text,
)
from lagco.errors import LagcoError, UsageError
from lagco.results.numbers import of_things
from lagco.runtime.compiled_code import is_ready
from lagco.runtime.stopping import exit_code, stopping
from lagco.solving.options import SolveOptions

if TYPE_CHECKING:
    from lagco.solving.answer import Answer

#: files that could not be solved and are named
_NAMED = 10
#: seconds of compiling from which on they are shown
_NOTED = 0.5


def solve(
    file: Annotated[
        Path,
        typer.Argument(help="Instance file in any supported format, or a folder of them."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File for the solution; for a folder, a CSV file for all results."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="File for a picture of the solution and of the best value over time, or of the "
            "trade-off (png, svg, pdf)."
        ),
    ] = None,
    side: Side = 4.0,
    dpi: Dpi = 128,
    trace: Annotated[
        Path | None, typer.Option(help="CSV file for the best value over time.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="CSV file for the changes in an order in which they can be made one by one."
        ),
    ] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Solve an instance file, or a folder of them, within a time limit."""
    options = {name: value for name, value in given.items() if value not in (None, [])}
    SolveOptions(**options)  # refuses what does not fit together
    if file.is_dir():
        _solve_folder(
            file, out, options, refused={"--plot": plot, "--trace": trace, "--plan": plan}
        )
        return
    _check_files(file, {"--out": out, "--plot": plot, "--trace": trace, "--plan": plan})
    if plot is not None:
        from lagco.core.pictures.files import check_picture

        check_picture(plot, side, dpi)
    import lagco

    if not is_ready():
        typer.echo(
            "The first call compiles code, which takes up to a minute and does not count as time "
            "of the search; `lagco warm` does it for all problems at once.",
            err=True,
        )
    with stopping() as stop:  # a signal that comes while files are written waits for its turn
        answer = lagco.solve(file, **options, since=lagco.BEGAN, drawn=plot is not None)
        # first, so that the answer is not lost if a file is; nor are files where nobody reads
        unread = refused_by_reader(lambda: _print(answer, as_json))
        if out is not None:
            answer.write_solution(out)
        if trace is not None:
            answer.write_curve(trace)
        if plan is not None:
            answer.write_plan(plan)
        if plot is not None:
            answer.draw(plot, side=side, dpi=dpi)
        if not as_json and unread is None:
            written = {"solution": out, "curve": trace, "plan": plan, "picture": plot}
            unread = refused_by_reader(lambda: _print_written(written))
        if plan is not None and unread is None:
            unread = refused_by_reader(lambda: print_stuck(answer))
        if answer.interrupted or stop.signal is not None:
            raise typer.Exit(exit_code(stop.signal))
        if unread is not None:
            raise unread


declare_command(solve, SolveOptions)


def _print_written(written: dict[str, Path | None]) -> None:
    for what, path in written.items():
        if path is not None:
            typer.echo(f"{what} written to {path}")


def _check_files(file: Path, written: dict[str, Path | None]) -> None:
    """Refuse to write over the instance, two results to one file, or where nothing can be written.

    A search is long, and its answer should not be lost for want of a file.
    """
    from lagco.store import check_writable

    taken = {os.path.realpath(file): "the instance"}
    for option, path in written.items():
        if path is not None:
            what = taken.setdefault(os.path.realpath(path), option)
            if what != option:
                raise UsageError(f"{option} {path}: is the file of {what}; name another file")
            if path.is_dir():
                raise UsageError(f"{option} {path}: is a folder; name a file")
            check_writable(path)


def _solve_folder(
    folder: Path, out: Path | None, options: dict[str, Any], refused: dict[str, Path | None]
) -> None:
    from lagco.solving.folder import solve_folder

    for name, value in refused.items():
        if value is not None:
            raise UsageError(f"{name} {value}: works on a single file, and {folder} is a folder")
    if out is None:
        raise UsageError(f"{folder} is a folder: give --out, a CSV file for the table")
    tried, failed = 0, []
    for row in solve_folder(folder, out, **options):
        typer.echo(f"{row['file']}: {row['objective'] or row['error']}")
        tried += 1
        failed += [row["file"]] if row["error"] else []
    typer.echo(f"table written to {out}" if tried else f"nothing to do: all stand in {out}")
    if failed:
        named = ", ".join(failed[:_NAMED]) + (", …" if len(failed) > _NAMED else "")
        raise LagcoError(
            f"{len(failed)} of {of_things(tried, 'files')} could not be solved: {named}; {out} has "
            "the reasons, and the same command tries them again"
        )


def _sizes(found: dict[str, Any]) -> dict[str, str]:
    """Size and objective with what they count, where that is known."""
    from lagco.problem_table import ENTRIES

    entry = ENTRIES.get(found["problem"])
    size, objective = str(found["size"]), text(found["objective"])
    if entry is not None and entry.objective:
        size, objective = f"{size} {entry.unit}", f"{objective} ({entry.objective})"
    return {"size": size, "objective": objective}


def _print(answer: Answer, as_json: bool) -> None:
    found = answer.as_dict()
    if as_json:
        print_json(found)
        return
    shown = {name: found[name] for name in ("problem", "instance")} | _sizes(found)
    if found["before"] is not None:
        shown["before"] = text(found["before"])
        shown["changes"] = f"{len(found['changes'])} of {answer.elements}"
    shown["valid"] = "yes, checked from scratch" if found["valid"] else "no"
    if found["score"] is not None:
        shown["score"] = found["score"]
    reference, gap, bound_gap = found["reference"], found["gap"], found["bound_gap"]
    if reference is None:
        shown["gap"] = "unknown: the file has no reference value"
    elif reference["status"] != "bound" and gap is not None:
        shown["gap"] = (
            f"{gap:.2f} % to {reference['value']:.6g} ({reference['status']}, "
            f"{reference['solver']})"
        )
    if bound_gap is not None:
        proven = abs(bound_gap) <= 1e-6
        distance = f"at most {bound_gap:.2f} % from optimal (bound {found['bound']:.6g})"
        shown["proof"] = "optimal" if proven else distance
    shown["found by"] = f"{found['by']}, after {duration(found['found_after'])}"
    shown["time"] = duration(found["seconds"])
    if found["compiling"] >= _NOTED:
        shown["time"] += f", and {duration(found['compiling'])} to compile code, once"
    if len(found["shares"]) > 1:
        whole = sum(found["shares"].values()) or 1.0
        parts = {name: round(100 * share / whole) for name, share in found["shares"].items()}
        shown["shares"] = ", ".join(f"{name} {part} %" for name, part in parts.items() if part)
    if found["episodes"]:
        shown["episodes"] = found["episodes"]
    print_facts(shown)
    print_changes(answer)
    for note in found["notes"]:
        typer.echo(f"note: {note}")
