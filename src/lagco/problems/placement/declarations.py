"""Declarations of `placement`, per feature set: attributes, observation and action."""

from __future__ import annotations

from lagco.core.pooling import Mean
from lagco.core.spec import Attribute, Graph, Node
from lagco.problems.placement.terms import TERMS

_BINARY = Attribute(type="binary")
_AMOUNT = Attribute(low=0.0)

#: poolings of `full` features beside those of every problem
POOLINGS = {
    "overloaded": Graph(poolings=[Mean], spec={"overloaded": True}),
    "empty": Graph(poolings=[Mean], spec={"empty": True}),
}


def node_attributes(features: str) -> dict[str, Attribute]:
    """Attributes of VMs and PMs."""
    full = features == "full"
    norm = None if full else "min_max"
    found = {
        "is_pm": Attribute(type="binary", static=True),
        "demand": Attribute(size=4, low=0.0, static=True, norm=norm),
        "power": Attribute(low=0.0, norm=norm),
    }
    if not full:
        return found | {
            "capacity": Attribute(size=4, low=0.0, norm=norm, static=True),
            "utilisation": Attribute(size=4, low=0.0, norm=norm),
        }
    return found | {
        "capacity": Attribute(size=4, low=0.0, high=1.0, static=True),
        "risk": Attribute(low=0.0, static=True),
        "free": Attribute(size=4, low=0.0, high=1.0),
        "empty": _BINARY,
        "overloaded": _BINARY,
        "vms": _AMOUNT,
        "strangers": _AMOUNT,
        "network": _AMOUNT,
        "stakes": Attribute(size=len(TERMS), low=0.0),
        "recent": _BINARY,
        "prospect": Attribute(),
        "planned": _BINARY,
    }


def edge_attributes(features: str) -> dict[str, Attribute]:
    """Attributes of allocations, traffic and links."""
    fixed = Attribute(low=0.0, static=True, norm=None if features == "full" else "min_max")
    return {
        "kind": Attribute(type="categorical", categories=3, static=True),
        "traffic": fixed,
        "latency": fixed,
    }


def action_type(features: str) -> dict[str, Node]:
    """A VM and a PM."""
    vm, pm = {"is_pm": False}, {"is_pm": True}
    if features != "full":
        return {"vm": Node(spec=vm), "pm": Node(spec=pm)}
    ahead = ["prospect", "planned"]
    moved = ["demand", "risk", "strangers", "network", "stakes", "recent", *ahead]
    taking = ["free", "capacity", "risk", "power", "empty", "stakes", *ahead]
    return {"vm": Node(spec=vm, attributes=moved), "pm": Node(spec=pm, attributes=taking)}
