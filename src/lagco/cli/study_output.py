"""Output of the studies: tables, progress, status and estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from lagco.cli.output import print_facts, print_table

if TYPE_CHECKING:
    from rich.progress import Progress

    from lagco.study import Estimate, Status
    from lagco.study.execute import Watch


def progress_bar() -> Progress:
    """A bar on the terminal; nothing where there is none."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def watch_by(bar: Progress, name: str) -> Watch:
    """What moves the bar as a study goes on."""
    task = bar.add_task(name, total=None)

    def watch(seen: Any) -> None:
        failed = f", {seen.failed} failed" if seen.failed else ""
        text = f"{name}{failed}: {seen.last}" if seen.last else f"{name}{failed}"
        bar.update(task, total=seen.total, completed=seen.done + seen.failed, description=text)

    return watch


def print_status(found: Status) -> None:
    """State of a study."""
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
        rows = [
            (r["name"], r["host"], f"{100 * r['share']:.0f} %", duration(r["silent_s"] or 0.0))
            for r in found.running
        ]
        print_table("running", ("task", "host", "done", "last sign of life"), rows)
    if found.failed:
        errors = [(f["name"], f["error"]) for f in found.failed]
        print_table("failed", ("task", "error"), errors)


def print_estimate(found: Estimate, workers: int) -> None:
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
    whole = found.hours(workers)
    typer.echo(f"the whole study on {workers} workers: {whole:.1f} hours")
    if len(found.methods) > 1:
        rest = found.hours(workers, without=found.slowest)
        typer.echo(
            f"without {found.slowest}: {rest:.1f} hours; {found.slowest} alone: "
            f"{whole - rest:.1f} hours"
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


def print_scaling(rows: Sequence[Mapping[str, Any]]) -> None:
    """Exponents of whole decisions and of selections."""
    columns = ("problem", "method", "part", "exponent", "95 %", "R2", "up to", "paper")
    cells = [
        (
            row["problem"],
            row["method"],
            row["part"],
            f"{row['alpha']:.2f}",
            f"[{row['low']:.2f}, {row['high']:.2f}]",
            f"{row['r2']:.2f}",
            row["largest"],
            cell(row["paper_alpha"]),
        )
        for row in rows
        if row["part"] in ("decision", "selection")
    ]
    print_table("time of a decision over size", columns, cells)


def print_searches(rows: Sequence[Mapping[str, Any]]) -> None:
    """The best trial of every search."""
    for row in rows:
        spec, trials, best = row["spec"], row["result"]["trials"], row["result"]["best"]
        measure = spec["measure"]
        facts = {
            f"{measure}, validation": best["value"],
            f"{measure}, test": best["test"]["unseen"][measure]["best"],
            "trial": f"{best['number']} of {len(trials)}",
            **best["params"],
        }
        typer.echo(f"{spec['problem']}, {spec['space']}:")
        print_facts(facts)


def print_training_times(rows: Sequence[Mapping[str, Any]]) -> None:
    """Seconds of the runs, as in the paper's table."""
    columns = ("problem", "method", "runs", "seconds", "mean ± std", "encoder, s", "paper")
    cells = [
        (
            row["problem"],
            row["method"],
            len(row["seconds"]),
            ", ".join(cell(seconds) for seconds in row["seconds"]),
            mean_and_deviation(row["seconds"]),
            mean_and_deviation(row["encoder_s"]),
            mean_and_deviation(row["paper"] or ()),
        )
        for row in rows
    ]
    print_table("seconds of training, one run at a time", columns, cells)


def mean_and_deviation(values: Sequence[float]) -> str:
    """Mean and standard deviation of a sample; a dash without one."""
    if not values:
        return "-"
    from statistics import fmean, stdev

    spread = f" ± {stdev(values):.3g}" if len(values) > 1 else ""
    return f"{fmean(values):.4g}{spread}"


def print_rates(rows: Sequence[Mapping[str, Any]]) -> None:
    """Steps per second of every method."""
    speeds = ("steps_per_s", "cartpole_steps_per_s", "decisions_per_s")
    columns = ("problem", "method", "features", *speeds)
    print_table("rates", columns, [[cell(row[name]) for name in columns] for row in rows])


def print_embeddings(rows: Sequence[Mapping[str, Any]]) -> None:
    """How crowded action spaces are."""
    if rows:
        print_table("action spaces", rows[0], [[cell(v) for v in row.values()] for row in rows])


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def cell(value: Any) -> str:
    """Text of a value in a table."""
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
