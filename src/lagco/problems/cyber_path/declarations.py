"""Declarations of `cyber-path`, per feature set: attributes, observation and action."""

from __future__ import annotations

from lagco.core.pooling import Mean
from lagco.core.spec import Attribute, Component, Function, Graph, Node, Object
from lagco.instances.catalogue import OUTCOMES, PRIVILEGES
from lagco.problems.cyber_path.catalogue.vectors import (
    REDUCED_WIDTH,
    TEXT_WIDTH,
    vulnerability_text_vector,
    vulnerability_vector,
)
from lagco.problems.cyber_path.network import GROUPS
from lagco.problems.features import graph_observation

VIEW = "attack_G"

_BINARY = Attribute(type="binary")
_SHARE = Attribute(low=0.0, high=1.0)
_SHOWN = Attribute(type="binary", size=len(GROUPS))
_OUTCOMES = Attribute(low=0.0, high=1.0, size=len(OUTCOMES))
_REQUIREMENTS = Attribute(low=0.0, high=1.0, size=len(PRIVILEGES))
_COUNT = Attribute(low=0.0)
_LEVEL = Attribute(type="categorical", categories=len(PRIVILEGES), low=0, high=len(PRIVILEGES) - 1)

_TEXT = {
    "full": Attribute(size=REDUCED_WIDTH),
    "paper": Attribute(size=TEXT_WIDTH, norm="l1"),
}
#: node attributes of the view beside the texts
_NODES: dict[str, dict[str, Attribute]] = {
    "full": {
        "shown": _SHOWN,
        "owned": _BINARY,
        "privilege": _LEVEL,
        "data": _BINARY,
        "scouted": _BINARY,
        "explored": _BINARY,
        "evaded": _BINARY,
        "collected": _BINARY,
        "exfiltrated": _BINARY,
        "persistent": _BINARY,
        "stopped": _BINARY,
        "num_services": _COUNT,
        "num_vulns": _COUNT,
        "outcomes": _OUTCOMES,
        "requirements": _REQUIREMENTS,
        "local": _SHARE,
        "gain": Attribute(),
        "risk": _SHARE,
        "locked": _BINARY,
        "base": _BINARY,
    },
    "paper": {
        "shown": _SHOWN,
        "owned": _BINARY,
        "privilege": Attribute(norm="min_max", low=0, high=len(PRIVILEGES) - 1),
        "data": _BINARY,
        "exfiltrated": _BINARY,
        "persistent": _BINARY,
        "stopped": _BINARY,
        "evaded": _BINARY,
    },
}
#: what the padded observation of `paper` has beside the above (the paper's own list)
_PADDING = {
    "num_services": _COUNT,
    "num_vulns": _COUNT,
    "outcomes": _OUTCOMES,
    "requirements": _REQUIREMENTS,
}


def node_attributes(features: str) -> dict[str, Attribute]:
    """Attributes of visible hosts in the view."""
    text = _TEXT[features]
    return {"service_text": text, "vulnerability_text": text, **_NODES[features]}


def edge_attributes(features: str) -> dict[str, Attribute]:
    """Attributes of executed attacks."""
    return {"vulnerability": _TEXT[features]}


def observed_attributes(features: str) -> dict[str, Attribute]:
    """Parts of the raw observation: no texts, but which rows are visible."""
    padding = _PADDING if features == "paper" else {}
    return {"visible": _BINARY, **_NODES[features], **padding}


def observation_type(features: str) -> dict[str, Graph | Function]:
    """Poolings and descriptors of the view; `full` pools owned and other hosts apart."""
    parts = graph_observation(features, VIEW)
    if features == "full":
        parts["owned"] = Graph(poolings=[Mean], graph=VIEW, spec={"owned": True})
        parts["not owned"] = Graph(poolings=[Mean], graph=VIEW, spec={"owned": False})
    return parts


def action_type(features: str) -> dict[str, Component]:
    """Source, target and one of the target's known vulnerabilities."""
    full = features == "full"
    return {
        "source": Node(
            graph=VIEW,
            spec={"owned": True, "stopped": False},
            attributes=["base"] if full else (),
        ),
        "target": Node(
            graph=VIEW,
            spec={"stopped": False},
            attributes=["owned", "gain", "risk", "locked", "base"] if full else (),
        ),
        "vuln": Object(
            reference="target",
            key="vulns",
            extractor=vulnerability_vector if full else vulnerability_text_vector,
            attributes=["ahead"] if full else (),
        ),
    }
