"""A picture of a tour."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.problems.tsp.distances import Metric


def draw_tour(axes: Any, metric: Metric, tour: Any, closed: bool, length: float) -> None:
    """Cities as dots, the tour as a line from its green start to its orange end."""
    cities = metric[1]
    path = cities[np.append(tour, tour[0])] if closed else cities[tour]
    axes.plot(path[:, 0], path[:, 1], "-", color="#3b6ea5", linewidth=1.2, zorder=1)
    axes.scatter(*cities.T, s=14, color="#9aa5b1", zorder=2)
    axes.scatter(*cities[tour].T, s=14, color="#1f3a5f", zorder=3)
    axes.scatter(*cities[tour[:1]].T, s=46, color="#2e8b57", zorder=4)
    axes.scatter(*cities[tour[-1:]].T, s=30, color="#e07b39", zorder=5)
    state = f"tour {length:.6g}" if closed else f"completed {length:.6g}"
    axes.set_title(f"{len(tour)} of {len(cities)} cities, {state}", fontsize=8)
