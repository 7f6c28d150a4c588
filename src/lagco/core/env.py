"""`ContinuousEnv`: a Gymnasium environment that declares its graphs, observations and actions."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures, Columns, check_hints
from lagco.core.graph import GraphView
from lagco.core.graphs.border import NetworkxReader
from lagco.core.spec import Attribute, Component, Function, Graph
from lagco.errors import SpecError, UsageError

if TYPE_CHECKING:
    import networkx as nx

    from lagco.instances import SolutionForm

#: Flat, or one mapping per view.
Attributes: TypeAlias = Mapping[str, Attribute] | Mapping[str, Mapping[str, Attribute]]

#: Listing more raw actions than this is refused; nothing in lagco needs it for sets of that size.
LISTING_CAP = 2_000_000
_DRAWS = 64
#: attributes that a snapshot need not copy: they stay as long as the instance does
_SHARED = frozenset(
    (
        "instance",
        "observation_space",
        "action_space",
        "_node_attributes",
        "_edge_attributes",
        "_observation_type",
        "_action_type",
        "_limits",
        "spec",
    )
)


@runtime_checkable
class Previews(Protocol):
    """An environment, or a class of them, that can rank actions by their effects.

    A subclass without one sets ``preview = None``.
    """

    def preview(self, actions: Array) -> Array:
        """Values (k,) by which to rank raw actions, higher is better; the state does not change."""
        ...


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
            in ``MultiDiscrete``, a path or a connected subgraph as its node indices padded with the
            number of nodes.

    and the methods :meth:`get_graphs` and :meth:`is_valid_action`. :meth:`sample_valid_action`
    has a default. Optional, for speed: :meth:`are_valid_actions`, :meth:`action_mask` and
    :meth:`preview`.
    """

    _node_attributes: Attributes = MappingProxyType({})
    _edge_attributes: Attributes = MappingProxyType({})
    _observation_type: Mapping[str, Graph | Function] = MappingProxyType({})
    _action_type: Mapping[str, Component] = MappingProxyType({})
    #: names of the columns of ``candidate_features``, and of those of pairs; None: not named
    candidate_columns: ClassVar[Columns | None] = None
    pair_columns: ClassVar[Columns | None] = None
    #: generic columns of candidates that ``ranked`` sees in addition, of
    #: `lagco.core.candidates.HINTS`: ``("preview", "age", "progress", "plan")`` or some of them
    hints: ClassVar[tuple[str, ...]] = ()
    #: option of ``reset(options=...)`` that sets the size of an instance, where there is one
    size_option: ClassVar[str | None] = None
    #: whether `step` draws what happens from ``self.np_random`` (arrivals, failures, …): policies
    #: are then compared by means over fresh draws
    stochastic: ClassVar[bool] = False
    #: of a task without an end, after how many steps an episode is cut: results are then average
    #: rewards per step
    horizon: ClassVar[int | None] = None
    #: file form of solutions; JSON without
    solution_form: ClassVar[SolutionForm | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_hints(cls.__name__, cls.hints)

    # -- what an author writes

    def get_graphs(self) -> Mapping[str, GraphView | nx.Graph[Any]]:
        """The views of the present state by name; networkx graphs are converted at the border."""
        raise NotImplementedError(f"{type(self).__name__} must define get_graphs()")

    def is_valid_action(self, action: Any) -> bool:
        """Whether `action` may be taken now."""
        raise NotImplementedError(f"{type(self).__name__} must define is_valid_action(action)")

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Any:
        """A valid action, uniform over all of them; None where there is none.

        One with a :class:`~lagco.Path` or a connected :class:`~lagco.SubGraph` is drawn by a random
        walk or by growing, so not uniformly.

        Args:
            rng: source of randomness; the environment's own where None.
        """
        rng = rng or self.np_random
        space = self.action_space
        several = sum(component.takes_nodes for component in self._action_type.values())
        if several == 1 and isinstance(space, gym.spaces.MultiDiscrete):
            from lagco.core.declaring.sampling import NodesSampler

            sampler = NodesSampler(self, space)
            for _ in range(_DRAWS):
                action = sampler.draw(rng)
                if action is not None and self.is_valid_action(action):
                    return action
        for _ in range(_DRAWS):  # cheap where many are valid, and never lists them
            action = _draw(space, rng)
            if self.is_valid_action(action):
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

    # -- the way back

    def snapshot(self) -> Any:
        """The present state, for :meth:`restore`.

        A copy of all attributes but those that stay the same as long as the instance does. Define
        both where less has to be copied.
        """
        state: Any = self.__getstate__()
        return _copied(state)

    def restore(self, snapshot: Any) -> None:
        """Go back to a state that :meth:`snapshot` gave; more often than once if need be."""
        self.__dict__.update(_copied(snapshot))

    # preview(self, actions) may be defined: see :class:`Previews`.

    def candidate_features(self, actions: Array) -> CandidateFeatures | None:
        """What the decoder ``ranked`` sees of a few raw actions, leaving the state as it is.

        ``candidate_columns`` and ``pair_columns`` name the columns. None: the decoder takes the
        vectors of the actions, their preview and the observation.
        """
        return None

    def suggested_actions(self) -> Array | None:
        """Valid raw actions (k,) or (k, m) for ``ranked`` in addition to the policy's."""
        return None

    # -- what everything else calls

    def graph_views(self) -> dict[str, GraphView]:
        """The views as arrays. A networkx graph keeps one view that is brought up to date."""
        views: dict[str, GraphView] = {}
        graphs = self.get_graphs()
        if not isinstance(graphs, Mapping):
            raise SpecError(
                f"{type(self).__name__}.get_graphs() returned {graphs!r}; return graphs by name, "
                'such as {"G": graph}'
            )
        for name, graph in graphs.items():
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


def _copied(state: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of attributes that shares what never changes."""
    memo = {id(value): value for name, value in state.items() if name in _SHARED}
    return copy.deepcopy(dict(state), memo)


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
