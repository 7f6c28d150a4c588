"""Decision times over sizes: curves, exponents, spread and parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lagco.report.blocks import Block, Grid, Heading, Key, Legend, Plot, Shown, Text, Together
from lagco.report.blocks import switch as choice
from lagco.report.palette import label_of, methods_in_order, problems_in_order, unit_of
from lagco.report.plots import axis, box, dots, figure, label, line, log_axis, named_axis, numbers
from lagco.report.reading import Study, count_of, grouped, listed
from lagco.report.sections.common import slug
from lagco.report.tables import Cell, Column, Table, mark_best, plain_columns, table
from lagco.study import Record, scaling

#: parts of a decision in order, from dark to light
_PARTS = {
    "encode": "#00224e",
    "actions": "#2c3a6b",
    "observe": "#434e6c",
    "policy": "#7d7c78",
    "search": "#bcae6c",
    "list": "#e2cc56",
    "values": "#fee838",
}
#: of the quantiles in a record, those that a box shows: 5, 25, 50, 75 and 95 %
_BOX = (2, 3, 4, 5, 6)


def blocks(study: Study) -> Sequence[Block] | str:
    """Curves with exponents, boxes and parts, per feature set."""
    records = study.records("latency")
    if not records:
        return (
            "The ledger holds no timed decisions. lagco study scalability --out DIR measures them."
        )
    fits = scaling(study.ledger)
    sets = grouped(records, lambda record: str(record.spec["features"]))
    return [
        choice(
            "Features",
            {
                features: Together(
                    _of_features(
                        features if len(sets) > 1 else "",
                        chosen,
                        [fit for fit in fits if fit["features"] == features],
                    )
                )
                for features, chosen in sorted(sets.items())
            },
        )
    ]


def _of_features(features: str, records: list[Record], fits: list[dict[str, Any]]) -> list[Block]:
    timed = [record for record in records if record.result["refused"] is None]
    refused = [record for record in records if record.result["refused"] is not None]
    suffix = f"-{slug(features)}" if features else ""
    if not timed:
        return [Text("No decision could be timed: " + _why(refused))]
    methods = methods_in_order(str(record.spec["method"]) for record in timed)
    found: list[Block] = [Legend(methods), _curves(timed, fits)]
    if fits:
        found.append(_exponents(fits, suffix))
    found += [Heading("Spread of decision times"), _boxes(timed)]
    found += [Heading("Parts of a decision"), _parts(timed, methods)]
    found.append(Shown(_medians(records, suffix)))
    if refused:
        found.append(Text("Not measured: " + _why(refused), "note"))
    return found


def _why(refused: Sequence[Record]) -> str:
    """Reasons why something was not measured, by method."""
    parts = []
    for (method, reason), records in grouped(
        refused, lambda r: (str(r.spec["method"]), str(r.result["refused"]))
    ).items():
        by_problem = grouped(records, lambda r: str(r.spec["problem"]))
        places = [
            f"{problem} at {listed(str(size) for size in sorted(int(r.spec['size']) for r in rs))}"
            for problem, rs in by_problem.items()
        ]
        parts.append(f"{method} on {listed(places)} ({reason})")
    more = f"; and {count_of(len(parts) - 8, 'more reason')}" if len(parts) > 8 else ""
    return "; ".join(parts[:8]) + more + "."


def _series(records: Sequence[Record], problem: str, method: str) -> list[Record]:
    chosen = [r for r in records if r.spec["problem"] == problem and r.spec["method"] == method]
    return sorted(chosen, key=lambda record: int(record.spec["size"]))


def _problems(records: Sequence[Record]) -> list[str]:
    return problems_in_order(str(record.spec["problem"]) for record in records)


def _methods(records: Sequence[Record]) -> list[str]:
    return methods_in_order(str(record.spec["method"]) for record in records)


def _median(record: Record) -> float:
    return float(record.measured["decision_us"]["median"])


# -- curves and exponents


def _curves(records: Sequence[Record], fits: Sequence[dict[str, Any]]) -> Block:
    plots = [Plot(problem, _curve(records, fits, problem)) for problem in _problems(records)]
    decisions = sorted({int(record.measured.get("decisions") or 0) for record in records})
    caption = (
        "Median time of a whole decision against size. A decision goes from a changed state to the "
        "next action in hand. Both axes are logarithmic; "
        f"{decisions[0]} to {decisions[-1]} decisions per mark, one thread. Straight lines: fitted "
        "power laws."
    )
    if decisions[0] == decisions[-1]:
        caption = caption.replace(f"{decisions[0]} to {decisions[-1]}", str(decisions[0]))
    return Grid(plots, caption)


def _curve(
    records: Sequence[Record], fits: Sequence[dict[str, Any]], problem: str
) -> dict[str, Any]:
    traces: list[dict[str, Any]] = []
    every: list[float] = []
    sizes: list[int] = []
    unit = unit_of(problem, drawn=True)
    for method in _methods(records):
        series = _series(records, problem, method)
        if not series:
            continue
        x = [int(record.spec["size"]) for record in series]
        y = [_median(record) for record in series]
        every, sizes = every + y, sizes + x
        fit = next((f for f in fits if _is(f, problem, method, "decision")), None)
        if fit is not None:
            ends = [float(x[0]), float(fit["largest"])]
            law = [fit["factor"] * end ** fit["alpha"] for end in ends]
            exponent = f"{label(label_of(method))}: α = {fit['alpha']:.2f}"
            traces.append(line(method, ends, law, marks=False, hoverinfo="name", name=exponent))
        hover = f"%{{x}} {unit}: %{{y:.4g}} µs"
        traces.append(dots(method, x, numbers(y), size=8, hovertemplate=hover))
    return figure(traces, log_axis(unit, sizes), log_axis("µs per decision", every))


def _is(fit: dict[str, Any], problem: str, method: str, part: str) -> bool:
    return (fit["problem"], fit["method"], fit["part"]) == (problem, method, part)


def _exponents(fits: Sequence[dict[str, Any]], suffix: str) -> Block:
    named = {
        "whole decision": ("decision", "of whole decisions"),
        "selection only": (
            "selection",
            "of everything but encoding and observing, for every method alike (reading the actions "
            "of the state, policy, choice), which is what the paper times",
        ),
    }
    return choice(
        "Time of the",
        {
            name: Shown(_exponent_table(fits, part, words, suffix))
            for name, (part, words) in named.items()
        },
    )


def _exponent_table(fits: Sequence[dict[str, Any]], part: str, words: str, suffix: str) -> Table:
    methods = methods_in_order(str(fit["method"]) for fit in fits)
    problems = problems_in_order(str(fit["problem"]) for fit in fits)
    columns = [Column("problem", "problem")]
    for method in methods:
        columns += [
            Column("alpha", "α", method, digits=2),
            Column("r2", "R²", method, digits=2),
        ]
    rows = []
    for problem in problems:
        alphas, fitness = [], []
        for method in methods:
            fit = next((f for f in fits if _is(f, problem, method, part)), None)
            if fit is None:
                alphas.append(Cell())
                fitness.append(Cell())
            else:
                alphas.append(Cell(fit["alpha"], fit["low"], fit["high"], fit["paper_alpha"]))
                fitness.append(Cell(fit["r2"], paper=fit["paper_r2"]))
        alphas = _mark_smallest(alphas, columns[1::2])
        rows.append(
            [Cell(problem), *(c for pair in zip(alphas, fitness, strict=True) for c in pair)]
        )
    points = sorted({int(fit["points"]) for fit in fits})
    span = f"{points[0]} to {points[-1]}" if points[0] != points[-1] else str(points[0])
    caption = (
        f"Exponents α of the power law time = c · size^α. Of the time {words}, fitted to medians "
        f"at {span} sizes, with 95 % intervals and the share R² of the variance that it explains. "
        "Bold: the "
        "smallest exponent of the row, unless its interval includes zero. The paper's figures are "
        "of action selection, for its own machine, sizes and implementation."
    )
    return table(f"scaling-{part}{suffix}", caption, columns, rows, "95 %")


def _mark_smallest(alphas: Sequence[Cell], columns: Sequence[Column]) -> list[Cell]:
    """The smallest exponent marked, unless it may as well be zero or below."""
    marked = mark_best(alphas, columns, smallest=True)
    return [replace(c, best=c.best and c.low is not None and c.low > 0) for c in marked]


# -- spread and parts


def _boxes(records: Sequence[Record]) -> Block:
    plots = []
    for problem in _problems(records):
        chosen = [record for record in records if record.spec["problem"] == problem]
        sizes = sorted({int(record.spec["size"]) for record in chosen})
        methods = _methods(chosen)
        traces, every = [], []
        for place, method in enumerate(methods):
            shift = 0.8 * ((place + 0.5) / len(methods) - 0.5)
            series = _series(chosen, problem, method)
            x = [sizes.index(int(record.spec["size"])) + shift for record in series]
            quantiles = [
                [record.measured["decision_us"]["quantiles"][i] for i in _BOX] for record in series
            ]
            every += [value for row in quantiles for value in row]
            traces.append(box(method, numbers(x), quantiles, width=0.6 / len(methods)))
        unit = unit_of(problem, drawn=True)
        x_axis = named_axis([str(size) for size in sizes], unit, showgrid=False)
        plots.append(Plot(problem, figure(traces, x_axis, log_axis("µs per decision", every))))
    caption = (
        "Time of single decisions at every size. Boxes: quartiles and median; whiskers: 5th and "
        "95th percentile."
    )
    return Grid(plots, caption)


def _parts(records: Sequence[Record], methods: Sequence[str]) -> Block:
    names = [part for part in _PARTS if any(part in r.measured["parts_us"] for r in records)]
    known = {part for record in records for part in record.measured["parts_us"]}
    names += sorted(known - set(names))
    colours = {name: _PARTS.get(name, "#999999") for name in names}

    def grid(method: str) -> Block:
        plots = [
            Plot(problem, _stack(series, colours, unit_of(problem, drawn=True)), height=220)
            for problem in _problems(records)
            if (series := _series(records, problem, method))
        ]
        caption = (
            f"Parts of a decision of {method} at every size. Shares are of the sum of the medians "
            "of the parts."
        )
        return Grid(plots, caption)

    return Together([Key(colours), choice("Method", {method: grid(method) for method in methods})])


def _stack(series: Sequence[Record], colours: dict[str, str], unit: str) -> dict[str, Any]:
    sizes = [str(record.spec["size"]) for record in series]
    medians = [
        {name: part["median"] for name, part in record.measured["parts_us"].items()}
        for record in series
    ]
    traces = []
    for name, colour in colours.items():
        shares = [100.0 * row.get(name, 0.0) / sum(row.values()) for row in medians]
        if any(shares):
            traces.append(
                {
                    "type": "bar",
                    "name": label(name),
                    "x": sizes,
                    "y": numbers(shares),
                    "customdata": numbers([row.get(name, 0.0) for row in medians]),
                    "hovertemplate": "%{customdata:.4g} µs (%{y:.0f} %)",
                    "marker": {"color": colour},
                }
            )
    x_axis = axis(unit, type="category", showgrid=False)
    return figure(traces, x_axis, axis("%", range=[0, 100]), barmode="stack", bargap=0.25)


def _medians(records: Sequence[Record], suffix: str) -> Table:
    methods = _methods(records)
    columns = [
        *plain_columns("problem", "size", "nodes", "actions"),
        *(Column(method, label_of(method), "µs per decision") for method in methods),
    ]
    rows = []
    for problem in _problems(records):
        chosen = [record for record in records if record.spec["problem"] == problem]
        for size, same in sorted(grouped(chosen, lambda r: int(r.spec["size"])).items()):
            by_method = {str(record.spec["method"]): record for record in same}
            times = [_time(by_method.get(method)) for method in methods]
            times = mark_best(times, columns[4:], smallest=True)
            nodes = [r.result["nodes"] for r in same if r.result["nodes"] is not None]
            actions = [r.result["actions"] for r in same if r.result["actions"] is not None]
            counts = [Cell(max(nodes, default=None)), Cell(max(actions, default=None))]
            rows.append([Cell(problem), Cell(size), *counts, *times])
    caption = (
        "Median time of a whole decision, and the 5th to the 95th percentile. Actions: mean number "
        "in a state. Bold: the shortest of the row."
    )
    return table(f"decision-times{suffix}", caption, columns, rows, "5–95 %")


def _time(record: Record | None) -> Cell:
    if record is None or record.result["refused"] is not None:
        return Cell()
    quantiles = record.measured["decision_us"]["quantiles"]
    return Cell(_median(record), quantiles[_BOX[0]], quantiles[_BOX[-1]])
