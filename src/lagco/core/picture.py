"""Pictures of states: matplotlib without a screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.core.graph import GraphView
from lagco.errors import UsageError

PIXELS = 512
_DPI = 128


def rgb_array(draw: Callable[[Any], None]) -> npt.NDArray[np.uint8]:
    """What `draw` puts on square axes, as an array (512, 512, 3)."""
    canvas = _canvas(draw)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def save_picture(
    draw: Callable[[Any], None], path: str | Path, beside: Callable[[Any], None] | None = None
) -> None:
    """Write what `draw` puts on square axes to a file; the suffix sets the format.

    What `beside` puts on axes of its own stands to the right of it.
    """
    path = Path(path)
    check_picture(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _canvas(draw, beside).figure.savefig(path, dpi=_DPI)


def check_picture(path: str | Path) -> None:
    """Refuse a file whose suffix is not that of a picture."""
    from matplotlib.backend_bases import FigureCanvasBase

    suffix = Path(path).suffix.lstrip(".").lower()
    known = FigureCanvasBase.get_supported_filetypes()
    if suffix not in known:
        raise UsageError(f"{path}: give a picture a suffix among {', '.join(sorted(known))}")


def _canvas(draw: Callable[[Any], None], beside: Callable[[Any], None] | None = None) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = 1 if beside is None else 2
    figure = Figure(figsize=(columns * PIXELS / _DPI, PIXELS / _DPI), dpi=_DPI)
    canvas = FigureCanvasAgg(figure)
    if beside is not None:
        beside(figure.add_axes((0.6, 0.15, 0.37, 0.75)))
    axes = figure.add_axes((0.02 / columns, 0.02, 0.96 / columns, 0.9))
    axes.set_axis_off()
    axes.set_aspect("equal")
    draw(axes)
    return canvas


def layout(view: GraphView) -> npt.NDArray[np.float64]:
    """Positions of the nodes (n, 2) for drawing: by springs, on a circle for large graphs."""
    n = view.num_nodes
    if n > 500:
        angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    import networkx as nx  # slow to import

    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(view.edges.T.tolist())
    placed = nx.spring_layout(graph, seed=0, iterations=60)
    return np.array([placed[v] for v in range(n)])


def draw_edges(
    axes: Any,
    points: npt.NDArray[np.float64],
    edges: npt.NDArray[np.int64],
    color: str,
    width: Any,
) -> None:
    """Straight lines for `edges` (2, E) between `points` (n, 2)."""
    from matplotlib.collections import LineCollection

    lines = list(points[edges.T])
    axes.add_collection(LineCollection(lines, colors=color, linewidths=width, zorder=1))
