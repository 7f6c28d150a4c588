"""Output of the studies: tables, status and estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import typer

from lagco.cli.output import duration, print_facts, print_table, text
from lagco.results.measures import RETURN, START_SCORE
from lagco.results.numbers import significant

if TYPE_CHECKING:
    from lagco.study import Estimate, Ledger, Status


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
    """Times of runs, and what they add up to."""
    rows = [
        (
            row["problem"],
            row["method"],
            row["runs"],
            f"{row['steps_per_s']:.0f}",
            duration(row["train_s"]),
            duration(row["test_s"]),
            row["source"],
        )
        for row in found.rows
    ]
    if rows:
        columns = ("problem", "method", "runs", "steps/s", "train", "test", "from")
        print_table("processor time of a run", columns, rows)
    facts: dict[str, Any] = {"runs": found.runs} if found.runs else {}
    facts |= {part: duration(seconds) for part, seconds in found.seconds.items()}
    print_facts(facts)
    whole = duration(3600 * found.hours(workers))
    on = f"{workers} workers" if workers > 1 else "one worker"
    typer.echo(f"the whole study on {on}: {'at most ' if found.at_most else ''}{whole}")
    if len(found.methods) > 1 and found.runs:
        rest = duration(3600 * found.hours(workers, without=found.slowest))
        typer.echo(f"without {found.slowest}, the slowest method: {rest}")


def generalization_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """The generalisation table, best episodes."""
    from lagco.study import generalization_table

    return generalization_table(ledger, selections=("best",))


def print_generalization(rows: list[dict[str, Any]]) -> None:
    """One table per setting, without empty columns."""
    for setting in dict.fromkeys(row["setting"] for row in rows):
        chosen = [row for row in rows if row["setting"] == setting]
        columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "problem": lambda row: row["problem"],
            "method": lambda row: row["method"],
            "strategy": lambda row: row["strategy"] or "",
            "runs": lambda row: str(row["runs"]),
            "score [95 %]": lambda row: _with_interval(row["score/best"]),
            "paper": lambda row: _digits((row["paper"] or {}).get("iqm")),
            "train-test": lambda row: _digits(row["delta"].get("score")),
            "solver scale": lambda row: _digits((row["solver_score/best"] or {}).get("iqm")),
            "from default": lambda row: _digits((row[f"{START_SCORE}/best"] or {}).get("iqm")),
            "gap %": _gap,
            "return": lambda row: text((row[f"{RETURN}/best"] or {}).get("iqm")),
        }
        filled = {name: [cell(row) for row in chosen] for name, cell in columns.items()}
        shown = {name: cells for name, cells in filled.items() if {*cells} - {"", "-"}}
        title = f"unseen instances, best episode: {setting or 'not trained'}"
        print_table(title, shown, zip(*shown.values(), strict=True))


def _with_interval(summary: Mapping[str, Any] | None) -> str:
    if summary is None:
        return "-"
    low, high = summary["iqm_interval"]
    return f"{summary['iqm']:.3f} [{low:.3f}, {high:.3f}]"


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _gap(row: Mapping[str, Any]) -> str:
    """The gap, and how many instances were solved where not all were."""
    summary, (done, of) = row["gap/best"], row["solved"]
    if summary is None:
        return "-"
    solved = "" if done == of else f"{done}/{of}"
    value = "" if summary["iqm"] is None else f"{summary['iqm']:.2f}"
    return f"{value} ({solved})" if value and solved else value or solved


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
            "-" if row["paper_alpha"] is None else f"{row['paper_alpha']:.2f}",
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
    columns = (
        "problem",
        "method",
        "runs",
        "seconds",
        "mean ± std",
        "processor, s",
        "encoder, s",
        "paper",
    )
    cells = [
        (
            row["problem"],
            row["method"],
            len(row["seconds"]),
            ", ".join(text(seconds) for seconds in row["seconds"]),
            mean_and_deviation(row["seconds"]),
            mean_and_deviation(row["cpu_s"]),
            mean_and_deviation(row["encoder_s"]),
            mean_and_deviation(row["paper"] or ()),
        )
        for row in rows
    ]
    print_table("seconds of training, one run at a time", columns, cells)


def mean_and_deviation(values: Sequence[float]) -> str:
    """Mean and standard deviation of a sample; a dash if it is empty."""
    if not values:
        return "-"
    spread = f" ± {significant(stdev(values))}" if len(values) > 1 else ""
    return f"{significant(fmean(values), 4)}{spread}"


def print_rates(rows: Sequence[Mapping[str, Any]]) -> None:
    """Steps per second of every method."""
    speeds = ("steps_per_s", "cartpole_steps_per_s", "decisions_per_s")
    columns = ("problem", "method", "features", *speeds)
    print_table("rates", columns, [[text(row[name]) for name in columns] for row in rows])


def print_embeddings(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the compactness of action spaces."""
    if rows:
        print_table("action spaces", rows[0], [[text(v) for v in row.values()] for row in rows])


def search_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Specification and result of every search."""
    return [{"spec": dict(r.spec), "result": dict(r.result)} for r in ledger.records("tune")]


def rate_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Rates of every problem and method."""
    return [
        {**{n: r.spec[n] for n in ("problem", "method", "features")}, **r.measured}
        for r in ledger.records("throughput")
    ]


def embedding_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """cmp@k of every problem, for the encoder and for random weights."""
    rows = []
    for record in ledger.records("embedding"):
        found = {name: record.spec[name] for name in ("problem", "features")}
        found["actions"] = record.result["actions"]
        found |= {f"cmp@{k}": v for k, v in record.result["cmp"].items()}
        found |= {f"random cmp@{k}": v for k, v in record.result["cmp_random"].items()}
        rows.append(found)
    return rows


def scaling_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Fitted power laws."""
    from lagco.study import scaling

    return scaling(ledger)


def training_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Seconds of training runs."""
    from lagco.study import training_times

    return training_times(ledger)


#: rows of every study, and what prints them
RESULTS: dict[str, tuple[Callable[[Any], list[dict[str, Any]]], Callable[[Any], None]]] = {
    "generalization": (generalization_rows, print_generalization),
    "scalability": (scaling_rows, print_scaling),
    "tune": (search_rows, print_searches),
    "training-time": (training_rows, print_training_times),
    "throughput": (rate_rows, print_rates),
    "embeddings": (embedding_rows, print_embeddings),
}
