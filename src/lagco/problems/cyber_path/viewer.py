"""A picture of an attack in progress."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.core.graph import GraphView
from lagco.problems.cyber_path.network import VULNERABILITIES
from lagco.problems.cyber_path.outcomes import ADMIN

_DARK, _OWNED, _KNOWN, _GREY, _RED, _GOLD = (
    "#1f3a5f", "#3b6ea5", "#dbe7f3", "#aab4bf", "#c0392b", "#e0a030",
)  # fmt: skip


def draw_attacks(
    axes: Any, view: GraphView, host_of: npt.NDArray[np.int64], num_hosts: int
) -> None:
    """Hosts on a circle in the order of discovery (hidden ones as dots), attacks as arrows.

    Hosts carry their number in the instance. Blue: owned, dark with admin privilege; pale: its
    vulnerabilities are known; white: they are not; red: stopped; a gold ring: evaded. Arrows to
    owned hosts are dark, a small ring outside marks attacks of a host on itself.
    """
    angle = np.pi / 2 - 2.0 * np.pi * np.arange(num_hosts) / num_hosts
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    radius = min(0.085, 2.2 / num_hosts)
    size = view.num_nodes
    owned = np.asarray(view.nodes["owned"], dtype=bool)
    _draw_arrows(axes, view, points, owned, radius)
    axes.scatter(*points[size:].T, s=6, color=_GREY, zorder=2)
    for row in range(size):
        _draw_host(axes, view, row, points[row], radius, str(host_of[row]))
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.36, 1.24)
    _draw_legend(axes)
    axes.set_title(f"{int(owned.sum())} of {num_hosts} hosts owned, {size} visible", fontsize=8)


def _draw_arrows(axes: Any, view: GraphView, points: Any, owned: Any, radius: float) -> None:
    from matplotlib.patches import Circle, FancyArrowPatch

    for source, target in view.edges.T.tolist():
        if source == target:
            outside = points[source] * (1.0 + 1.55 * radius)
            axes.add_patch(
                Circle(outside, 0.4 * radius, fill=False, color=_OWNED, lw=0.9, zorder=1)
            )
            continue
        there = points[target] - points[source]
        gap = there / np.hypot(*there) * radius
        axes.add_patch(
            FancyArrowPatch(
                points[source] + gap,
                points[target] - 1.15 * gap,
                connectionstyle="arc3,rad=0.12",
                arrowstyle="-|>",
                mutation_scale=6,
                lw=0.9 if owned[target] else 0.7,
                color=_OWNED if owned[target] else _GREY,
                zorder=1.5 if owned[target] else 1,
            )
        )


def _draw_host(axes: Any, view: GraphView, row: int, point: Any, radius: float, label: str) -> None:
    from matplotlib.patches import Circle

    nodes = view.nodes
    face = _KNOWN if nodes["shown"][row][VULNERABILITIES] else "white"
    if nodes["owned"][row]:
        face = _DARK if nodes["privilege"][row] == ADMIN else _OWNED
    if nodes["stopped"][row]:
        face = _RED
    evaded = bool(nodes["evaded"][row])
    axes.add_patch(
        Circle(
            point,
            radius,
            facecolor=face,
            edgecolor=_GOLD if evaded else _DARK,
            lw=2.0 if evaded else 0.8,
            zorder=3,
        )
    )
    dark = bool(nodes["owned"][row]) or bool(nodes["stopped"][row])
    axes.text(
        *point, label, ha="center", va="center", fontsize=min(6.0, 70 * radius),
        color="white" if dark else _DARK, zorder=4, fontweight="bold" if row == 0 else "normal",
    )  # fmt: skip


def _draw_legend(axes: Any) -> None:
    from matplotlib.lines import Line2D

    entries = (
        ("owned", _OWNED, _DARK),
        ("owned, admin", _DARK, _DARK),
        ("known", _KNOWN, _DARK),
        ("visible", "white", _DARK),
        ("stopped", _RED, _DARK),
        ("evaded", "white", _GOLD),
        ("hidden", _GREY, _GREY),
    )
    marks = [
        Line2D([], [], ls="", marker="o", ms=3 if name == "hidden" else 5, mfc=face, mec=edge,
               mew=1.5 if edge == _GOLD else 0.6, label=name)
        for name, face, edge in entries
    ]  # fmt: skip
    axes.legend(
        handles=marks, loc="lower center", ncol=7, fontsize=4.8, frameon=False,
        handletextpad=0.1, columnspacing=0.7, borderaxespad=0.0,
    )  # fmt: skip
