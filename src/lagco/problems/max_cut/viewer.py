"""A picture of a cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.core.graph import GraphView
from lagco.core.picture import draw_edges


def draw_cut(axes: Any, view: GraphView, cut: float) -> None:
    """The two sides on two arcs, edges between them in colour and as wide as they are heavy."""
    side = np.asarray(view.nodes["side"], dtype=bool)
    points = np.empty((view.num_nodes, 2))
    for where, sign in ((~side, -1.0), (side, 1.0)):
        angle = np.linspace(-1.25, 1.25, max(int(where.sum()), 1))[: int(where.sum())]
        points[where] = np.stack([sign * (0.25 + np.cos(angle)), np.sin(angle)], axis=1)
    weight = np.abs(np.asarray(view.edge_attributes["weight"], dtype=float))
    width = 0.15 + 0.85 * weight / max(float(weight.max(initial=0.0)), 1e-12)
    crossing = side[view.edges[0]] != side[view.edges[1]]
    draw_edges(axes, points, view.edges[:, ~crossing], "#d5dae0", width[~crossing])
    draw_edges(axes, points, view.edges[:, crossing], "#3b6ea5", width[crossing])
    axes.scatter(*points[~side].T, s=24, color="#1f3a5f", zorder=2)
    axes.scatter(*points[side].T, s=24, color="#e07b39", zorder=2)
    axes.set_title(f"{int((~side).sum())} and {int(side.sum())} nodes, cut {cut:.6g}", fontsize=8)
