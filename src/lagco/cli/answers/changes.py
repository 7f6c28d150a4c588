"""Changes of an answer as printed: by name, with the fullest elements and the trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from lagco.cli.output import print_table, text
from lagco.results.numbers import of_things

if TYPE_CHECKING:
    from lagco.solving.answer import Answer

#: scenarios that are named, the worst ones
_WORST = 5
#: changes that are named one by one
_NAMED = 20


def print_changes(answer: Answer) -> None:
    """Print what an answer changes of the incumbent; nothing without one."""
    for fault in answer.faults:
        typer.echo(f"not allowed: {fault}")
    _print_scenarios(answer)
    if answer.before is None:
        return
    if answer.changes:
        print_table(
            "Changes",
            ("element", "before", "after"),
            [(c.name, c.before, c.after) for c in answer.changes[:_NAMED]],
        )
        if len(answer.changes) > _NAMED:
            rest = of_things(len(answer.changes) - _NAMED, "changes")
            typer.echo(f"and {rest} more; --out writes the whole solution, --json lists all")
    else:
        typer.echo("no change: nothing better was found than what is in force")
    aims, reached = answer.aims()
    if aims:
        values = [(name, text(aims[name]), text(reached[name])) for name in aims]
        print_table("Aims", ("aim", "before", "after"), values)
    before, after = answer.fullest()
    if before and after:
        rows = [
            (old[0], text(old[1]), new[0], text(new[1]))
            for old, new in zip(before, after, strict=False)
        ]
        print_table("Fullest", ("before", "use", "after", "use now"), rows)
    if answer.fixes:
        rows = [
            (
                ", ".join(fix.patches) or "none",
                str(fix.hosts),
                text(fix.owned),
                "" if fix.by_agent is None else text(fix.by_agent),
            )
            for fix in answer.fixes
        ]
        print_table("Patches", ("patch", "on hosts", "owned at worst", "owned by the agent"), rows)
    if answer.trade_off:
        print_table(
            "Trade-off",
            ("changes", "objective"),
            [(trade.changes, trade.objective) for trade in answer.trade_off],
        )


def _print_scenarios(answer: Answer) -> None:
    """Print the worst scenarios, before and after."""
    if not answer.scenarios:
        return
    rows = [
        (s.name, "" if s.before is None else text(s.before), text(s.after))
        for s in answer.scenarios[:_WORST]
    ]
    title = f"Scenarios, the worst {len(rows)} of {len(answer.scenarios)}"
    print_table(title, ("scenario", "before", "after"), rows)


def print_stuck(answer: Answer) -> None:
    """Print to stderr which changes no order allows."""
    for change in answer.plan.stuck:
        typer.echo(
            f"not in the plan: {change.name} from {change.before} to {change.after}; no order was "
            "found in which it finds room",
            err=True,
        )
