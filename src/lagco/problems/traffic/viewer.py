"""A picture of routed demands."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems.networks.network import Network
from lagco.problems.networks.viewer import draw_network


def draw_paths(
    axes: Any, instance: Instance, network: Network, loads: Array, paths: Array, used: Array
) -> None:
    """Links by utilisation; in blue the path of the largest demand over the fullest link."""
    use = loads.reshape(-1, 2) / network.capacities[:, None]
    fullest = int(use.argmax())
    over = np.flatnonzero((used == fullest).any(axis=1))
    demand = int(over[network.volumes[over].argmax()])
    path = paths[demand][paths[demand] < network.num_nodes]
    draw_network(axes, instance, network, use.max(axis=1), path=path)
    axes.set_title(
        f"largest utilisation {use.max():.3f}; in blue {path[0]} to {path[-1]}, "
        f"{network.volumes[demand]:.1f} of {loads[fullest]:.1f} there",
        fontsize=8,
    )
