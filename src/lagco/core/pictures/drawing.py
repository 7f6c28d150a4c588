"""Parts of drawings that several problems share: layouts, edges, labels, legends, colour bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.core.graph import GraphView

Points = npt.NDArray[np.float64]

#: the colours of all drawings
DARK, BLUE, PALE, GREY, LIGHT = "#1f3a5f", "#3b6ea5", "#dbe7f3", "#9aa5b1", "#d5dae0"
GREEN, ORANGE, RED, GOLD = "#2e8b57", "#e07b39", "#c0392b", "#e0a030"

_LARGE = 500  # nodes from which springs take too long
_FEW = 60  # nodes up to which there is time to draw distances as they are in the graph
_ALONE = 0.45  # room of a node without edges, relative to that of others
_LONGEST = 16  # letters of a name
_LETTERS = 6.0  # size of the letters of a legend, in points


def layout(view: GraphView) -> Points:
    """Positions of the nodes (n, 2): components by springs, side by side; large graphs on a circle.

    Every component has room in proportion to its nodes, so that neither nodes without edges nor
    small components squash the rest.
    """
    return _layout(view.num_nodes, view.edges.astype(np.int64).tobytes()).copy()


@lru_cache(maxsize=4)  # an animation draws the same graph again and again
def _layout(n: int, edges: bytes) -> Points:
    if n > _LARGE:
        angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    import networkx as nx  # slow to import

    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(np.frombuffer(edges, dtype=np.int64).reshape(2, -1).T.tolist())
    points = np.zeros((n, 2))
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=_by_size)
    sides = [_ALONE if len(part) == 1 else np.sqrt(len(part)) for part in parts]
    for part, side, corner in zip(parts, sides, _shelves(sides), strict=True):
        inner = graph.subgraph(part)
        if len(part) <= _FEW:
            placed = nx.kamada_kawai_layout(inner)
        else:
            placed = nx.spring_layout(inner, seed=0, iterations=60)
        inside = np.array([placed[v] for v in part])
        span = np.ptp(inside, axis=0).max() or 1.0
        middle = (inside.max(axis=0) + inside.min(axis=0)) / 2.0
        points[part] = corner + (inside - middle) / span * 0.9 * side + side / 2.0
    return points


def _by_size(part: list[int]) -> tuple[int, int]:
    return -len(part), part[0]


def _shelves(sides: Sequence[float]) -> Points:
    """Lower left corners of squares, in rows from the largest to the smallest."""
    if not sides:
        return np.zeros((0, 2))
    width = max(sides[0], 1.15 * float(np.sqrt(np.square(sides).sum())))
    corners, x, y, tall = [], 0.0, 0.0, 0.0
    for side in sides:
        if x and x + side > width + 1e-9:
            x, y, tall = 0.0, y + tall, 0.0
        corners.append((x, -y - side))
        x, tall = x + side, max(tall, side)
    return np.array(corners)


def draw_edges(
    axes: Any, points: Points, edges: npt.NDArray[np.int64], color: Any, width: Any
) -> None:
    """Straight lines for `edges` (2, E) between `points` (n, 2)."""
    from matplotlib.collections import LineCollection

    lines = list(points[edges.T])
    axes.add_collection(LineCollection(lines, colors=color, linewidths=width, alpha=1, zorder=1))
    axes.autoscale_view()


def label(name: Any) -> str:
    """A name as it is drawn: cut where it is long, never taken for a formula."""
    text = str(name)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return text.replace("$", r"\$")


def mark(name: str, face: str, edge: str | None = None, size: float = 5.0) -> Any:
    """Entry of a legend: a dot."""
    from matplotlib.lines import Line2D

    edge = face if edge is None else edge
    return Line2D([], [], ls="", marker="o", ms=size, mfc=face, mec=edge, mew=0.8, label=name)


def stroke(name: str, color: str) -> Any:
    """Entry of a legend: a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, lw=1.5, label=name)


def draw_legend(axes: Any, entries: Iterable[Any]) -> None:
    """Draw a legend of colours below a drawing, in as many lines as needed."""
    handles = list(entries)
    room = axes.get_position(original=True).width * axes.figure.get_figwidth() * 72.0
    widest = max(len(entry.get_label()) for entry in handles)
    across = max(1, int(room / (_LETTERS * (0.6 * widest + 2.8))))
    rows = -(-len(handles) // across)
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncol=-(-len(handles) // rows),
        fontsize=_LETTERS,
        frameon=False,
        handlelength=1.2,
        handletextpad=0.3,
        columnspacing=1.0,
        borderaxespad=0.2,
    )


#: width of a letter next to a colour bar, in inches
_LETTER = 0.05


def draw_colour_bar(axes: Any, colours: Any, title: str, form: str = "{:g}") -> None:
    """Draw a colour bar below a drawing.

    Args:
        axes: of the drawing.
        colours: a ``ScalarMappable``.
        title: what is shown, with its unit.
        form: of the numbers on it, such as ``{:.0%}``.
    """
    from matplotlib.ticker import MaxNLocator

    low, high = colours.norm.vmin, colours.norm.vmax
    ticks = [t for t in MaxNLocator(5).tick_values(low, high) if low <= t <= high]
    left = max(0.3, 0.03 + _LETTER * len(title) / axes.figure.get_size_inches()[0])
    left = min(left, 0.78)  # a bar of some length in any case
    inset = axes.inset_axes((left, -0.045, min(0.5, 0.98 - left), 0.02))
    bar = axes.figure.colorbar(colours, cax=inset, orientation="horizontal")
    bar.set_ticks(ticks, labels=[form.format(tick) for tick in ticks])
    bar.ax.tick_params(labelsize=5.5, length=2, pad=1)
    bar.outline.set_linewidth(0.4)
    inset.text(-0.03, 0.5, title, transform=inset.transAxes, ha="right", va="center", fontsize=6)
