"""A picture of a tour."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.core.pictures.drawing import BLUE, DARK, GREEN, GREY, ORANGE, draw_legend, mark
from lagco.problems.tsp.distances import Metric


def draw_tour(axes: Any, metric: Metric, tour: Any, closed: bool, length: float) -> None:
    """Cities as dots, the tour as a line from its green start to its orange end."""
    cities = metric[1]
    path = cities[np.append(tour, tour[0])] if closed else cities[tour]
    axes.plot(path[:, 0], path[:, 1], "-", color=BLUE, linewidth=1.2, zorder=1)
    axes.scatter(*cities.T, s=14, color=GREY, zorder=2)
    axes.scatter(*cities[tour].T, s=14, color=DARK, zorder=3)
    axes.scatter(*cities[tour[:1]].T, s=46, color=GREEN, zorder=4)
    axes.scatter(*cities[tour[-1:]].T, s=30, color=ORANGE, zorder=5)
    draw_legend(
        axes,
        [mark("start", GREEN), mark("last", ORANGE), mark("visited", DARK), mark("open", GREY)],
    )
    state = f"tour {length:.6g}" if closed else f"completed {length:.6g}"
    axes.set_title(f"{len(tour)} of {len(cities)} cities, {state}", fontsize=8)
