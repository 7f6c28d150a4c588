"""Tables of the studies that measure time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lagco.results.statistics import power_law
from lagco.study.ledger import Ledger, Record
from lagco.study.paper import paper_tables

#: parts that are fitted: the whole decision, and what is left of it without the encoder
_SELECTION = ("policy", "search", "list", "values")


def scaling(ledger: Ledger) -> list[dict[str, Any]]:
    """Power laws of decision times over sizes, one row per problem, method, features and part.

    ``decision`` is all of it; ``selection`` is policy and choice of an action without encoding and
    observing, which is what the paper's exponents are about.
    """
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in ledger.records("latency"):
        if record.result["refused"] is None:
            place = tuple(str(record.spec[name]) for name in ("problem", "method", "features"))
            groups.setdefault((place[0], place[1], place[2]), []).append(record)
    paper = paper_tables()["scaling"]
    rows = []
    for (problem, method, features), records in groups.items():
        records.sort(key=lambda record: int(record.spec["size"]))
        sizes = [float(record.spec["size"]) for record in records]
        if len(set(sizes)) < 3:
            continue
        for part, times in _series(records).items():
            fit = power_law(sizes, times)
            known = paper.get(problem, {}).get(method) if part == "selection" else None
            rows.append(
                {
                    "problem": problem,
                    "method": method,
                    "features": features,
                    "part": part,
                    "alpha": fit.alpha,
                    "low": fit.low,
                    "high": fit.high,
                    "r2": fit.r2,
                    "factor": fit.factor,
                    "points": fit.points,
                    "largest": int(sizes[-1]),
                    "paper_alpha": known["alpha"] if known else None,
                    "paper_r2": known["r2"] if known else None,
                }
            )
    return rows


def _series(records: Sequence[Record]) -> dict[str, list[float]]:
    """Medians in microseconds over the sizes, per part."""
    series: dict[str, list[float]] = {"decision": [], "selection": []}
    for record in records:
        parts = {name: p["median"] for name, p in record.measured["parts_us"].items()}
        series["decision"].append(record.measured["decision_us"]["median"])
        series["selection"].append(sum(parts[name] for name in _SELECTION if name in parts))
        for name, value in parts.items():
            series.setdefault(name, []).append(value)
    return series


def training_times(ledger: Ledger) -> list[dict[str, Any]]:
    """Seconds of the runs of a generalisation study, per problem, method, strategy and setting.

    Where the paper reports the same (the strategy ``varied`` of `traffic`), its five runs stand
    beside ours; its machine was another one.
    """
    paper = paper_tables()["training_time"]
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in ledger.records("run"):
        config = record.spec["config"]
        place = (
            str(record.spec["problem"]),
            str(config["method"]),
            str(config["strategy"]),
            str(config["features"]),
            str(config["steps"]),
        )
        row = rows.setdefault(
            place,
            {
                **dict(zip(("problem", "method", "strategy", "features"), place, strict=False)),
                "steps": int(config["steps"]),
                "seconds": [],
                "paper": None,
            },
        )
        row["seconds"].append(record.measured["train_s"])
        if place[0] == paper["problem"] and place[2] == paper["strategy"]:
            row["paper"] = paper["seconds"].get(place[1])
    return list(rows.values())
