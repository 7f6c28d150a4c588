"""A picture of a network under load."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.pictures.drawing import BLUE, DARK, draw_colour_bar, label, layout
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.network import Network

#: nodes up to which their names fit in
LABELLED = 30


def draw_network(
    axes: Any,
    instance: Instance,
    network: Network,
    utilisation: Array,
    weights: Array | None = None,
    path: Array | None = None,
) -> None:
    """Links wider and warmer the fuller they are, on a scale from empty to full (or the fullest).

    Nodes have the names of the instance's file, or its numbers.

    Args:
        axes: to draw on.
        instance: where the network comes from; its ``coordinates`` are used if it has them.
        network: the network.
        utilisation: (E,)
        weights: what to write on each link, if anything: (E,)
        path: nodes of a path to draw beside its links.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    points = _positions(instance, network)
    top = max(1.0, float(utilisation.max(initial=0.0)))
    warm = LinearSegmentedColormap.from_list("load", colormaps["YlOrRd"](np.linspace(0.15, 1, 64)))
    shades = ScalarMappable(Normalize(0.0, top), warm)
    order = np.argsort(utilisation)
    lines = LineCollection(
        list(points[network.edges.T[order]]),
        colors=shades.to_rgba(utilisation[order]),
        linewidths=1.0 + 3.0 * np.minimum(utilisation[order] / top, 1.0),
        zorder=1,
    )
    axes.add_collection(lines)
    if path is not None and len(path) > 1:
        axes.plot(*points[path].T, "-", color=BLUE, linewidth=1.4, zorder=2)
    if weights is not None and shows_weights(network):
        middle = points[network.edges].mean(axis=0)
        for (x, y), weight in zip(middle, weights.tolist(), strict=True):
            _write(axes, x, y, str(weight), 5, zorder=2)
    names = [label(name) for name in node_names(instance)]
    labelled = network.num_nodes <= LABELLED
    short = max(map(len, names)) <= 3
    axes.scatter(*points.T, s=14 if not labelled else 110 if short else 30, color=DARK, zorder=3)
    for name, (x, y) in zip(names, points, strict=True) if labelled else ():
        if short:
            axes.text(x, y, name, color="white", fontsize=5, ha="center", va="center", zorder=4)
        else:
            _write(axes, x, y - 0.028, name, 5.5, va="top", zorder=5)
    axes.autoscale_view()
    axes.margins(0.08)
    draw_colour_bar(axes, shades, "utilisation", "{:.0%}")


def shows_weights(network: Network) -> bool:
    """Whether the weights of the links fit into a picture."""
    return network.num_links <= 4 * LABELLED


def _write(axes: Any, x: float, y: float, text: str, size: float, **how: Any) -> None:
    how.setdefault("va", "center")
    box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
    axes.text(x, y, text, fontsize=size, ha="center", bbox=box, **how)


def _positions(instance: Instance, network: Network) -> Array:
    """Positions of the nodes on the map, else by springs; centred and scaled to a unit square."""
    points = instance.arrays.get("coordinates")
    if points is None or len(np.unique(points, axis=0)) < network.num_nodes:
        points = layout(GraphView(network.num_nodes, network.edges))
    points = np.asarray(points, dtype=np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - (low + high) / 2.0) / max(float((high - low).max()), 1e-12)
