"""The command `agents`."""

from __future__ import annotations

import typer

from lagco.cli.output import AsJson, print_json, print_table


def agents(as_json: AsJson = False) -> None:
    """List the agents that come with lagco, with their training data and results."""
    from lagco.agents.shipped import list_agents
    from lagco.problem_table import ENTRIES

    order = list(ENTRIES)
    found = sorted(list_agents(), key=lambda entry: order.index(entry["problem"]))
    if as_json:
        print_json(found)
        return
    columns = ("problem", "trained on", "of size", "measure", "greedy", "agent")
    rows = []
    for entry in found:
        low, high = entry["sizes"]
        sizes = f"{low} to {high} {entry['unit']}"
        figures = entry["figures"] or {}
        values = [_pair(figures.get(name)) for name in ("greedy", "agent")]
        rows.append(
            (entry["problem"], entry["instances"], sizes, figures.get("measure", "-"), *values)
        )
    print_table("agents that come with lagco (taught-projection)", columns, rows)
    typer.echo("greedy, agent: first episode / best of 5, mean over 20 unseen instances of the")
    typer.echo("paper's sizes; gaps are to the solver. In Python: lagco.load('tsp').")


def _pair(values: dict[str, float] | None) -> str:
    return "-" if values is None else f"{values['first']:.2f} / {values['best']:.2f}"
