"""Figures as plain dictionaries that plotly.js understands; colours of the page are added there."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from lagco.report.palette import label_of, style_of

Trace: TypeAlias = dict[str, Any]
Number: TypeAlias = float | int | None


def label(name: str) -> str:
    """A name as plotly shows it literally: it reads some markup otherwise."""
    return html.escape(name, quote=False).replace("$", "&#36;")


def numbers(values: Iterable[Number], digits: int = 4) -> list[Number]:
    """Values to some significant digits; None for values that cannot be drawn."""
    return [_number(value, digits) for value in values]


def _number(value: Number, digits: int) -> Number:
    if value is None or isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return ({"title": {"text": title}} if title else {}) | more


def named_axis(names: Sequence[str], title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a name at 0, 1, 2, …"""
    places: dict[str, Any] = {
        "tickvals": list(range(len(names))),
        "ticktext": [label(name) for name in names],
        "range": [-0.55, len(names) - 0.45],
        "zeroline": False,
    }
    return axis(title, **places, **more)


def log_axis(title: str, values: Iterable[Number]) -> dict[str, Any]:
    """A logarithmic axis with ticks at 1, 10, 100, … or, over less than two decades, at 1, 2, 5."""
    known = [value for value in values if value and value > 0]
    minor = {"ticks": "outside", "ticklen": 2, "showgrid": False}
    if not known or max(known) / min(known) >= 100:
        return axis(title, type="log", dtick=1, exponentformat="SI", minor=minor)
    low, high = math.floor(math.log10(min(known))) - 1, math.ceil(math.log10(max(known))) + 1
    ticks = [float(f"{digit}e{power}") for power in range(low, high) for digit in (1, 2, 5)]
    return axis(title, type="log", tickvals=numbers(ticks), ticktext=[_short(t) for t in ticks])


def _short(value: float) -> str:
    """A round number as plotly writes it: 2000, 20k."""
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:g}"


def figure(
    traces: Sequence[Trace], x: Mapping[str, Any], y: Mapping[str, Any], **layout: Any
) -> dict[str, Any]:
    """A figure with one pair of axes."""
    return {"data": list(traces), "layout": {"xaxis": dict(x), "yaxis": dict(y), **layout}}


#: marks along a line at most
_MARKS = 8


def line(
    method: str, x: Sequence[Number], y: Sequence[Number], *, marks: bool = True, **more: Any
) -> Trace:
    """A line in the colour of a method, with some of its marks as the legend shows them."""
    drawn = style_of(method)
    return {
        "type": "scatter",
        "mode": "lines+markers" if marks else "lines",
        "name": label(label_of(method)),
        "meta": method,
        "x": numbers(x),
        "y": numbers(y),
        "line": {"color": drawn.colour, "dash": drawn.dash, "width": 1.8},
        "marker": {
            "color": drawn.colour,
            "symbol": drawn.symbol,
            "size": 6,
            "maxdisplayed": _MARKS,
        },
    } | more


def dots(method: str, x: Sequence[Any], y: Sequence[Any], *, size: float = 7, **more: Any) -> Trace:
    """Marks of a method without a line."""
    drawn = style_of(method)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label(label_of(method)),
        "meta": method,
        "x": list(x),
        "y": list(y),
        "marker": {"color": drawn.colour, "symbol": drawn.symbol, "size": size},
    } | more


def band(method: str, x: Sequence[Number], low: Sequence[Number], high: Sequence[Number]) -> Trace:
    """The area between two lines, in the faint colour of a method."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(label_of(method)),
        "meta": method,
        "x": numbers([*x, *reversed(x)]),
        "y": numbers([*low, *reversed(high)]),
        "fill": "toself",
        "fillcolor": faint(style_of(method).colour, 0.16),
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def box(
    method: str,
    places: Sequence[Any],
    quantiles: Sequence[Sequence[float]],
    *,
    horizontal: bool = False,
    **more: Any,
) -> Trace:
    """Boxes from their 5, 25, 50, 75 and 95 % quantiles, so that no sample travels along.

    Args:
        method: whose colour.
        places: where on the axis.
        quantiles: five per box.
        horizontal: whether values run to the right.
        more: further entries.
    """
    colour = style_of(method).colour
    names = ("lowerfence", "q1", "median", "q3", "upperfence")
    spread = {name: numbers([row[i] for row in quantiles]) for i, name in enumerate(names)}
    return {
        "type": "box",
        "name": label(label_of(method)),
        "meta": method,
        "orientation": "h" if horizontal else "v",
        "y" if horizontal else "x": list(places),
        "line": {"color": colour, "width": 1.3},
        "fillcolor": faint(colour, 0.25),
        "hoverinfo": "x" if horizontal else "y",
        **spread,
    } | more


def faint(colour: str, share: float) -> str:
    """A colour of six hexadecimal digits with some transparency."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


def error_bars(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Trace:
    """Asymmetric error bars around values."""
    return {
        "type": "data",
        "symmetric": False,
        "array": numbers([max(h - v, 0.0) for v, h in zip(values, high, strict=True)]),
        "arrayminus": numbers([max(v - w, 0.0) for v, w in zip(values, low, strict=True)]),
        "thickness": 1,
        "width": 0,
    }
