"""Tables of the studies, with the paper's figures next to ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from lagco.agents.config import STRATEGIES
from lagco.errors import LagcoError
from lagco.results.evaluation import plain
from lagco.results.measures import RETURN, START_SCORE
from lagco.results.numbers import of_things
from lagco.results.resampling import Estimated, Scores, estimated_mean, estimated_middle
from lagco.results.statistics import Summary, power_law, summarise
from lagco.study.records.ledger import Ledger, Record
from lagco.study.results.aggregates import better
from lagco.study.results.paper import (
    PAPER_STEPS,
    PAPER_TRAINING,
    departures,
    paper_score,
    paper_tables,
)
from lagco.study.results.scores import scores_of, solved, transfer
from lagco.study.settings import known_methods

#: parts of a decision before an action is selected
_BEFORE = ("encode", "observe")
#: setting, problem, method and strategy
Place: TypeAlias = tuple[str, str, str, str]


def setting_of(record: Record) -> str:
    """Name of the settings of a run; runs of different settings never share a row."""
    config = record.spec["config"]
    parts = [
        str(config["preset"]),
        f"{config['features']} features",
        of_things(config["steps"], "steps"),
        of_things(record.spec["instances"], "instances"),
    ]
    overrides = sorted(record.spec["overrides"].items())
    return ", ".join([*parts, *(f"{name} {value}" for name, value in overrides)])


def generalization_table(
    ledger: Ledger,
    measures: Sequence[str] = ("score", "solver_score", "gap", START_SCORE, RETURN),
    selections: Sequence[str] = ("best", "all"),
) -> list[dict[str, Any]]:
    """One row per setting, problem, method and strategy, and one per problem and plain policy.

    ``MEASURE/SELECTION`` holds the ``lagco.results.statistics.Summary`` over unseen instances of
    all runs together, as plain values (None for what is infinite), or None; intervals are over
    runs and instances (:mod:`lagco.results.resampling`). An instance that was
    refused or not solved counts as worst; ``solved`` holds how many were solved, and of how many,
    and ``refused`` how many a padded agent did not take. ``delta`` is the train-test gap per
    measure: the interquartile mean over unseen instances minus that over seen ones, of the best
    episodes. ``paper`` is what the paper reports (:func:`lagco.study.paper_score`), with
    ``difference`` and ``inside`` (whether its interquartile mean lies in the bootstrap interval of
    ours); None where a run departs from the paper's protocol
    (:func:`lagco.study.results.paper.departures`).

    Args:
        ledger: of the study.
        measures: among ``score``, ``score_best``, ``solver_score``, ``solver_score_best``, ``gap``,
            ``start_score`` (solver score from the problem's default start) and ``episode_return``
            (of instances without a reference).
        selections: of a test instance's episodes: ``best``, ``first`` or ``all``.
    """
    rows = []
    for place, records in _grouped(ledger.records("run")).items():
        setting, problem, method, strategy = place
        row: dict[str, Any] = {
            "setting": setting,
            "problem": problem,
            "method": method,
            "strategy": strategy,
            "runs": len(records),
            "seeds": sorted(record.spec["seed"] for record in records),
        }
        row |= _statistics(records, measures, selections)
        row["delta"] = {measure: transfer(records, measure) for measure in measures}
        alike = not any(departures(ledger, record) for record in records)
        row["paper"] = _comparison(row, problem, method, strategy) if alike else None
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


def _grouped(records: Sequence[Record]) -> dict[Place, list[Record]]:
    """Records of trained agents by setting, problem, method and strategy, in order."""
    groups: dict[Place, list[Record]] = {}
    for record in records:
        config = record.spec["config"]
        agent = str(record.spec["problem"]), str(config["method"]), str(config["strategy"])
        groups.setdefault((setting_of(record), *agent), []).append(record)
    return {place: groups[place] for place in sorted(groups, key=_order)}


def _order(place: Place) -> tuple[Any, ...]:
    setting, problem, method, strategy = place
    known = known_methods()
    rank = known.index(method) if method in known else len(known)
    return setting, problem, rank, method, STRATEGIES.index(strategy)


def _statistics(
    records: Sequence[Record], measures: Sequence[str], selections: Sequence[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "refused": sum(
            instance["refused"] is not None
            for record in records
            for instance in record.result["instances"]
        ),
        "solved": solved(records),
    }
    for measure in measures:
        for selection in selections:
            summary = summary_of(scores_of(records, measure, selection))
            found[f"{measure}/{selection}"] = plain(summary)
    return found


def summary_of(scores: Scores) -> Summary | None:
    """Statistics of scores, with intervals over runs and instances together."""
    summary = summarise(scores.values, resamples=1)
    if summary is None:
        return None
    iqm, average = estimated_middle(scores), estimated_mean(scores)
    return replace(
        summary, iqm_interval=(iqm.low, iqm.high), mean_interval=(average.low, average.high)
    )


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


def improvement_table(ledger: Ledger) -> list[dict[str, Any]]:
    """Probability that a method does better than another on an unseen instance of a problem.

    Rows of ``setting``, ``problem``, ``first``, ``second``, ``probability``, ``low`` and ``high``
    (its interval over runs and instances); mean over the strategies that both were trained by.
    """
    groups: dict[tuple[str, str], dict[str, dict[str, Scores]]] = {}
    for (setting, problem, method, strategy), records in _grouped(ledger.records("run")).items():
        scores = scores_of(records, "score")
        if len(scores):
            methods = groups.setdefault((setting, problem), {})
            methods.setdefault(method, {})[strategy] = scores
    rows = []
    for (setting, problem), methods in sorted(groups.items()):
        for first, second in combinations(methods, 2):
            a, b = methods[first], methods[second]
            shared = [strategy for strategy in a if strategy in b]
            if not shared:
                continue
            ahead = better(a, b, shared)
            behind = Estimated(1.0 - ahead.value, 1.0 - ahead.high, 1.0 - ahead.low)
            for one, other, found in ((first, second, ahead), (second, first, behind)):
                rows.append(
                    {
                        "setting": setting,
                        "problem": problem,
                        "first": one,
                        "second": other,
                        "probability": found.value,
                        "low": found.low,
                        "high": found.high,
                    }
                )
    return rows


def scaling(ledger: Ledger) -> list[dict[str, Any]]:
    """Power laws of decision times over sizes, one row per problem, method, features and part.

    ``decision`` is all of it; ``selection`` is everything but encoding and observing, for every
    method: reading the actions of the state, the policy, and the choice of an action. That is what
    the paper's exponents are about.
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
            compared = part in ("decision", "selection")
            known = paper.get(problem, {}).get(method) if compared else None
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


class Growth(NamedTuple):
    """Whole decisions of two methods over the sizes that both have.

    Attributes:
        alphas: exponents of both.
        ratio: how many times as long the second takes at the largest of these sizes.
        apart: -1 where the 95 % interval of the first exponent lies below that of the second, 1
            where it lies above, 0 where they overlap.
    """

    alphas: tuple[float, float]
    ratio: float
    apart: int


def compared_growth(ledger: Ledger, first: str, second: str) -> dict[str, Growth]:
    """Growth of decision times of two methods by problem, where they share three sizes."""
    times: dict[tuple[str, str], dict[int, float]] = {}
    for record in ledger.records("latency"):
        spec = record.spec
        if record.result["refused"] is None and spec["features"] == "full":
            known = times.setdefault((spec["problem"], spec["method"]), {})
            known[int(spec["size"])] = record.measured["decision_us"]["median"]
    found = {}
    for problem in dict.fromkeys(problem for problem, _ in times):
        both = [times.get((problem, method), {}) for method in (first, second)]
        sizes = sorted(both[0].keys() & both[1].keys())
        if len(sizes) >= 3:
            a, b = (power_law(sizes, [known[s] for s in sizes]) for known in both)
            ratio = both[1][sizes[-1]] / both[0][sizes[-1]]
            apart = -1 if a.high < b.low else int(a.low > b.high)
            found[problem] = Growth((a.alpha, b.alpha), ratio, apart)
    return found


def _series(records: Sequence[Record]) -> dict[str, list[float]]:
    """Medians in microseconds over the sizes, per part."""
    series: dict[str, list[float]] = {"decision": [], "selection": []}
    for record in records:
        parts = {name: p["median"] for name, p in record.measured["parts_us"].items()}
        series["decision"].append(record.measured["decision_us"]["median"])
        series["selection"].append(sum(us for name, us in parts.items() if name not in _BEFORE))
        for name, value in parts.items():
            series.setdefault(name, []).append(value)
    return series


def training_times(ledger: Ledger, kind: str = "training") -> list[dict[str, Any]]:
    """Seconds of training runs, per problem, method, strategy, features and steps.

    ``seconds`` are those of the runs in their order, ``cpu_s`` those of the processor (of the runs
    that recorded them), which depend less on what else ran there, ``encoder_s`` those of
    pre-training their encoders (empty for a method without), ``paper`` those of the paper's five
    runs, where ours follow its protocol (`traffic`, ``varied``, 20 instances, 100000 steps) and
    were timed one at a time; its machine was another one.

    Args:
        ledger: of the study.
        kind: ``training``: runs that were timed one at a time (``lagco study training-time``);
            ``run``: those of a generalisation study, which may have slowed each other down.
    """
    encoders = {r.key: float(r.measured["seconds"]) for r in ledger.records("encoder")}
    rows = []
    for place, group in _grouped(ledger.records(kind)).items():
        records = sorted(group, key=lambda record: int(record.spec["fold"]))
        config = records[0].spec["config"]
        keys = [record.spec["encoder"] for record in records]
        rows.append(
            {
                "setting": place[0],
                "problem": place[1],
                "method": place[2],
                "strategy": place[3],
                "features": config["features"],
                "steps": int(config["steps"]),
                "instances": len(records[0].spec["train"]),
                "seconds": [float(record.measured["train_s"]) for record in records],
                "cpu_s": [
                    float(record.measured["train_cpu_s"])
                    for record in records
                    if "train_cpu_s" in record.measured
                ],
                "encoder_s": [encoders[key] for key in keys if key in encoders],
                "paper": _paper_times(records[0]) if kind == "training" else None,
            }
        )
    return rows


def _paper_times(record: Record) -> list[float] | None:
    """Seconds of the paper's runs; None if a run did not follow its protocol."""
    paper, spec, config = paper_tables()["training_time"], record.spec, record.spec["config"]
    ours = (spec["problem"], config["strategy"], len(spec["train"]), config["steps"])
    if ours != (paper["problem"], paper["strategy"], PAPER_TRAINING, PAPER_STEPS):
        return None
    seconds: list[float] | None = paper["seconds"].get(config["method"])
    return seconds


def training_cpu(ledger: Ledger, run: Record) -> float | None:
    """Processor seconds of a training run, with those of pre-training its encoder.

    None where they were not measured.
    """
    found: list[Any] = [run.measured.get("train_cpu_s")]
    if run.spec["encoder"] is not None:
        try:
            found.append(ledger.find("encoder", run.spec["encoder"]).measured.get("cpu_s"))
        except LagcoError:
            return None
    return None if None in found else float(sum(found))
