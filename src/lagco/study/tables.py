"""Tables of the generalisation study, the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lagco.agents.config import STRATEGIES
from lagco.agents.registry import method_names
from lagco.results.statistics import interquartile_mean, probability_of_improvement, summarise
from lagco.study.ledger import Ledger, Record
from lagco.study.paper import paper_score
from lagco.study.scores import selected
from lagco.study.task import deviations

_RESAMPLES = 1000


_NAMED = ("method", "strategy", "seed", "preset", "features", "steps")


def setting_of(record: Record) -> str:
    """What a run was made with; runs of different settings never share a row."""
    config = record.spec["config"]
    parts = [
        str(config["preset"]),
        f"{config['features']} features",
        f"{config['steps']} steps",
        f"{record.spec['instances']} instances",
    ]
    unusual = {name: v for name, v in deviations(config).items() if name not in _NAMED}
    return ", ".join([*parts, *(f"{name} {value}" for name, value in sorted(unusual.items()))])


def generalization_table(
    ledger: Ledger,
    measures: Sequence[str] = ("score", "solver_score", "gap"),
    selections: Sequence[str] = ("best", "all"),
) -> list[dict[str, Any]]:
    """One row per setting, problem, method and strategy, and one per problem and plain policy.

    ``MEASURE/SELECTION`` holds the ``lagco.results.statistics.Summary`` over unseen instances of
    all runs together, as plain values, or None. ``delta`` is the train-test gap per measure: the
    interquartile mean over unseen instances minus that over seen ones, of the best episodes.
    ``refused`` counts instances that a padded agent did not take. ``paper`` is what the paper
    reports (:func:`lagco.study.paper_score`), with ``difference`` and ``inside`` (whether its
    interquartile mean lies in the bootstrap interval of ours).

    Args:
        ledger: of the study.
        measures: among ``score``, ``score_best``, ``solver_score``, ``solver_score_best``, ``gap``.
        selections: of a test instance's episodes: ``best``, ``first`` or ``all``.
    """
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in ledger.records("run"):
        config = record.spec["config"]
        problem, method, strategy = record.spec["problem"], config["method"], config["strategy"]
        groups.setdefault((setting_of(record), problem, method, strategy), []).append(record)
    rows = []
    for place in sorted(groups, key=_order):
        setting, problem, method, strategy = place
        records = groups[place]
        row: dict[str, Any] = {
            "setting": setting,
            "problem": problem,
            "method": method,
            "strategy": strategy,
            "runs": len(records),
            "seeds": sorted(record.spec["seed"] for record in records),
        }
        row |= _statistics(records, measures, selections)
        row["delta"] = {measure: _delta(records, measure) for measure in measures}
        row["paper"] = _comparison(row, problem, method, strategy)
        rows.append(row)
    for record in ledger.records("policy"):
        row = {
            "setting": None,
            "problem": record.spec["problem"],
            "method": record.spec["policy"],
            "strategy": None,
            "runs": 1,
            "seeds": [],
        }
        row |= _statistics([record], measures, selections)
        rows.append(row | {"delta": {}, "paper": None})
    return rows


def _order(place: tuple[str, str, str, str]) -> tuple[Any, ...]:
    setting, problem, method, strategy = place
    return setting, problem, method_names().index(method), STRATEGIES.index(strategy)


def unseen_values(records: Iterable[Record], measure: str, selection: str) -> list[float]:
    """Values over the unseen instances of runs, all together."""
    return _values(records, measure, selection, seen=False)


def _values(records: Iterable[Record], measure: str, selection: str, seen: bool) -> list[float]:
    return [
        value
        for record in records
        for instance in record.result["instances"]
        if instance["seen"] == seen
        for value in selected(instance[measure], selection, measure)
    ]


def _statistics(
    records: Sequence[Record], measures: Sequence[str], selections: Sequence[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "refused": sum(
            instance["refused"] is not None
            for record in records
            for instance in record.result["instances"]
        )
    }
    for measure in measures:
        for selection in selections:
            values = unseen_values(records, measure, selection)
            summary = summarise(values, resamples=_RESAMPLES)
            found[f"{measure}/{selection}"] = None if summary is None else asdict(summary)
    return found


def _delta(records: Sequence[Record], measure: str) -> float | None:
    unseen = _values(records, measure, "best", seen=False)
    seen = _values(records, measure, "best", seen=True)
    return interquartile_mean(unseen) - interquartile_mean(seen) if unseen and seen else None


def _comparison(
    row: Mapping[str, Any], problem: str, method: str, strategy: str
) -> dict[str, Any] | None:
    paper = paper_score(problem, method, strategy)
    ours = row.get("score/best")
    if paper is None or ours is None:
        return paper
    low, high = ours["iqm_interval"]
    return {
        **paper,
        "difference": ours["iqm"] - paper["iqm"],
        "inside": low - 0.005 <= paper["iqm"] <= high + 0.005,  # the paper rounds to two digits
    }


def improvement_table(ledger: Ledger, measure: str = "score") -> list[dict[str, Any]]:
    """How probably a method does better than another on an unseen instance of a problem.

    Rows of ``setting``, ``problem``, ``first``, ``second``, ``probability``; over all strategies.
    """
    groups: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in ledger.records("run"):
        place = (setting_of(record), str(record.spec["problem"]))
        method = str(record.spec["config"]["method"])
        groups.setdefault(place, {}).setdefault(method, []).append(record)
    rows = []
    for (setting, problem), methods in sorted(groups.items()):
        values = {m: unseen_values(records, measure, "best") for m, records in methods.items()}
        for first in methods:
            for second in methods:
                if first != second and values[first] and values[second]:
                    ahead = probability_of_improvement(values[first], values[second])
                    if measure == "gap":
                        ahead = 1.0 - ahead
                    rows.append(
                        {
                            "setting": setting,
                            "problem": problem,
                            "first": first,
                            "second": second,
                            "probability": ahead,
                        }
                    )
    return rows
