"""The command `solve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.options import INTERRUPTED, Decoder, Dpi, Neighbours, Side
from lagco.cli.output import AsJson, duration, print_facts, print_json, text
from lagco.compiled_code import is_ready
from lagco.errors import LagcoError, UsageError

#: files that could not be solved and are named
_NAMED = 10


def solve(
    file: Annotated[
        Path,
        typer.Argument(help="Instance file in any supported format, or a folder of them."),
    ],
    problem: Annotated[
        str | None,
        typer.Option(help="Problem, if the file format serves several; or module:Class."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="Who solves it: portfolio, agent, solver, greedy or random.")
    ] = "portfolio",
    agent: Annotated[
        str | None,
        typer.Option(help="Folder of an agent, or default (the one that comes with lagco)."),
    ] = None,
    decoder: Decoder = None,
    k: Neighbours = 10,
    search: Annotated[
        str, typer.Option(help="How an agent searches: sample, beam, reconstruct or auto.")
    ] = "auto",
    start: Annotated[
        str,
        typer.Option(
            help="State to start from: current (as in the file, if it has one), default or worst."
        ),
    ] = "current",
    seconds: Annotated[
        float, typer.Option(help="Time limit in seconds, including the start of the command.")
    ] = 2.0,
    turns: Annotated[
        int | None,
        typer.Option(
            help="Limit on rounds of work instead of time; gives the same answer on every machine."
        ),
    ] = None,
    improve: Annotated[
        bool | None,
        typer.Option(
            help="Improve the solutions of episodes by local search. Default: only in a portfolio."
        ),
    ] = None,
    until: Annotated[
        float | None, typer.Option(help="Stop early once the gap (in percent) is this small.")
    ] = None,
    gap_to: Annotated[
        str | None,
        typer.Option(
            help="Value that gaps are measured against: reference or bound. Default: the "
            "reference, if the file has one."
        ),
    ] = None,
    demands: Annotated[
        Path | None, typer.Option(help="Demand matrix (CSV) for a topology file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 42,
    workers: Annotated[int, typer.Option(help="Number of processes that search.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the solution; for a folder, a CSV file for all results."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="File for a picture of the solution and of the best value over time "
            "(png, svg, pdf)."
        ),
    ] = None,
    side: Side = 4.0,
    dpi: Dpi = 128,
    trace: Annotated[
        Path | None, typer.Option(help="CSV file for the best value over time.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve an instance file, or a folder of them, within a time limit."""
    import lagco

    options: dict[str, Any] = {
        "problem": problem,
        "by": by,
        "agent": agent,
        "decoder": decoder,
        "k": k,
        "search": search,
        "start": start,
        "seconds": seconds,
        "turns": turns,
        "improve": improve,
        "until": until,
        "gap_to": gap_to,
        "demands": demands,
        "seed": seed,
        "workers": workers,
    }
    if file.is_dir():
        _solve_folder(file, out, options, refused={"--plot": plot, "--trace": trace})
        return
    _check_files(file, {"--out": out, "--plot": plot, "--trace": trace})
    if plot is not None:
        from lagco.core.picture import check_picture

        check_picture(plot, side, dpi)
    if agent not in (None, "default") and not Path(str(agent)).exists():
        # a short portfolio may end before it loads the agent, and would not notice
        raise UsageError(f"--agent {agent}: no such folder; lagco train makes agents")
    if not is_ready():
        typer.echo(
            "The first call compiles code, which takes a minute or two; `lagco warm` does it for "
            "all problems at once.",
            err=True,
        )
    answer = lagco.solve(file, **options, since=lagco.BEGAN)
    _print(answer.as_dict(), as_json)  # first, so that the answer is not lost if a file is
    if out is not None:
        from lagco.instances.formats import write_solution

        write_solution(answer.instance, answer.solution, out)
    if trace is not None:
        answer.write_curve(trace)
    if plot is not None:
        answer.draw(plot, side=side, dpi=dpi)
    if not as_json:
        written = {"solution": out, "curve": trace, "picture": plot}
        for what, path in written.items():
            if path is not None:
                typer.echo(f"{what} written to {path}")
    if answer.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_files(file: Path, written: dict[str, Path | None]) -> None:
    """Refuse to write over the instance, two results to one file, or where nothing can be written.

    A search is long, and its answer should not be lost for want of a file.
    """
    from lagco.store import check_writable

    taken = {file.resolve(): "the instance"}
    for option, path in written.items():
        if path is not None:
            what = taken.setdefault(path.resolve(), option)
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
            f"{len(failed)} of {tried} files could not be solved: {named}; {out} has the reasons, "
            "and the same command tries them again"
        )


def _sizes(found: dict[str, Any]) -> dict[str, str]:
    """Size and objective with what they count, where that is known."""
    from lagco.registration import ENTRIES

    entry = ENTRIES.get(found["problem"])
    size, objective = str(found["size"]), text(found["objective"])
    if entry is not None and entry.objective:
        size, objective = f"{size} {entry.unit}", f"{objective} ({entry.objective})"
    return {"size": size, "objective": objective}


def _print(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    shown = {name: found[name] for name in ("problem", "instance")} | _sizes(found)
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
    if len(found["shares"]) > 1:
        whole = sum(found["shares"].values()) or 1.0
        shown["shares"] = ", ".join(
            f"{name} {100 * share / whole:.0f} %" for name, share in found["shares"].items()
        )
    if found["episodes"]:
        shown["episodes"] = found["episodes"]
    print_facts(shown)
    for note in found["notes"]:
        typer.echo(f"note: {note}")
