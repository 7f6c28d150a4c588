"""Pictures of live instances for the page: networks, clouds, and any other as its elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.pictures.drawing import layout
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.network import network_of
from lagco.problems.networks.problem import NetworkProblem
from lagco.problems.placement import Placement
from lagco.serve.working.instance_state import InstanceState, finite

#: elements of a problem without a picture of its own that are shown
_MOST = 500


def picture_of(state: InstanceState) -> dict[str, Any]:
    """Nodes and links with their use, machines on their hosts, or a list of elements."""
    if issubclass(state.cls, NetworkProblem):
        return _network(state)
    if issubclass(state.cls, Placement):
        return _cloud(state)
    return {"kind": "elements", "most": _MOST}


def _network(state: InstanceState) -> dict[str, Any]:
    instance = state.instance
    names, network = node_names(instance), network_of(instance)
    use = dict(state.cls.fullest(instance, state.incumbent, most=2 * network.num_links))
    weights = state.incumbent.tolist() if state.cls.present == "weights" else None
    links = []
    for e, (u, v) in enumerate(instance.array("edges").T.tolist()):
        ways = [use.get(f"{names[u]}-{names[v]}"), use.get(f"{names[v]}-{names[u]}")]
        link: dict[str, Any] = {
            "source": u,
            "target": v,
            "use": [finite(way) for way in ways if way is not None],
            "capacity": finite(float(instance.array("capacities")[e].max())),
        }
        if weights is not None:
            link["label"] = str(weights[e])
        links.append(link)
    down = instance.arrays.get("edges_aside")
    gone = [] if down is None else [{"source": u, "target": v} for u, v in down.T.tolist()]
    points = _positions(instance, network.num_nodes, network.edges, down)
    return {
        "kind": "network",
        "nodes": [
            {"name": name, "x": round(x, 4), "y": round(y, 4)}
            for name, (x, y) in zip(names, points.tolist(), strict=True)
        ],
        "links": links,
        "down": gone,
    }


def _positions(instance: Instance, nodes: int, edges: Array, down: Array | None) -> Array:
    """Positions of the nodes, with y downwards as on screens; where links are down, as before."""
    points = instance.arrays.get("coordinates")
    if points is None or len(np.unique(points, axis=0)) < nodes:
        both = edges if down is None else np.concatenate([edges, down], axis=1)
        order = np.lexsort(np.sort(both, axis=0))
        points = layout(GraphView(nodes, np.sort(both, axis=0)[:, order]))
    found: Array = np.asarray(points, dtype=np.float64) * (1.0, -1.0)
    return found


def _cloud(state: InstanceState) -> dict[str, Any]:
    instance, hosts = state.instance, state.incumbent
    demands, room = instance.array("vm_demands"), instance.array("pm_capacities")
    names = state.cls.element_names(instance)
    used = np.zeros(room.shape)
    np.add.at(used, hosts, demands)
    share = used / np.maximum(room, 1e-12)
    host_names = instance.arrays.get("pm_names")
    tenants = instance.array("tenants")
    return {
        "kind": "cloud",
        "hosts": [
            {
                "name": str(host_names[p]) if host_names is not None else f"PM {p + 1}",
                "use": [finite(part) for part in share[p]],
            }
            for p in range(len(room))
        ],
        "machines": [
            {"name": names[v], "host": int(hosts[v]), "tenant": int(tenants[v])}
            for v in range(len(hosts))
        ],
    }
