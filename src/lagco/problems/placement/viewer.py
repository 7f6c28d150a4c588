"""A picture of an allocation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.pictures.drawing import draw_legend, label, mark
from lagco.instances import Instance
from lagco.instances.formats.placement import machine_names, tenant_names
from lagco.problems.placement.cloud import Cloud

_SHOWN = 60  # PMs; the fullest where there are more
_PER_ROW = 12
_COLOURS = ("#3b6ea5", "#e07b39", "#2e8b57", "#8e5ea2", "#c0392b", "#c9a227", "#4f9da6", "#7d6b5d")


def draw_allocation(
    axes: Any,
    instance: Instance,
    cloud: Cloud,
    allocation: Array,
    terms: Mapping[str, float],
    mean: float,
) -> None:
    """A bar per PM, as high as its fullest resource is used, with its VMs coloured by tenant.

    PMs have the names of the instance's file.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    used = np.zeros_like(cloud.capacities)
    np.add.at(used, allocation, cloud.demands)
    capacities = np.where(cloud.capacities > 0, cloud.capacities, np.inf)
    fractions = used / capacities
    fullest = fractions.argmax(axis=1)
    pms = np.arange(cloud.num_pms)
    if len(pms) > _SHOWN:
        pms = np.sort(np.argsort(-fractions.max(axis=1), kind="stable")[:_SHOWN])
    place = {int(p): i for i, p in enumerate(pms)}
    names = [label(name) for name in machine_names(instance, "pm")]
    longest = max(len(names[p]) for p in place)
    columns = min(_PER_ROW, len(pms), max(1, 90 // longest))  # so that names fit side by side
    rows = -(-len(pms) // columns)

    def corner(pm: int) -> tuple[float, float]:
        row, column = divmod(place[pm], columns)
        return float(column), 1.3 * (rows - 1 - row)

    frames = [Rectangle(corner(p), 0.8, 1.0) for p in place]
    axes.add_collection(PatchCollection(frames, facecolor="#f2f4f7", edgecolor="#9aa5b1", lw=0.5))
    level = dict.fromkeys(place, 0.0)
    boxes, colours = [], []
    for v in np.argsort(cloud.tenants, kind="stable").tolist():
        p = int(allocation[v])
        if p not in place:
            continue
        height = float(cloud.demands[v, fullest[p]] / capacities[p, fullest[p]])
        x, y = corner(p)
        boxes.append(Rectangle((x, y + level[p]), 0.8, height))
        colours.append(_COLOURS[int(cloud.tenants[v]) % len(_COLOURS)])
        level[p] += height
    axes.add_collection(PatchCollection(boxes, facecolor=colours, edgecolor="white", lw=0.4))
    for p in place:
        x, y = corner(p)
        axes.text(x + 0.4, y - 0.05, names[p], fontsize=5, ha="center", va="top", color="#5b6b7b")
    axes.set_aspect("auto")
    axes.set_xlim(-0.3, columns + 0.1)
    axes.set_ylim(-0.25, 1.3 * rows - 0.15)
    tenants = tenant_names(instance)
    shown = [mark(label(name), _COLOURS[i]) for i, name in enumerate(tenants[: len(_COLOURS)])]
    more = [mark("and others, colours again", "white")] if len(tenants) > len(shown) else []
    draw_legend(axes, [*shown, *more])
    active = int(terms["packing"])
    axes.set_title(
        f"J {mean:.3f}: {active} of {cloud.num_pms} PMs active, used {terms['utilisation']:.2f},\n"
        f"energy {terms['energy']:.5g}, network {terms['network']:.4g}, "
        f"risk {terms['security']:.3g}",
        fontsize=7,
    )
