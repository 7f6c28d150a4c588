"""The command `check`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from lagco.cli.options import SEED, Problem, Seed
from lagco.cli.output import AsJson, print_json, print_table
from lagco.results.numbers import of_things


def check(
    problem: Problem,
    seed: Seed = SEED,
    episodes: Annotated[int, typer.Option(help="Number of episodes to play.")] = 2,
    max_steps: Annotated[int, typer.Option(help="Largest number of steps per episode.")] = 200,
    as_json: AsJson = False,
) -> None:
    """Check the declaration of a problem by playing a few episodes."""
    import lagco

    findings = lagco.check(problem, seed=seed, episodes=episodes, max_steps=max_steps)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    elif findings:
        rows = [
            (f.check, f.declaration, "" if f.step is None else f.step, f.value, f.remedy)
            for f in findings
        ]
        title = f"{problem}: {of_things(len(findings), 'findings')}"
        print_table(title, ("check", "declaration", "step", "found", "what to do"), rows)
    else:
        typer.echo(f"{problem}: passes every check")
    if findings:
        raise typer.Exit(1)
