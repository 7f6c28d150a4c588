"""Choice of the search for a set of actions, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lagco.search import path_space, product
from lagco.search.flat import FlatSpace
from lagco.search.metrics import Metric, check_metric
from lagco.search.path_space import PathSpace
from lagco.search.product import ProductSpace

Space: TypeAlias = FlatSpace | ProductSpace | PathSpace


@dataclass(frozen=True)
class Plan:
    """search: the method; actions: how many there are, None where counting would mean walking
    them; reason: why this method, in a sentence."""

    search: Literal["flat", "faiss", "listed", "product", "pooled-list", "path"]
    actions: int | None
    reason: str


def plan_search(space: Space, metric: Metric = "cosine") -> Plan:
    """What `space.nearest(..., metric=metric)` does.

    Raises `TooManyActions` where the search would have to list more actions than the cap.
    """
    check_metric(metric)
    if isinstance(space, FlatSpace):
        if space.backend == "faiss":
            return Plan("faiss", space.size, "the faiss backend was asked for")
        return Plan("flat", space.size, "the actions are listed: one product with the table")
    if isinstance(space, PathSpace):
        few = path_space.LISTED[metric]
        rows = None if space.leading else space.paths.listed(few)
        if rows is not None:
            reason = f"at most {few} paths: listed once, scored all together"
            return Plan("listed", len(rows), reason)
        return Plan(
            "path",
            None,
            "scores add up along a path: layered shortest-path bound, then best simple paths first",
        )
    size = space.size
    if not space.splits(metric):
        space.check_cap(space.cap, f"{space.pooling_name} pooling does not split under {metric}")
        return Plan(
            "pooled-list",
            size,
            f"{space.pooling_name} pooling does not split under {metric}: "
            f"all {size} actions are listed (cap {space.cap})",
        )
    if space.listable(size):
        if len(space.layout.axes) == 1:
            return Plan("listed", size, "a single free choice: all its elements are scored")
        return Plan("listed", size, f"at most {product.LISTED} actions: all component sums at once")
    if metric == "cosine":
        reason = "dots and norms split over components: bounded by bands of the norm"
    else:
        reason = f"{metric} splits over components: walked in order of the components' sums"
    return Plan("product", size, reason)
