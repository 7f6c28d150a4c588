"""A picture of a cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.core.graph import GraphView
from lagco.core.picture import draw_edges, layout


def draw_cover(axes: Any, view: GraphView, size: int) -> None:
    """Selected nodes dark, uncovered edges red."""
    points = layout(view)
    covered = np.asarray(view.edge_attributes["covered"], dtype=bool)
    selected = np.asarray(view.nodes["selected"], dtype=bool)
    draw_edges(axes, points, view.edges[:, covered], "#c3cad3", 0.6)
    draw_edges(axes, points, view.edges[:, ~covered], "#c0392b", 0.9)
    axes.scatter(*points[~selected].T, s=30, color="white", edgecolor="#5b6b7b", zorder=2)
    axes.scatter(*points[selected].T, s=36, color="#1f3a5f", zorder=3)
    bare = int((~covered).sum())
    axes.set_title(f"{size} nodes selected, {bare} edges uncovered", fontsize=8)
