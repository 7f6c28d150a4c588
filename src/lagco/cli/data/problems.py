"""The command `problems`."""

from __future__ import annotations

from dataclasses import asdict

from lagco.cli.output import AsJson, print_json, print_table


def problems(as_json: AsJson = False) -> None:
    """List the problems."""
    import lagco

    entries = lagco.problems.list_problems()
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = [(entry.name, entry.env_id, entry.summary) for entry in entries]
    print_table("problems", ("name", "Gymnasium id", "what is decided"), rows)
