"""A picture of a cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.pictures.drawing import BLUE, DARK, GREY, ORANGE, draw_legend, mark, stroke

_LABELLED = 120  # nodes up to which their numbers fit in
_WIDE, _BULGE = 0.45, 0.5


def draw_cut(axes: Any, view: GraphView, cut: float) -> None:
    """The two sides left and right, each in the order of the numbers, which begin with 1.

    Edges that are cut lead across, the others in bows outside; heavier ones are wider and stronger.
    """
    from matplotlib.collections import LineCollection

    n = view.num_nodes
    side = np.asarray(view.nodes["side"], dtype=bool)
    rank = np.where(side, np.cumsum(side), np.cumsum(~side)) - 0.5
    height = 1.0 - 2.0 * rank / np.where(side, side.sum(), (~side).sum())
    points = np.stack([np.where(side, _WIDE, -_WIDE), height], axis=1)
    weight = np.abs(np.asarray(view.edge_attributes["weight"], dtype=float))
    weight = weight / max(float(weight.max(initial=0.0)), 1e-12)
    crossing = side[view.edges[0]] != side[view.edges[1]]
    crowd = min(1.0, 10.0 / np.sqrt(max(view.num_edges, 1)))  # many edges are thinner and paler
    curves = _curves(points, view.edges)
    for which, colour, over in ((~crossing, GREY, 1), (crossing, BLUE, 2)):
        if not which.any():
            continue
        axes.add_collection(
            LineCollection(
                list(curves[which]),
                colors=colour,
                linewidths=crowd * (0.3 + 0.9 * weight[which]),
                alpha=crowd * (0.3 + 0.7 * weight[which]),
                zorder=over,
            )
        )
    labelled = n <= _LABELLED
    dots = max(3.0, min(26.0, 1200 / n))
    for which, colour, sign in ((~side, DARK, -1.0), (side, ORANGE, 1.0)):
        axes.scatter(*points[which].T, s=dots, color=colour, zorder=3)
        for v in np.flatnonzero(which).tolist() if labelled else ():
            axes.text(
                points[v, 0] + 0.05 * sign,
                points[v, 1],
                str(v + 1),
                fontsize=max(3.2, min(6.0, 400 / n)),
                ha="left" if sign > 0 else "right",
                va="center",
                color=colour,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.08", "fc": "white", "ec": "none", "alpha": 0.8},
            )
    axes.set_xlim(-1.05, 1.05)
    axes.set_ylim(-1.05, 1.05)
    draw_legend(
        axes,
        [
            mark("side 0", DARK),
            mark("side 1", ORANGE),
            stroke("cut", BLUE),
            stroke("not cut", GREY),
        ],
    )
    axes.set_title(f"{int((~side).sum())} and {int(side.sum())} nodes, cut {cut:.6g}", fontsize=8)


def _curves(points: Array, edges: Array) -> Array:
    """Lines (E, 9, 2): straight from side to side, bows outwards within one."""
    first, last = points[edges[0]], points[edges[1]]
    along = np.linspace(0.0, 1.0, 9)
    lines = first[:, None] + (last - first)[:, None] * along[:, None]
    same = (first[:, 0] == last[:, 0]) * np.sign(first[:, 0])
    out = _BULGE * np.abs(last[:, 1] - first[:, 1]) * same
    lines[..., 0] += out[:, None] * (4.0 * along * (1.0 - along))[None] / 2.0
    return lines
