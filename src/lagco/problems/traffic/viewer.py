"""A picture of routed demands."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.pictures.drawing import label
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.network import Network
from lagco.problems.networks.viewer import draw_network


def draw_paths(
    axes: Any, instance: Instance, network: Network, loads: Array, paths: Array, used: Array
) -> None:
    """Links by utilisation; in blue the path of the largest demand over the fullest link."""
    use = (loads / network.capacities).reshape(-1, 2)
    fullest = int(use.argmax())
    over = np.flatnonzero((used == fullest).any(axis=1))
    demand = int(over[network.volumes[over].argmax()])
    path = paths[demand][paths[demand] < network.num_nodes]
    draw_network(axes, instance, network, use.max(axis=1), path=path)
    names = [label(name) for name in node_names(instance)]
    axes.set_title(
        f"largest utilisation {use.max():.1%}; in blue {names[path[0]]} to {names[path[-1]]},\n"
        f"{network.volumes[demand]:.4g} of the {loads[fullest]:.4g} on the fullest link",
        fontsize=8,
    )
