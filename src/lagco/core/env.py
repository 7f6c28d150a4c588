"""`ContinuousEnv`: a Gymnasium environment that declares its graphs, observations and actions."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.border import NetworkxReader
from lagco.core.graph import GraphView
from lagco.core.spec import Attribute, Component, Function, Graph, Path
from lagco.errors import SpecError, UsageError

if TYPE_CHECKING:
    import networkx as nx

#: Flat, or one mapping per view.
Attributes: TypeAlias = Mapping[str, Attribute] | Mapping[str, Mapping[str, Attribute]]

#: Listing more raw actions than this is refused; nothing in lagco needs it for sets of that size.
LISTING_CAP = 2_000_000
_DRAWS = 64


class ContinuousEnv(gym.Env[Any, Any]):
    """A decision problem on graphs.

    Derive from it in addition to, or instead of, ``gymnasium.Env``, write the usual ``reset`` and
    ``step``, and declare (as class attributes or in ``__init__``):

    Attributes:
        _node_attributes: name to :class:`~lagco.Attribute`, flat or per view.
        _edge_attributes: likewise.
        _observation_type: name to :class:`~lagco.Graph` or :class:`~lagco.Function`.
        _action_type: name to component (:class:`~lagco.Node`, :class:`~lagco.Edge`, …). An action
            is one value per component, in that order: a single one as in ``Discrete``, several as
            in ``MultiDiscrete``, a path as its node indices padded with the number of nodes.

    and the methods :meth:`get_graphs` and :meth:`is_valid_action`. :meth:`sample_valid_action`
    has a default. Optional, for speed: :meth:`are_valid_actions`, :meth:`action_mask` and
    :meth:`preview`.
    """

    _node_attributes: Attributes = MappingProxyType({})
    _edge_attributes: Attributes = MappingProxyType({})
    _observation_type: Mapping[str, Graph | Function] = MappingProxyType({})
    _action_type: Mapping[str, Component] = MappingProxyType({})
    #: option of ``reset(options=...)`` that sets the size of an instance, where there is one
    size_option: ClassVar[str | None] = None

    # -- what an author writes

    def get_graphs(self) -> Mapping[str, GraphView | nx.Graph[Any]]:
        """The views of the present state by name; networkx graphs are converted at the border."""
        raise NotImplementedError(f"{type(self).__name__} must define get_graphs()")

    def is_valid_action(self, action: Any) -> bool:
        """Whether `action` may be taken now."""
        raise NotImplementedError(f"{type(self).__name__} must define is_valid_action(action)")

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Any:
        """A valid action, uniform over all of them; None where there is none.

        One with a :class:`~lagco.Path` is drawn by a random walk, so not uniformly.

        Args:
            rng: source of randomness; the environment's own where None.
        """
        rng = rng or self.np_random
        space = self.action_space
        for _ in range(_DRAWS):  # cheap where many are valid, and never lists them
            action = _draw(space, rng)
            if self.is_valid_action(action):
                return action
        paths = sum(isinstance(component, Path) for component in self._action_type.values())
        if paths == 1 and isinstance(space, gym.spaces.MultiDiscrete):
            from lagco.core.sampling import PathSampler

            sampler = PathSampler(self, space)
            for _ in range(_DRAWS):
                action = sampler.draw(rng)
                if action is not None and self.is_valid_action(action):
                    return action
        valid = self.valid_actions()
        return valid[rng.integers(len(valid))] if len(valid) else None

    def are_valid_actions(self, actions: Array) -> Array:
        """:meth:`is_valid_action` for many raw actions (k,) or (k, m) at once: bool (k,)."""
        return np.fromiter((self.is_valid_action(a) for a in actions), bool, len(actions))

    def action_mask(self) -> Array:
        """Validity of every raw action, in the order of :meth:`all_actions`: bool (N,)."""
        return self.are_valid_actions(self.all_actions())

    def possible_parts(self) -> Mapping[str, Array]:
        """Parts that valid actions may have, so that a search can skip all others.

        Returns:
            By name of a component of ``_action_type`` a bool array over its node, edge or option
            indices; False where no valid action has that one. Components may be left out, and True
            promises nothing.
        """
        return {}

    def padded_attributes(self) -> Collection[str] | None:
        """Names of the attributes that a padded observation shows; None for all of them.

        An attribute is named as in the observation: by its name alone, or as ``view.name`` where
        there are several views.
        """
        return None

    def pair_attributes(self) -> Mapping[str, Array]:
        """Edge attributes over all pairs of nodes, for views that hold only some of the edges.

        Returns:
            By name, as in :meth:`padded_attributes`, an array (n, n) or (n, n, size) that stays the
            same as long as the instance does. Padded observations show it instead of the edges.
        """
        return {}

    # preview(self, actions) -> values may be defined: the value by which to rank raw actions one
    # step ahead (higher is better), leaving the state as it is.
    #
    # candidate_features(self, actions) -> CandidateFeatures may be defined: what the decoder
    # `ranked` sees of a few raw actions, leaving the state as it is.
    #
    # suggested_actions(self) -> raw actions (k,) or (k, m) may be defined: valid ones that `ranked`
    # is to look at in addition to those that the policy proposes.

    # -- what everything else calls

    def graph_views(self) -> dict[str, GraphView]:
        """The views as arrays. A networkx graph keeps one view that is brought up to date."""
        views: dict[str, GraphView] = {}
        for name, graph in self.get_graphs().items():
            views[name] = graph if isinstance(graph, GraphView) else self._converted(name, graph)
        return views

    def all_actions(self) -> Array:
        """Every raw action of the action space, valid or not: (N,) or (N, m)."""
        count = self.num_actions
        if count > LISTING_CAP:
            raise UsageError(
                f"{type(self).__name__} has {count} raw actions, more than the {LISTING_CAP} that "
                "are ever listed; sample them or search among them instead"
            )
        space = self.action_space
        if isinstance(space, gym.spaces.Discrete):
            return np.arange(space.start, space.start + space.n)
        assert isinstance(space, gym.spaces.MultiDiscrete)
        grid = np.indices(tuple(space.nvec.tolist())).reshape(len(space.nvec), -1).T
        return np.asarray(grid + space.start)

    @property
    def num_actions(self) -> int:
        """Size of the raw action space."""
        space = self.action_space
        if isinstance(space, gym.spaces.Discrete):
            return int(space.n)
        if isinstance(space, gym.spaces.MultiDiscrete):
            return int(np.prod(space.nvec.astype(object)))
        raise UsageError(
            f"{type(self).__name__}: the action space {space} cannot be counted; define "
            "all_actions() and num_actions"
        )

    def valid_actions(self) -> Array:
        """Every valid raw action: (k,) or (k, m)."""
        return np.asarray(self.all_actions()[self.action_mask()])

    def valid_chunks(self) -> Iterator[Array]:
        """The same, in parts that need no more memory than is there."""
        yield self.valid_actions()

    def actions_from_parts(self, parts: Array) -> Array:
        """Raw actions from the values of the components.

        Args:
            parts: (k, m) node, edge or option indices, in the order of ``_action_type`` (a path
                takes as many columns as it has positions).

        Override it where raw values are not these indices.
        """
        return parts[:, 0] if isinstance(self.action_space, gym.spaces.Discrete) else parts

    def parts_from_actions(self, actions: Array) -> Array:
        """The inverse of :meth:`actions_from_parts`: (k, m)."""
        return np.asarray(actions).reshape(len(actions), -1)

    def _converted(self, name: str, graph: nx.Graph[Any]) -> GraphView:
        import networkx as nx  # slow to import

        if not isinstance(graph, nx.Graph):
            raise SpecError(
                f"get_graphs()[{name!r}] is a {type(graph).__name__}; return a lagco.GraphView or "
                "a networkx graph"
            )
        readers: dict[str, NetworkxReader] = self.__dict__.setdefault("_networkx_readers", {})
        reader = readers.get(name)
        if reader is None:
            reader = readers[name] = NetworkxReader()
        view = reader.read(graph)
        for rows, columns, declared in (
            (view.num_nodes, view.nodes, self._node_attributes),
            (view.num_edges, view.edge_attributes, self._edge_attributes),
        ):
            if rows == 0:  # networkx cannot say which attributes the first edge will have
                columns.update(_empty_columns(name, declared))
        return view


def _empty_columns(view: str, declared: Attributes) -> dict[str, Any]:
    """Columns without rows, as they are declared."""
    found: dict[str, Any] = {}
    for name, value in declared.items():
        if isinstance(value, Attribute):
            if value.on(view):
                found[name] = np.zeros(0 if value.size == 1 else (0, value.size))
        elif name == view:
            found.update(_empty_columns(view, value))
    return found


def draw_valid_action(env: ContinuousEnv, rng: np.random.Generator) -> Any:
    """``env.sample_valid_action`` from `rng`.

    One that takes no argument finds `rng` in ``self.np_random`` meanwhile, so that sampling leaves
    the environment's own stream as it is.
    """
    sample = env.sample_valid_action
    if _takes_argument(getattr(sample, "__func__", sample)):
        return sample(rng)
    own, env._np_random = env._np_random, rng
    try:
        return sample()
    finally:
        env._np_random = own


@lru_cache(maxsize=256)
def _takes_argument(method: Any) -> bool:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    parameters = [p for p in inspect.signature(method).parameters.values() if p.kind not in kinds]
    return len(parameters) > 1


def _draw(space: gym.Space[Any], rng: np.random.Generator) -> Any:
    if isinstance(space, gym.spaces.Discrete):
        return int(space.start + rng.integers(space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return space.start + rng.integers(space.nvec)
    space.seed(int(rng.integers(2**31)))
    return space.sample()
