"""A picture of an attack in progress."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.core.graph import GraphView
from lagco.core.pictures.drawing import (
    BLUE,
    DARK,
    GOLD,
    GREY,
    LIGHT,
    PALE,
    RED,
    draw_legend,
    label,
    mark,
)
from lagco.instances import Instance
from lagco.instances.formats.hosts import host_names
from lagco.problems.cyber_path.catalogue.outcomes import ADMIN
from lagco.problems.cyber_path.network import VULNERABILITIES
from lagco.problems.cyber_path.patches.patching import Patching
from lagco.results.numbers import of_things

_SHORT = 3  # letters of a name that fit into a host
_PATCHES = 12  # that are shown at most


def draw_attacks(
    axes: Any, instance: Instance, view: GraphView, host_of: npt.NDArray[np.int64]
) -> None:
    """Hosts on a circle in the order of discovery (hidden ones as dots), attacks as arrows.

    Hosts have the names of the instance's file. Blue: owned, dark with admin privilege; pale: its
    vulnerabilities are known; white: they are not; red: stopped; a gold ring: evaded. Arrows to
    owned hosts are blue, a small ring outside marks attacks of a host on itself.
    """
    num_hosts = instance.size
    names = [label(host_names(instance)[host]) for host in host_of]
    angle = np.pi / 2 - 2.0 * np.pi * np.arange(num_hosts) / num_hosts
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    radius = min(0.085, 2.2 / num_hosts)
    size = view.num_nodes
    owned = np.asarray(view.nodes["owned"], dtype=bool)
    _draw_arrows(axes, view, points, owned, radius)
    axes.scatter(*points[size:].T, s=6, color=GREY, zorder=2)
    for row in range(size):
        _draw_host(axes, view, row, points[row], radius, names[row])
    reach = 1.3 if max(map(len, names)) <= _SHORT else 1.5
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    draw_legend(axes, _entries())
    axes.set_title(
        f"{int(owned.sum())} of {of_things(num_hosts, 'hosts')} owned, {size} visible", fontsize=8
    )


def _draw_arrows(axes: Any, view: GraphView, points: Any, owned: Any, radius: float) -> None:
    from matplotlib.patches import Circle, FancyArrowPatch

    for source, target in view.edges.T.tolist():
        if source == target:
            outside = points[source] * (1.0 + 1.55 * radius)
            axes.add_patch(Circle(outside, 0.4 * radius, fill=False, color=BLUE, lw=0.9, zorder=1))
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
                color=BLUE if owned[target] else GREY,
                zorder=1.5 if owned[target] else 1,
            )
        )


def _draw_host(axes: Any, view: GraphView, row: int, point: Any, radius: float, name: str) -> None:
    from matplotlib.patches import Circle

    nodes = view.nodes
    face = PALE if nodes["shown"][row][VULNERABILITIES] else "white"
    if nodes["owned"][row]:
        face = DARK if nodes["privilege"][row] == ADMIN else BLUE
    if nodes["stopped"][row]:
        face = RED
    evaded = bool(nodes["evaded"][row])
    axes.add_patch(
        Circle(
            point,
            radius,
            facecolor=face,
            edgecolor=GOLD if evaded else DARK,
            lw=2.0 if evaded else 0.8,
            zorder=3,
        )
    )
    dark = bool(nodes["owned"][row]) or bool(nodes["stopped"][row])
    bold = "bold" if row == 0 else "normal"
    size = min(6.0, 70 * radius)
    if len(name) <= _SHORT:
        colour = "white" if dark else DARK
        axes.text(
            *point, name, ha="center", va="center", size=size, color=colour, zorder=4, weight=bold
        )
        return
    angle = float(np.degrees(np.arctan2(point[1], point[0])))
    left = abs(angle) > 90.0
    axes.text(
        *(point * (1.0 + 2.2 * radius)), name, size=min(5.5, size), color=DARK, zorder=4,
        weight=bold, rotation=angle + 180.0 if left else angle, rotation_mode="anchor",
        ha="right" if left else "left", va="center",
    )  # fmt: skip


def _entries() -> list[Any]:
    return [
        mark("owned", BLUE, DARK),
        mark("owned, admin", DARK),
        mark("known", PALE, DARK),
        mark("visible", "white", DARK),
        mark("stopped", RED, DARK),
        mark("evaded", "white", GOLD),
        mark("hidden", GREY, size=3),
    ]


def draw_patches(axes: Any, patching: Patching, names: list[str], patched: Any) -> None:
    """Hosts that are owned after each single patch, the most useful first; those chosen in blue."""
    before = patching.attack(frozenset())
    ranked = sorted(
        range(len(names)), key=lambda patch: (*patching.attack(frozenset([patch]))[:2], patch)
    )
    shown = [patch for patch in ranked if patched[patch]]
    shown = (shown + [patch for patch in ranked if not patched[patch]])[:_PATCHES]
    shown.sort(key=ranked.index, reverse=True)
    owned = [patching.attack(frozenset([patch])).owned for patch in shown]
    colours = [BLUE if patched[patch] else LIGHT for patch in shown]
    axes.barh(range(len(shown)), owned, color=colours)
    for place, (patch, value) in enumerate(zip(shown, owned, strict=True)):
        colour = "white" if patched[patch] else DARK
        name = f"{label(names[patch])}: {value:.4g}"
        axes.text(0.02 * before.owned, place, name, va="center", size=6, color=colour)
    axes.axvline(before.owned, color=RED, lw=1.0)
    chosen = patching.attack(frozenset(np.flatnonzero(patched).tolist()))
    axes.set_xlim(0, 1.05 * before.owned)
    axes.set_title(
        f"hosts owned after each patch alone: {before.owned:.4g} before (red),\n"
        f"{chosen.owned:.4g} with all in blue",
        fontsize=8,
    )
