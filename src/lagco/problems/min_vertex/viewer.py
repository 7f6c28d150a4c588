"""A picture of a cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.core.graph import GraphView
from lagco.core.pictures.drawing import (
    DARK,
    GREY,
    LIGHT,
    RED,
    draw_edges,
    draw_legend,
    layout,
    mark,
    stroke,
)
from lagco.results.numbers import of_things

_LABELLED = 60  # nodes up to which their numbers fit in


def draw_cover(axes: Any, view: GraphView, size: int) -> None:
    """Selected nodes dark, uncovered edges red; nodes carry their numbers, from 1."""
    points = layout(view)
    covered = np.asarray(view.edge_attributes["covered"], dtype=bool)
    selected = np.asarray(view.nodes["selected"], dtype=bool)
    small = view.num_nodes <= _LABELLED
    draw_edges(axes, points, view.edges[:, covered], LIGHT, 0.6)
    draw_edges(axes, points, view.edges[:, ~covered], RED, 0.9)
    dots = 60 if small else max(6.0, 3000 / view.num_nodes)
    axes.scatter(*points[~selected].T, s=dots, color="white", edgecolor=GREY, lw=0.8, zorder=2)
    axes.scatter(*points[selected].T, s=dots, color=DARK, lw=0.8, zorder=3)
    if small:
        for v, (x, y) in enumerate(points):
            colour = "white" if selected[v] else DARK
            axes.text(
                x, y, str(v + 1), color=colour, fontsize=5, ha="center", va="center", zorder=4
            )
    draw_legend(
        axes,
        [
            mark("selected", DARK),
            mark("not selected", "white", GREY),
            stroke("uncovered", RED),
            stroke("covered", LIGHT),
        ],
    )
    bare = int((~covered).sum())
    axes.set_title(
        f"{of_things(size, 'nodes')} selected, {of_things(bare, 'edges')} uncovered", fontsize=8
    )
