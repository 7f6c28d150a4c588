"""Widths of padding: the maxima over the training instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lagco.arrays import Array
from lagco.core.declaring.declaration import read_declaration
from lagco.core.env import LISTING_CAP, ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.problem import Problem
from lagco.core.spec import Attribute
from lagco.errors import TooLarge, UsageError
from lagco.instances import Instance
from lagco.store import Schema, object_of

#: most outputs, one per raw action, of a discrete method
MOST_OUTPUTS = 100_000
_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 1 << 31}
#: JSON schema of :meth:`Widths.facts`
FACTS: Schema = object_of(
    actions={"type": "integer", "minimum": 1, "maximum": LISTING_CAP},
    views={
        "type": "object",
        "additionalProperties": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "items": _COUNT,
        },
    },
    arrays={"type": "object", "additionalProperties": _COUNT},
)


@dataclass(frozen=True)
class Widths:
    """Sizes to which observations and actions are padded.

    Attributes:
        actions: number of raw actions.
        views: numbers of nodes and edges per view; empty where observations are not padded.
        arrays: rows of the observed arrays that belong to no view.
    """

    actions: int
    views: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    arrays: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def over(
        cls,
        problem: type[Problem],
        instances: Sequence[Instance],
        features: str,
        views: bool,
        method: str = "a discrete method",
    ) -> Widths:
        """The maxima over training instances.

        Args:
            problem: the problem class.
            instances: training instances, and others to reserve room for.
            features: feature set.
            views: whether observations are padded, too.
            method: its name, for the error if there are more than :data:`MOST_OUTPUTS` actions.
        """
        env: Problem | None = None
        largest = cls(0)
        for instance in instances:
            extents = problem.extents(instance)
            count = int(extents.get("actions", 0))
            found = cls(count)
            if views or not count:
                if env is None:
                    env = problem(instance, features=features)
                env.reset(seed=0, options={"instance": instance})
                count = count or env.num_actions
            if count > MOST_OUTPUTS:
                raise UsageError(
                    f"{problem.name}: the instance {instance.name!r} has {count} raw actions, and "
                    f"{method} needs an output for each, at most {MOST_OUTPUTS}; use a method that "
                    "searches among actions, such as 'projection' or 'taught-projection', or "
                    "smaller instances"
                )
            if views or not found.actions:
                assert env is not None
                found = cls(count, *_needed(env)) if views else cls(count)
            largest = largest.joined(found)
        return largest

    def joined(self, other: Widths) -> Widths:
        """The element-wise maximum of both."""
        views = dict(self.views)
        for name, (nodes, edges) in other.views.items():
            known = views.get(name, (0, 0))
            views[name] = max(nodes, known[0]), max(edges, known[1])
        arrays = {n: max(rows, self.arrays.get(n, 0)) for n, rows in other.arrays.items()}
        return Widths(max(self.actions, other.actions), views, {**self.arrays, **arrays})

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Widths:
        """The inverse of :meth:`facts`."""
        views = {name: (nodes, edges) for name, (nodes, edges) in facts["views"].items()}
        return cls(facts["actions"], views, facts["arrays"])

    def facts(self) -> dict[str, Any]:
        """As JSON values."""
        views = {name: list(sizes) for name, sizes in self.views.items()}
        return {"actions": self.actions, "views": views, "arrays": dict(self.arrays)}

    def check_actions(self, env: ContinuousEnv) -> None:
        """Raise :class:`TooLarge` where `env` has more raw actions."""
        self._check(env, "raw actions", env.num_actions, self.actions)

    def check_observation(self, env: ContinuousEnv) -> None:
        """Raise :class:`TooLarge` where an observation of `env` does not fit."""
        views, arrays = _needed(env)
        if list(views) != list(self.views) or list(arrays) != list(self.arrays):
            raise UsageError(
                f"{_name_of(env)} shows {', '.join([*views, *arrays])}, the agent was trained on "
                f"{', '.join([*self.views, *self.arrays])}"
            )
        for name, (nodes, edges) in views.items():
            self._check(env, f"nodes in the view {name!r}", nodes, self.views[name][0])
            self._check(env, f"edges in the view {name!r}", edges, self.views[name][1])
        for name, rows in arrays.items():
            self._check(env, f"rows of {name!r}", rows, self.arrays[name])

    def _check(self, env: ContinuousEnv, what: str, size: int, width: int) -> None:
        if size > width:
            raise TooLarge(refusal(env, size, what, width))


def refusal(env: ContinuousEnv, size: int, what: str, width: int) -> str:
    return (
        f"{_name_of(env)} has {size} {what}, the agent was padded for {width}; train it on "
        "instances as large as this one, or use a method that does not pad"
    )


def _needed(env: ContinuousEnv) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """Numbers of nodes and edges per view, extents included where views grow; rows of arrays."""
    views = env.graph_views()
    extents = env.extents(env.instance) if isinstance(env, Problem) else {}
    found = {}
    for name, view in views.items():
        edges = extents.get("edges", 0) if len(views) == 1 else 0
        edges = extents.get(f"{name}.edges", edges)
        nodes = extents.get(f"{name}.nodes", extents.get("nodes", 0))
        found[name] = max(view.num_nodes, nodes), max(view.num_edges, edges)
    return found, {name: len(column) for name, _, column in beside_views(env, views)}


def beside_views(
    env: ContinuousEnv, views: Mapping[str, GraphView]
) -> list[tuple[str, Attribute, Array]]:
    """Observed arrays that no view declares: (name, attribute, array)."""
    if not isinstance(env, Problem):
        return []
    declared = read_declaration(env, views)
    known = {
        key_of(views, view, name)
        for tables in (declared.node_attributes, declared.edge_attributes)
        for view, attributes in tables.items()
        for name in attributes
    }
    shown = env.padded_attributes()
    beside = [entry for entry in env._dynamic if entry[0] not in known]
    return [entry for entry in beside if shown is None or entry[0] in shown]


def key_of(views: Mapping[str, GraphView], view: str, name: str) -> str:
    """Name of an attribute in the observation."""
    return name if len(views) == 1 else f"{view}.{name}"


def _name_of(env: ContinuousEnv) -> str:
    if isinstance(env, Problem):
        return f"instance {env.instance.name!r} (size {env.instance.size})"
    return type(env).__name__
