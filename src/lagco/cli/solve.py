"""The command `solve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.output import AsJson, print_facts, print_json
from lagco.errors import UsageError


def solve(
    file: Annotated[Path, typer.Argument(help="An instance in any of the formats lagco reads.")],
    problem: Annotated[
        str | None, typer.Option(help="Which problem, where the file could mean several.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Folder of an agent, or default (the one lagco brings).")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Instead of an agent: greedy, solver or random.")
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(help="nearest, sampled, rule:module:function, scored or preview."),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Nearest actions the decoder sees.")] = 10,
    start: Annotated[
        str, typer.Option(help="current (what the file says, if anything), default or worst.")
    ] = "current",
    seconds: Annotated[float, typer.Option(help="Time limit.")] = 2.0,
    improve: Annotated[str, typer.Option(help="Local search afterwards: none or 2opt.")] = "none",
    demands: Annotated[
        Path | None, typer.Option(help="Demand matrix (CSV) for a topology file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of starts and samples.")] = 42,
    out: Annotated[Path | None, typer.Option(help="File for the solution.")] = None,
    plot: Annotated[Path | None, typer.Option(help="File for a picture of it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Solve an instance file within a time limit."""
    import lagco
    from lagco.core.picture import check_picture
    from lagco.instances.formats import write_solution

    if plot is not None:
        check_picture(plot)
    if out is not None and out.is_dir():
        raise UsageError(f"--out {out}: is a folder; name a file for the solution")
    answer = lagco.solve(
        file,
        problem=problem,
        agent=agent,
        policy=policy,
        decoder=decoder,
        k=k,
        start=start,
        seconds=seconds,
        improve=improve,
        demands=demands,
        seed=seed,
    )
    if out is not None:
        write_solution(answer.instance, answer.solution, out)
    if plot is not None:
        answer.draw(plot)
    found: dict[str, Any] = answer.as_dict()
    if as_json:
        print_json(found)
        return
    del found["solution"]
    reference = found.pop("reference")
    gap = found["gap"]
    found["gap"] = "no reference to compare with" if gap is None else f"{gap:.2f} %"
    if reference is not None:
        found["compared with"] = (
            f"{reference['value']:.6g} ({reference['status']}, {reference['solver']})"
        )
    notes = found.pop("notes")
    print_facts(found)
    for note in notes:
        typer.echo(f"note: {note}")
