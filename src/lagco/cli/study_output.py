"""How the studies are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from lagco.cli.output import print_facts, print_table

if TYPE_CHECKING:
    from lagco.study.driver import Status
    from lagco.study.estimating import Estimate
    from lagco.study.settings import GeneralizationSettings


def print_status(found: Status) -> None:
    """Where a study stands."""
    left = "unknown" if found.seconds_left is None else duration(found.seconds_left)
    print_facts(
        {
            "done": f"{found.done} of {found.total}",
            "running": len(found.running),
            "waiting": found.waiting,
            "failed": len(found.failed),
            "time left": left,
        }
    )
    if found.running:
        rows = [(r["name"], r["host"], f"{100 * r['share']:.0f} %") for r in found.running]
        print_table("running", ("task", "host", "done"), rows)
    if found.failed:
        rows = [(f["name"], f["error"], "") for f in found.failed]
        print_table("failed", ("task", "error", ""), rows)


def print_estimate(settings: GeneralizationSettings, found: Estimate, workers: int) -> None:
    """Rates, and what they add up to."""
    rows = [
        (
            row["problem"],
            row["method"],
            row["runs"],
            f"{row['steps_per_s']:.0f}",
            duration(row["train_s"]),
            duration(row["test_s"]),
        )
        for row in found.rows
    ]
    columns = ("problem", "method", "runs", "steps/s", "training a run", "testing it")
    print_table("rates measured now", columns, rows)
    facts: dict[str, Any] = {"runs": found.runs}
    facts |= {part: duration(seconds) for part, seconds in found.seconds.items()}
    print_facts(facts)
    whole, rest = found.hours(workers), found.hours(workers, without="iterative")
    typer.echo(f"the whole study on {workers} workers: {whole:.1f} hours")
    if "iterative" in settings.methods:
        typer.echo(
            f"without iterative: {rest:.1f} hours; iterative alone: {whole - rest:.1f} hours"
        )


def print_generalization(rows: list[dict[str, Any]]) -> None:
    """One table per setting, the paper beside ours."""
    columns = (
        "problem",
        "method",
        "strategy",
        "runs",
        "score [95 %]",
        "paper",
        "train-test",
        "solver scale",
        "gap %",
    )
    for setting in dict.fromkeys(row["setting"] for row in rows):
        cells = []
        for row in rows:
            if row["setting"] != setting:
                continue
            score = row["score/best"]
            low, high = score["iqm_interval"] if score else (None, None)
            shown = f"{score['iqm']:.3f} [{low:.3f}, {high:.3f}]" if score else "-"
            cells.append(
                (
                    row["problem"],
                    row["method"],
                    row["strategy"] or "",
                    row["runs"],
                    shown,
                    cell((row["paper"] or {}).get("iqm")),
                    cell(row["delta"].get("score")),
                    cell((row["solver_score/best"] or {}).get("iqm")),
                    cell((row["gap/best"] or {}).get("iqm")),
                )
            )
        print_table(
            f"unseen instances, best episode: {setting or 'plain policies'}", columns, cells
        )


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def cell(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
