"""Events of problems on plain graphs: edges that come and go, and weights that change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lagco.core.events import Draft, Event, EventType, Field, number, text
from lagco.instances import Instance

_ENDS = {"source": text("node at one end"), "target": text("node at the other end")}
_WEIGHT = number("weight of the edge")


def _ends(draft: Draft, source: str, target: str) -> tuple[int, int, int | None]:
    """Both nodes, and the row of the edge between them; None where there is none."""
    names = [str(v) for v in range(1, draft.size + 1)]
    u, v = draft.named("node", source, names), draft.named("node", target, names)
    if u == v:
        raise draft.error(f"an edge leads from the node {source} to itself")
    a, b = draft.arrays["edges"]
    places = np.flatnonzero(((a == u) & (b == v)) | ((a == v) & (b == u)))
    return u, v, int(places[0]) if places.size else None


def _change_edge(draft: Draft, source: str, target: str, weight: float) -> None:
    u, v, row = _ends(draft, source, target)
    if row is None:
        draft.add("edges", edges=(u, v), weights=weight)
        return
    weights = draft.arrays["weights"].astype(np.result_type(draft.arrays["weights"], type(weight)))
    weights[row] = weight
    draft.arrays["weights"] = weights


def _add_edge(draft: Draft, source: str, target: str) -> None:
    u, v, row = _ends(draft, source, target)
    if row is not None:
        raise draft.error(f"there is an edge {source}-{target} already")
    draft.add("edges", edges=(u, v))


def _remove_edge(draft: Draft, source: str, target: str) -> None:
    _, _, row = _ends(draft, source, target)
    if row is None:
        raise draft.error(f"there is no edge {source}-{target}")
    draft.remove("edges", [row])


_WEIGHTED: dict[str, Field] = {**_ENDS, "weight": _WEIGHT}
#: of graphs without weights
PLAIN = {
    "edge": EventType(
        "an edge appears; nodes chosen so far stay chosen, and an end joins the cover in force",
        _add_edge,
        _ENDS,
    ),
    "edge-gone": EventType("an edge goes; nodes chosen so far stay chosen", _remove_edge, _ENDS),
}
#: of graphs with weights
WEIGHTED = {
    "edge": EventType(
        "an edge has another weight, or appears; every node stays on its side",
        _change_edge,
        _WEIGHTED,
    ),
    "edge-gone": EventType("an edge goes; every node stays on its side", _remove_edge, _ENDS),
}


def draw_edge_events(
    instance: Instance, rng: np.random.Generator, step: float
) -> Iterator[tuple[float, Event]]:
    """Edges between random nodes that appear or go; weights that change like those there are."""
    pairs = {(min(u, v), max(u, v)) for u, v in instance.array("edges").T.tolist()}
    weights = instance.arrays.get("weights")
    fewest = max(1, len(pairs) // 2)
    time = 0.0
    while True:
        time += float(rng.exponential(step))
        listed = sorted(pairs)
        pair = listed[int(rng.integers(len(listed)))]
        if rng.random() < 0.5 or len(pairs) <= fewest:
            u, v = np.sort(rng.integers(instance.size, size=2)).tolist()
            if u == v or (weights is None and (u, v) in pairs):
                continue
            pair = u, v
            fields: dict[str, Any] = {}
            if weights is not None:
                fields["weight"] = weights[int(rng.integers(len(weights)))].item()
            pairs.add(pair)
            yield time, Event("edge", source=str(u + 1), target=str(v + 1), **fields)
        else:
            pairs.remove(pair)
            yield time, Event("edge-gone", source=str(pair[0] + 1), target=str(pair[1] + 1))
