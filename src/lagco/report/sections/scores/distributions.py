"""Distributions of scores over instances, and over their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.report.blocks import Block, Grid, Heading, Legend
from lagco.report.palette import label_of, style_of, unit_of
from lagco.report.plots import axis, box, dots, faint, figure, line, named_axis, numbers
from lagco.report.reading import Study
from lagco.report.sections.common import (
    MEASURE_NAMES,
    about_runs,
    by_strategy,
    episodes_of,
    plots_by_problem,
    runs_in,
    runs_of,
)
from lagco.study import Record
from lagco.study.results.scores import instance_scores, values_of

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: number of size classes for the lines through the points
_CLASSES = 8


def blocks(study: Study) -> Sequence[Block] | str:
    """Boxes per method, and scores over sizes."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    best = f"best of {episodes_of(study, setting)} episodes"

    def boxes(strategy: str) -> Block:
        plots = plots_by_problem(
            study, setting, lambda p: _boxes(study, setting, p, strategy), height=240
        )
        return Grid(
            plots,
            f"Scores on unseen instances after training on {strategy} ones. The {best} episodes, "
            f"{runs_in(runs_of(study, setting, strategy))} per method. Boxes: quartiles and "
            "median; whiskers: 5th and 95th percentile. Grey and brown: untrained baselines.",
        )

    def sizes(strategy: str) -> Block:
        plots = plots_by_problem(study, setting, lambda p: _sizes(study, setting, p, strategy))
        return Grid(
            plots,
            f"Score on every unseen instance against its size, trained on {strategy} ones. The "
            f"{best} episodes, mean over the runs that did not train on the instance; "
            f"{runs_in(runs_of(study, setting, strategy))} per method. Lines: medians of up to "
            f"{_CLASSES} classes of size.",
        )

    return [
        Heading("Scores over instances"),
        by_strategy(study, setting, boxes),
        Heading("Scores over sizes"),
        Legend(study.methods_of(setting)),
        by_strategy(study, setting, sizes),
    ]


def _boxes(study: Study, setting: str, problem: str, strategy: str) -> dict[str, Any]:
    groups: dict[str, Sequence[Record]] = {
        method: records
        for method in study.methods_of(setting)
        if (records := study.runs(setting).get((problem, method, strategy)))
    }
    groups |= {name: [record] for name, record in study.policies(setting, problem).items()}
    traces = []
    names: list[str] = []
    for method, group in reversed(groups.items()):
        values = values_of(group, study.measure_of(problem))
        if values:
            quantiles = [np.quantile(values, _QUANTILES).tolist()]
            traces.append(box(method, [len(names)], quantiles, horizontal=True, width=0.6))
            names.append(method)
    y_axis = named_axis([label_of(name) for name in names], showgrid=False)
    title = MEASURE_NAMES[study.measure_of(problem)]
    return figure(traces, axis(title, rangemode="tozero"), y_axis)


def _sizes(study: Study, setting: str, problem: str, strategy: str) -> dict[str, Any]:
    points: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    measure, unit = study.measure_of(problem), unit_of(problem)
    for method in study.methods_of(setting):
        x, y = _sized(study.runs(setting).get((problem, method, strategy), ()), measure)
        if not len(x):
            continue
        colour = style_of(method).colour
        mark = {"size": 4, "color": faint(colour, 0.35), "symbol": "circle"}
        points.append(dots(method, x.tolist(), numbers(y.tolist()), marker=mark, hoverinfo="skip"))
        lines.append(line(method, *_medians(x, y), hovertemplate=f"%{{x:.0f}} {unit}: %{{y:.3f}}"))
    y_axis = axis(MEASURE_NAMES[measure], rangemode="tozero")
    return figure([*points, *lines], axis(unit), y_axis)


def _sized(records: Sequence[Record], measure: str) -> tuple[Any, Any]:
    """Sizes of the unseen instances in order, and their mean values."""
    scores = instance_scores(records, measure)
    sizes = {i["index"]: i["size"] for record in records for i in record.result["instances"]}
    order = sorted(scores, key=lambda index: (sizes[index], index))
    return (
        np.array([sizes[index] for index in order]),
        np.array([scores[index] for index in order]),
    )


def _medians(x: Any, y: Any) -> tuple[list[float], list[float]]:
    """Medians over classes of neighbouring sizes, about equally many sizes in each."""
    sizes = np.unique(x)
    classes = [np.isin(x, part) for part in np.array_split(sizes, min(_CLASSES, len(sizes)))]
    return (
        [float(np.mean(x[chosen])) for chosen in classes],
        [float(np.median(y[chosen])) for chosen in classes],
    )
