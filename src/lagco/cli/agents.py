"""The command `agents`."""

from __future__ import annotations

import typer

from lagco.cli.output import AsJson, print_json, print_table


def agents(as_json: AsJson = False) -> None:
    """List the agents that come with lagco: what they were trained on, and how good they are."""
    from lagco.agents.shipped import list_agents

    found = list_agents()
    if as_json:
        print_json(found)
        return
    columns = ("problem", "method", "steps", "instances", "sizes", "measure", "greedy", "agent")
    rows = []
    for entry in found:
        sizes = f"{entry['sizes'][0]} to {entry['sizes'][1]} {entry['unit']}"
        figures = entry["figures"] or {}
        values = [_pair(figures.get(name)) for name in ("greedy", "agent")]
        about = (entry["problem"], entry["method"], entry["steps"], entry["instances"], sizes)
        rows.append((*about, figures.get("measure", "-"), *values))
    print_table("agents that come with lagco", columns, rows)
    typer.echo(
        "agent, greedy: mean of the first episode / of the best of 5 on 20 fresh instances of the "
        "paper's sizes; a gap is to the solver, in percent; see docs/results/default-agents.md"
    )
    typer.echo("lagco.load('tsp') loads one; lagco solve uses them where that is worth the time")


def _pair(values: dict[str, float] | None) -> str:
    return "-" if values is None else f"{values['first']:.2f} / {values['best']:.2f}"
