"""A picture of a network under load."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.picture import layout
from lagco.instances import Instance
from lagco.problems.networks.network import Network

_NODE = "#1f3a5f"
_LABELLED = 30  # nodes up to which the node ids fit in
_LONGEST_NAME = 16


def draw_network(
    axes: Any,
    instance: Instance,
    network: Network,
    utilisation: Array,
    labels: Array | None = None,
    path: Array | None = None,
) -> Array:
    """Links wider and redder the fuller they are; return the positions of the nodes.

    Args:
        axes: to draw on.
        instance: where the network comes from; its ``coordinates`` and ``names`` are used if it has
            them.
        network: the network.
        utilisation: (E,)
        labels: what to write on each link, if anything.
        path: nodes of a path to draw beside its links.
    """
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    points = _positions(instance, network)
    relative = np.sqrt(utilisation / max(float(utilisation.max()), 1e-12))
    order = np.argsort(relative)
    colours = colormaps["YlOrRd"](0.2 + 0.75 * relative)
    lines = LineCollection(
        list(points[network.edges.T[order]]),
        colors=colours[order],
        linewidths=0.6 + 3.2 * relative[order],
        zorder=1,
    )
    axes.add_collection(lines)
    if path is not None and len(path) > 1:
        axes.plot(*points[path].T, "-", color="#3b6ea5", linewidth=1.4, zorder=2)
    small = network.num_nodes <= _LABELLED
    axes.scatter(*points.T, s=90 if small else 14, color=_NODE, zorder=3)
    if small:
        for v, (x, y) in enumerate(points):
            axes.text(x, y, str(v), color="white", fontsize=5, ha="center", va="center", zorder=4)
        for name, (x, y) in zip(instance.arrays.get("names", ()), points, strict=False):
            label = str(name)[:_LONGEST_NAME].replace("$", r"\$")  # not a formula
            axes.annotate(
                label, (x, y), (0, 6), textcoords="offset points", fontsize=5, ha="center", zorder=5
            )
    if labels is not None and network.num_links <= 4 * _LABELLED:
        middle = points[network.edges].mean(axis=0)
        for (x, y), label in zip(middle, labels.tolist(), strict=True):
            axes.text(
                x,
                y,
                str(label),
                fontsize=5,
                ha="center",
                va="center",
                zorder=2,
                bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.85},
            )
    axes.autoscale_view()
    axes.margins(0.06)
    return points


def _positions(instance: Instance, network: Network) -> Array:
    """Where the nodes lie on the map, else by springs; centred and scaled to a unit square."""
    places = instance.arrays.get("coordinates")
    if places is None or len(np.unique(places, axis=0)) < network.num_nodes:
        return layout(GraphView(network.num_nodes, network.edges))
    points = np.asarray(places, dtype=np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - (low + high) / 2.0) / max(float((high - low).max()), 1e-12)
