"""Fixed widths for problems of different sizes: padded observations and padded actions.

Both are made for the largest training instance. A larger one is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.declaration import read_declaration
from lagco.core.env import LISTING_CAP, ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.problem import Problem
from lagco.core.spec import Attribute, Edge, Function
from lagco.embedding.extraction import AttributeReader
from lagco.embedding.features import SAME, TOUCHED, ViewFeatures
from lagco.embedding.layout import TableLayout, ViewLayout, table_layout
from lagco.errors import SpecError, TooLarge, UsageError, suggest
from lagco.instances import Instance
from lagco.store import Schema

#: edge attributes are laid out over all pairs of nodes up to so many numbers, else edge by edge
PAIRS = 5_000
#: attributes wider than this are sentence embeddings, which the padding observation leaves out
WIDEST = 64
_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 1 << 31}
#: JSON schema of :meth:`Widths.facts`
FACTS: Schema = {
    "type": "object",
    "required": ["actions", "views", "arrays"],
    "additionalProperties": False,
    "properties": {
        "actions": {"type": "integer", "minimum": 1, "maximum": LISTING_CAP},
        "views": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": _COUNT,
            },
        },
        "arrays": {"type": "object", "additionalProperties": _COUNT},
    },
}


@dataclass(frozen=True)
class Widths:
    """What padding reserves.

    Attributes:
        actions: raw actions.
        views: nodes and edges per view; empty where observations are not padded.
        arrays: rows of the arrays that a problem observes beside its views.
    """

    actions: int
    views: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    arrays: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def over(
        cls, problem: type[Problem], instances: Sequence[Instance], features: str, views: bool
    ) -> Widths:
        """The maxima over training instances; `views`: whether observations are padded too."""
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
                found = cls(count, *_needed(env)) if views else cls(count)
            largest = largest.joined(found)
        if largest.actions > LISTING_CAP:
            raise UsageError(
                f"{problem.name}: an instance has {largest.actions} raw actions, more than the "
                f"{LISTING_CAP} that are ever listed; a discrete method needs one output for each"
            )
        return largest

    def joined(self, other: Widths) -> Widths:
        """The larger of both, one by one."""
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
        """Raise :class:`TooLarge` where what `env` shows does not fit."""
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
            raise TooLarge(_refusal(env, size, what, width))


def _refusal(env: ContinuousEnv, size: int, what: str, width: int) -> str:
    return (
        f"{_name_of(env)} has {size} {what}, the agent was padded for {width}; train it on "
        "instances as large as this one, or use a method that does not pad"
    )


def _needed(env: ContinuousEnv) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """Nodes and edges per view (where it may grow, the most that extents say); arrays."""
    views = env.graph_views()
    extents = env.extents(env.instance) if isinstance(env, Problem) else {}
    found = {}
    for name, view in views.items():
        edges = extents.get("edges", 0) if len(views) == 1 else 0
        edges = extents.get(f"{name}.edges", edges)
        nodes = extents.get(f"{name}.nodes", extents.get("nodes", 0))
        found[name] = max(view.num_nodes, nodes), max(view.num_edges, edges)
    return found, {name: len(column) for name, _, column in _beside_views(env, views)}


def _beside_views(
    env: ContinuousEnv, views: Mapping[str, GraphView]
) -> list[tuple[str, Attribute, Array]]:
    """What a problem observes that no view declares: (name, attribute, array)."""
    if not isinstance(env, Problem):
        return []
    declared = read_declaration(env, views)
    known = {
        _key(views, view, name)
        for tables in (declared.node_attributes, declared.edge_attributes)
        for view, attributes in tables.items()
        for name in attributes
    }
    shown = env.padded_attributes()
    beside = [entry for entry in env._dynamic if entry[0] not in known]
    return [entry for entry in beside if shown is None or entry[0] in shown]


def _key(views: Mapping[str, GraphView], view: str, name: str) -> str:
    """Name of an attribute in the observation."""
    return name if len(views) == 1 else f"{view}.{name}"


def _name_of(env: ContinuousEnv) -> str:
    instance = getattr(env, "instance", None)
    if isinstance(instance, Instance):
        return f"instance {instance.name!r} (size {instance.size})"
    return type(env).__name__


class PaddingObservation:
    """The declared arrays of a problem in a vector of fixed width.

    Per view: every numeric node attribute over the nodes; every numeric edge attribute over all
    pairs of nodes (the upper triangle where edges have no direction) as long as that is at most
    :data:`PAIRS` numbers and actions do not choose edges, else edge by edge. Among pairs, what the
    problem gives as ``pair_attributes()`` goes before what the edges of its view carry. Then what
    the problem observes beside its views and, with `full` features, the declared functions of the
    state. Values are scaled as an encoder would scale them; nodes and edges that an instance does
    not have are 0. With `full` features a flag of an edge is 1 or -1 among pairs, and listed edges
    carry their two ends. Texts, lists and sentence embeddings (wider than :data:`WIDEST`) are left
    out, and so is what the problem's ``padded_attributes()`` do not name.

    Args:
        env: the environment; its present instance must fit.
        widths: what is reserved.
        wanted: numbers that an observation must have, where that is known.

    Attributes:
        width: numbers in an observation.
    """

    def __init__(self, env: ContinuousEnv, widths: Widths, wanted: int | None = None) -> None:
        self._env = env
        self._widths = widths
        self._wanted = wanted
        self._bind()

    def _bind(self) -> None:
        """Read the declarations, which belong to an instance."""
        env, widths = self._env, self._widths
        widths.check_observation(env)
        self._space = env.action_space
        views = env.graph_views()
        declared = read_declaration(env, views)
        full = getattr(env, "features", "full") == "full"
        listed = {c.graph for c in declared.action.values() if isinstance(c, Edge)}
        shown = env.padded_attributes()

        def chosen(
            name: str, attributes: Mapping[str, Attribute], columns: Mapping[str, Any]
        ) -> dict[str, Attribute]:
            found = _numeric(attributes, columns)
            return {
                n: a for n, a in found.items() if shown is None or _key(views, name, n) in shown
            }

        self._views = [
            _PaddedView(
                name,
                view,
                chosen(name, declared.node_attributes[name], view.nodes),
                chosen(name, declared.edge_attributes[name], view.edge_attributes)
                or (None if shown is not None else {}),
                widths.views[name],
                name in listed,
                full,
                partial(_pairs, env, views, name),
            )
            for name, view in views.items()
        ]
        arrays = [
            (column, *_span(attribute), widths.arrays[name], column.size // max(len(column), 1))
            for name, attribute, column in _beside_views(env, views)
        ]
        functions = [p for p in declared.observation.values() if full and isinstance(p, Function)]
        self.width = (
            sum(padded.width for padded in self._views)
            + sum(rows * columns for *_, rows, columns in arrays)
            + sum(part.size for part in functions)
        )
        if self._wanted not in (None, self.width):
            raise UsageError(
                f"the policy takes {self._wanted} numbers, {type(env).__name__} shows "
                f"{self.width}; was it trained with other features?"
            )
        self._wanted = self.width
        self._buffer = buffer = np.zeros(self.width, dtype=np.float32)
        start = 0
        for padded in self._views:
            padded.use(buffer[start : start + padded.width])
            start += padded.width
        self._arrays = []
        for column, low, factor, rows, columns in arrays:
            place = buffer[start : start + rows * columns].reshape(rows, columns)
            self._arrays.append((column.reshape(-1, columns), low, factor, place[: len(column)]))
            start += rows * columns
        self._functions = []
        for part in functions:
            at: Any = start if part.size == 1 else slice(start, start + part.size)
            self._functions.append((part.function, part.graph or "", at))
            start += part.size

    def __call__(self, out: Array | None = None) -> Array:
        """The observation of the present state: float32 (width,), written to `out` if given."""
        env = self._env
        if env.action_space is not self._space:  # a problem makes another one with every instance
            self._bind()
        views = env.graph_views()
        for padded in self._views:
            padded.write(views[padded.name])
        for column, low, factor, place in self._arrays:
            np.subtract(column, low, out=place, casting="unsafe")
            place *= factor
        buffer = self._buffer
        for function, graph, at in self._functions:
            buffer[at] = function(views[graph])
        if out is None:
            return buffer.copy()
        out[:] = buffer
        return out


def _span(attribute: Attribute) -> tuple[float, float]:
    """What to subtract and to multiply by for 0 … 1, where an attribute has both bounds."""
    if attribute.type == "binary" or attribute.low is None or attribute.high is None:
        return 0.0, 1.0
    return attribute.low, 1.0 / ((attribute.high - attribute.low) or 1.0)


class _PaddedView:
    """The part of one view: node columns (d_v, N), then edge columns (d_e, P).

    Args:
        name: of the view.
        view: as it is now; another one with other attributes needs another part.
        nodes: node attributes to show.
        edges: edge attributes to show; where there is none, just the edges; None: not even these.
        reserved: most nodes and edges.
        listed: whether edges are listed, however few pairs there are.
        full: whether features are `full`.
        pairs: gives the attributes over all pairs; asked where edges are not listed.
    """

    def __init__(
        self,
        name: str,
        view: GraphView,
        nodes: Mapping[str, Attribute],
        edges: Mapping[str, Attribute] | None,
        reserved: tuple[int, int],
        listed: bool,
        full: bool,
        pairs: Callable[[], Mapping[str, Array]],
    ) -> None:
        self.name = name
        self._nodes, self._edges = reserved
        self._directed = view.directed
        n = self._nodes
        count = n * n if view.directed else n * (n - 1) // 2
        declared = edges or {}
        width = 0 if edges is None else _table(declared).width
        self._listed = listed or count * width > PAIRS
        given = {} if self._listed else {k: v for k, v in pairs().items() if k in declared}
        self._all_pairs = _all_pairs(name, view, {k: declared[k] for k in given}, given)
        carried = {k: attribute for k, attribute in declared.items() if k not in given}
        self._features = _features(name, view, nodes, carried)
        self._ends = full and self._listed and edges is not None
        # 0 and 1 do not say where edges are, -1 and 1 do
        binary = len(carried) > 0 and all(a.type == "binary" for a in carried.values())
        self._signed = full and binary and not self._listed
        self._edge_columns = width - sum(_columns(declared[k]) for k in given)
        self._node_shape = sum(_columns(attribute) for attribute in nodes.values()), n
        rows = width + (2 if self._ends else 0)
        self._edge_shape = rows, self._edges if self._listed else count
        self.width = math.prod(self._node_shape) + math.prod(self._edge_shape)

    def use(self, buffer: Array) -> None:
        """Write to `buffer` (width,) from now on."""
        split = math.prod(self._node_shape)
        self._node_block = buffer[:split].reshape(self._node_shape)
        self._edge_block = buffer[split:].reshape(self._edge_shape)
        self._features.forget()

    def write(self, view: GraphView) -> None:
        """Bring the buffer up to date with the view."""
        features = self._features
        found = features.sync(view)
        if found == SAME:
            return
        if found != TOUCHED:
            self._place(view)
        if self._node_shape[0]:
            self._node_block[:, : view.num_nodes] = features.nodes.columns
        edges = features.edges
        if self._edge_columns and (edges.counts[0] or found != TOUCHED):
            columns = edges.columns if self._kept is None else edges.columns[:, self._kept]
            if self._signed:
                columns = 2.0 * columns - 1.0
            self._edge_block[: self._edge_columns, self._places] = columns
            edges.clear()

    def _place(self, view: GraphView) -> None:
        """Where edges go, now that there are others."""
        n, (u, v) = view.num_nodes, view.edges
        if n > self._nodes or (self._listed and len(u) > self._edges):
            raise TooLarge(
                f"the view {self.name!r} has {n} nodes and {len(u)} edges, the agent was padded "
                f"for {self._nodes} and {self._edges}"
            )
        self._node_block[:] = 0.0
        self._edge_block[:] = 0.0
        self._kept: Array | None = None
        if self._listed:
            self._places: Any = slice(0, len(u))
            if self._ends:
                np.divide(view.edges, self._nodes, out=self._edge_block[-2:, : len(u)])
            return
        if self._all_pairs is not None:
            ends, columns = self._all_pairs
            self._edge_block[self._edge_columns :, self._pair_places(*ends)] = columns
        loops = np.flatnonzero(u == v)
        if len(loops) and not self._directed:
            self._kept = np.flatnonzero(u != v)
            u, v = u[self._kept], v[self._kept]
        self._places = self._pair_places(u, v)

    def _pair_places(self, u: Array, v: Array) -> Array:
        """Columns of pairs of nodes: all, or the upper triangle where there is no direction."""
        if self._directed:
            return u * self._nodes + v
        first, second = np.minimum(u, v), np.maximum(u, v)
        return first * (2 * self._nodes - first - 1) // 2 + (second - first - 1)


def _pairs(env: ContinuousEnv, views: Mapping[str, GraphView], view: str) -> dict[str, Array]:
    """What a problem gives over all pairs of the nodes of a view."""
    given = env.pair_attributes()
    known = {_key(views, v, n): (v, n) for v in views for n in views[v].edge_attributes}
    for key, values in given.items():
        if key not in known:
            raise SpecError(f"pair_attributes(): {suggest('edge attribute', key, known)}")
        n = views[known[key][0]].num_nodes
        if np.shape(values)[:2] != (n, n):
            raise SpecError(
                f"pair_attributes()[{key!r}] has shape {np.shape(values)}, expected ({n}, {n}): a "
                "value for every pair of nodes"
            )
    return {n: given[key] for key, (v, n) in known.items() if v == view and key in given}


def _all_pairs(
    name: str, view: GraphView, attributes: Mapping[str, Attribute], given: Mapping[str, Array]
) -> tuple[Array, Array] | None:
    """All pairs (2, P) and their columns (d, P), scaled; None where nothing is given."""
    if not given:
        return None
    n = view.num_nodes
    ends = np.indices((n, n)).reshape(2, -1) if view.directed else np.stack(np.triu_indices(n, 1))
    values = {key: np.asarray(matrix)[ends[0], ends[1]] for key, matrix in given.items()}
    complete = GraphView(n, ends, edge_attributes=values, directed=view.directed)
    features = _features(name, complete, {}, attributes)
    features.sync(complete)
    return ends, features.edges.columns


def _features(
    name: str, view: GraphView, nodes: Mapping[str, Attribute], edges: Mapping[str, Attribute]
) -> ViewFeatures:
    layout = ViewLayout(_table(nodes), _table(edges), view.directed)
    return ViewFeatures(name, layout, _readers(name, layout.nodes), _readers(name, layout.edges))


def _numeric(attributes: Mapping[str, Attribute], columns: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: attribute
        for name, attribute in attributes.items()
        if isinstance(columns[name], np.ndarray)
        and attribute.extractor in (None, "onehot")
        and _columns(attribute) <= WIDEST
    }


def _columns(attribute: Attribute) -> int:
    onehot = attribute.type == "categorical" or attribute.extractor == "onehot"
    return attribute.num_categories if onehot else attribute.size


def _table(attributes: Mapping[str, Attribute]) -> TableLayout:
    return table_layout(attributes, {n: _columns(a) for n, a in attributes.items()})


def _readers(view: str, layout: TableLayout) -> dict[str, AttributeReader]:
    return {e.name: AttributeReader(f"{view}.{e.name}", e.attribute, e.width) for e in layout}


class PaddedActions:
    """Raw actions of one environment by number, in the order of its ``all_actions()``.

    Args:
        env: the environment; its instance may change.
        width: numbers reserved; those beyond the instance's own stand for an invalid action.
    """

    def __init__(self, env: ContinuousEnv, width: int) -> None:
        self._env = env
        self.width = width
        kind = type(env)
        self._lists = kind.all_actions is not ContinuousEnv.all_actions
        self._masks = kind.action_mask is not ContinuousEnv.action_mask
        self._space: Any = None

    def raw(self, number: int) -> Any:
        """The raw action of a number; one outside the action space where there is none."""
        self._look()
        if number >= self._count:
            return self._outside
        if self._listing is not None:
            action = self._listing[number]
            return int(action) if np.ndim(action) == 0 else action
        space = self._space
        if isinstance(space, gym.spaces.Discrete):
            return int(space.start) + number
        return space.start + np.array(np.unravel_index(number, self._shape))

    @property
    def outside(self) -> Any:
        """A raw action that the instance does not have, hence an invalid one."""
        self._look()
        return self._outside

    def mask(self, out: Array | None = None) -> Array:
        """Validity of every number: bool (width,)."""
        self._look()
        if out is None:
            out = np.zeros(self.width, dtype=bool)
        if self._lists and not self._masks:
            out[: self._count] = self._env.are_valid_actions(self._listing)  # type: ignore[arg-type]
        else:
            out[: self._count] = self._env.action_mask()
        out[self._count :] = False
        return out

    def _look(self) -> None:
        space = self._env.action_space
        if space is self._space:  # a problem makes another one with every instance
            return
        self._space = space
        self._listing: Array | None = self._env.all_actions() if self._lists else None
        self._shape = () if self._lists else _shape(space)
        self._count = self._env.num_actions if self._listing is None else len(self._listing)
        if self._count > self.width:
            self._space = None  # it is refused as often as it is looked at
            raise TooLarge(_refusal(self._env, self._count, "raw actions", self.width))
        if isinstance(space, gym.spaces.MultiDiscrete):
            self._outside: Any = space.start + space.nvec
        elif isinstance(space, gym.spaces.Discrete):
            self._outside = int(space.start + space.n)
        else:
            name = type(self._env).__name__
            raise UsageError(f"{name}: discrete methods do not know the action space {space}")


def _shape(space: Any) -> tuple[int, ...]:
    if isinstance(space, gym.spaces.MultiDiscrete):
        return tuple(int(n) for n in space.nvec)
    return ()
