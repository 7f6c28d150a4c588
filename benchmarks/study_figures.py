"""Figures of the published study as SVG: scores by strategy, decision times, scores and cost."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

import matplotlib

from lagco.report.palette import (
    LETTERS,
    label_of,
    methods_in_order,
    problems_in_order,
    style_of,
    unit_of,
)
from lagco.report.reading import Study
from lagco.results.resampling import estimated_middle
from lagco.study import Record, scaling
from lagco.study.results.scores import middle, scores_of, values_of
from lagco.study.results.tables import training_cpu

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

#: strategy of the figure of scores against cost
STRATEGY = "varied"
#: what is not trained and drawn as lines across
ACROSS = ("random", "greedy", "solver-in-time", "annealing")
_COLUMNS, _WIDTH, _HEIGHT = 4, 11.0, 5.2
_MARKS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "star": "*",
    "star-diamond": "P",
    "x-thin": "x",
    "cross-thin": "+",
    "line-ew": "_",
    "hexagon": "h",
}
_DASHES = {"solid": "-", "dot": ":", "dash": "--", "longdash": (0, (8, 2)), "dashdot": "-."}
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "lagco",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
}
Painter = Callable[[Any, str], None]


def generalization(study: Study) -> bytes:
    """Scores on unseen instances by training strategy."""
    if not study.settings:
        return _nothing("No training runs yet.")
    setting = study.settings[0]
    methods, strategies = study.methods_of(setting), study.strategies_of(setting)

    def paint(axes: Any, problem: str) -> None:
        for name, record in study.policies(setting, problem).items():
            if name in ACROSS:
                _across(axes, name, _score([record]))
        for place, method in enumerate(methods):
            shift = 0.7 * ((place + 0.5) / len(methods) - 0.5)
            runs = study.runs(setting)
            found = [
                (x + shift, estimated_middle(scores_of(runs[problem, method, s], "score")))
                for x, s in enumerate(strategies)
                if (problem, method, s) in runs
            ]
            for x, score in found:
                ends = [score.low, score.high]
                axes.plot([x, x], ends, color=style_of(method).colour, linewidth=1)
            _dots(axes, method, [x for x, _ in found], [score.value for _, score in found])
        axes.set_xticks(range(len(strategies)), [LETTERS.get(s, s) for s in strategies])
        axes.set_xlim(-0.5, len(strategies) - 0.5)
        _room(axes)

    problems = study.problems_of(setting)
    across = [n for n in ACROSS if any(n in study.policies(setting, p) for p in problems)]
    return _panels(problems, paint, [*methods, *across], "score on unseen instances")


def decision_times(study: Study) -> bytes:
    """Median time of a whole decision against size, with fitted exponents."""
    records = [
        r
        for r in study.records("latency")
        if r.result["refused"] is None and r.spec["features"] == "full"
    ]
    if not records:
        return _nothing("No decisions were timed yet.")
    methods = methods_in_order(str(record.spec["method"]) for record in records)
    fits = {
        (fit["problem"], fit["method"]): fit
        for fit in scaling(study.ledger)
        if fit["part"] == "decision" and fit["features"] == "full"
    }

    def paint(axes: Any, problem: str) -> None:
        for method in methods:
            series = _timed(records, problem, method)
            _dots(axes, method, [size for size, _ in series], [us for _, us in series])
            fit = fits.get((problem, method))
            if fit is not None:
                ends = [series[0][0], fit["largest"]]
                law = [fit["factor"] * size ** fit["alpha"] for size in ends]
                style = style_of(method)
                label = f"α = {fit['alpha']:.2f}"
                dash = _DASHES[style.dash]
                axes.plot(ends, law, color=style.colour, linestyle=dash, linewidth=1.2, label=label)
        _logarithmic(axes.xaxis)
        _logarithmic(axes.yaxis)
        axes.set_xlabel(unit_of(problem, drawn=True))
        if axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False, fontsize=7, handlelength=1.6, labelspacing=0.2)

    problems = problems_in_order(str(record.spec["problem"]) for record in records)
    return _panels(problems, paint, methods, "µs per decision")


def _timed(records: Sequence[Record], problem: str, method: str) -> list[tuple[int, float]]:
    return sorted(
        (int(r.spec["size"]), float(r.measured["decision_us"]["median"]))
        for r in records
        if (r.spec["problem"], r.spec["method"]) == (problem, method)
    )


def training_cost(study: Study) -> bytes:
    """Scores against CPU seconds of training, agents trained on varied instances."""
    costs = _costs(study) if study.settings else {}
    if not costs:
        return _nothing("No training runs yet.")
    setting = study.settings[0]
    methods = methods_in_order(method for _, method in costs)

    def paint(axes: Any, problem: str) -> None:
        for name, record in study.policies(setting, problem).items():
            if name in ACROSS:
                _across(axes, name, _score([record]))
        for method in methods:
            if (problem, method) in costs:
                runs = study.runs(setting)[problem, method, STRATEGY]
                _dots(axes, method, [costs[problem, method]], [_score(runs)], size=7)
        axes.set_xlim(0.5 * min(costs.values()), 2 * max(costs.values()))
        _logarithmic(axes.xaxis)
        axes.set_xlabel("CPU seconds")
        _room(axes)

    problems = problems_in_order(problem for problem, _ in costs)
    across = [n for n in ACROSS if any(n in study.policies(setting, p) for p in problems)]
    return _panels(problems, paint, [*methods, *across], "score on unseen instances")


def _costs(study: Study) -> Mapping[tuple[str, str], float]:
    found = {}
    for (problem, method, strategy), runs in study.runs(study.settings[0]).items():
        costs = [cost for run in runs if (cost := training_cpu(study.ledger, run)) is not None]
        if strategy == STRATEGY and costs:
            found[problem, method] = mean(costs)
    return found


def _score(records: Sequence[Record]) -> float | None:
    return middle(values_of(records, "score"))[0]


# -- drawing


def _panels(problems: Sequence[str], paint: Painter, names: Sequence[str], title: str) -> bytes:
    """One panel per problem, and the legend in the place after the last."""
    with matplotlib.rc_context(_STYLE):
        rows = -(-(len(problems) + 1) // _COLUMNS)
        size = (_WIDTH, _HEIGHT * rows / 2)
        figure, grid = plt.subplots(
            rows, _COLUMNS, figsize=size, layout="constrained", squeeze=False
        )
        places = list(grid.flat)
        for problem, axes in zip(problems, places, strict=False):
            paint(axes, problem)
            axes.set_title(problem, fontsize=9, fontweight="bold", loc="left")
        for axes in places[len(problems) :]:
            axes.axis("off")
        for axes in grid[:, 0]:
            axes.set_ylabel(title)
        handles = [_handle(name) for name in names]
        places[len(problems)].legend(handles=handles, loc="center left", frameon=False)
        return _svg(figure)


def _nothing(sentence: str) -> bytes:
    with matplotlib.rc_context(_STYLE):
        figure = plt.figure(figsize=(_WIDTH, 0.6))
        figure.text(0.02, 0.5, sentence, va="center")
        return _svg(figure)


def _svg(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(
        stream, format="svg", facecolor="white", metadata={"Date": None, "Creator": None}
    )
    plt.close(figure)
    return stream.getvalue()


def _logarithmic(axis: Any) -> None:
    """Ticks at 1, 2, 5, 10, … or, over many decades, at 1, 10, …, as plain numbers."""
    axes, name = axis.axes, axis.axis_name
    getattr(axes, f"set_{name}scale")("log")
    low, high = getattr(axes, f"get_{name}lim")()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 60 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " ")))
    axis.set_minor_formatter(NullFormatter())


def _marker(method: str, size: float) -> dict[str, Any]:
    style = style_of(method)
    shape = style.symbol.removesuffix("-open")
    filled = style.colour if shape == style.symbol else "white"
    return {
        "color": style.colour,
        "marker": _MARKS.get(shape, "o"),
        "markersize": size + 2 * (shape == "star"),
        "markerfacecolor": filled,
    }


def _dots(axes: Any, method: str, x: Sequence[float], y: Sequence[Any], size: float = 5) -> None:
    axes.plot(x, y, linestyle="none", **_marker(method, size))


def _room(axes: Any) -> None:
    """Scores from 0 on, unless all of them are high, with room for the marks at the ends."""
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.05 if low > 0.5 else min(low, -0.03), high + 0.04 * (high - low))


def _across(axes: Any, name: str, value: float | None) -> None:
    if value is not None:
        style = style_of(name)
        axes.axhline(
            value, color=style.colour, linestyle=_DASHES[style.dash], linewidth=1, zorder=0
        )


def _handle(name: str) -> Any:
    style = style_of(name)
    if name in ACROSS:
        style = {"color": style.colour, "linestyle": _DASHES[style.dash], "linewidth": 1}
        return plt.Line2D([], [], label=label_of(name), **style)
    return plt.Line2D([], [], linestyle="none", label=label_of(name), **_marker(name, 6))


#: figures by the names of their files
FIGURES: dict[str, Callable[[Study], bytes]] = {
    "generalization": generalization,
    "decision-times": decision_times,
    "training-cost": training_cost,
}
