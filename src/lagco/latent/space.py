"""The latent space of a problem: encoder, observation map, action sets and their fixed scale."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, TypeAlias, TypeVar

import numpy as np

from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration, read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import Component, Edge, Node, Object, Path, SubGraph
from lagco.embedding.encoder import Encoder
from lagco.embedding.features.reduction import fit_reduction
from lagco.errors import SpecError, UsageError
from lagco.latent.actions.action_set import ActionSet
from lagco.latent.actions.components import (
    AttachedReader,
    EdgeReader,
    NodeReader,
    NodeSetReader,
    ObjectVectors,
    OptionReader,
    Reader,
    State,
    fit_object_vectors,
    listed_objects,
)
from lagco.latent.actions.layout import ActionLayout, PathPart, SubgraphPart
from lagco.latent.actions.readers.optional import OptionalReader
from lagco.latent.actions.readers.path import PathReader
from lagco.latent.actions.readers.subgraph import SubgraphReader
from lagco.latent.kernels import standardise
from lagco.latent.observation import ObservationMap, summary_codes
from lagco.latent.reading import StateReader
from lagco.latent.scale import MARGIN, ActionScale, Moments
from lagco.policies import RandomPolicy
from lagco.results.numbers import of_things
from lagco.rollout import walk
from lagco.runtime.bound_arguments import bind
from lagco.search import Metric, Neighbours

T = TypeVar("T")
EnvSource: TypeAlias = ContinuousEnv | Callable[[], ContinuousEnv]

#: poolings of the action set in the observation, per feature set
SUMMARY: dict[str, tuple[AnyPooling, ...]] = {
    "full": (Mean, Max, Min, RootSum),
    "paper": (Mean, Max, Min, Sum),
}
#: slots of a path without max_len at most
_LONGEST_PATH = 12
_REDUCED_FOR_FIT = 4000
#: standardised observations are cut off here
_CUT = np.float32(5.0)


@dataclass
class LatentSpace:
    """Everything that turns states into observations and actions into points, fixed after training.

    Attributes:
        encoder: pre-trained, one per view.
        scale: standardisation and bounds of action vectors.
        objects: per component, how objects become vectors.
        positions: per path component, slots of its vector.
        summary: poolings of the action set that the observation carries; () for none.
        observation_mean: fixed standardisation of observations (w,), cut off at 5 deviations so
            that a size far from those of training does not carry the policy away; None: raw.
        observation_factor: 1 / deviation (w,).
    """

    encoder: Encoder
    scale: ActionScale
    objects: dict[str, ObjectVectors] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    summary: tuple[AnyPooling, ...] = SUMMARY["full"]
    observation_mean: Array | None = None
    observation_factor: Array | None = None

    def __post_init__(self) -> None:
        summary_codes(self.summary)  # or an error that names the pooling

    @classmethod
    def fit(
        cls,
        encoder: Encoder,
        sources: Sequence[EnvSource],
        *,
        states: int = 256,
        seed: int = 42,
        reduce: int | None = None,
        summary: Sequence[AnyPooling] | None = None,
    ) -> LatentSpace:
        """Gather the statistics of action vectors over random episodes.

        Args:
            encoder: of the problem.
            sources: environments of the training instances, or functions that make them.
            states: how many states to look at, spread over all environments.
            seed: of the random actions.
            reduce: dimension to which whole action vectors are reduced by principal components;
                None keeps them as they are.
            summary: poolings of the action set in the observation, of Mean, Max, Min, Sum and
                RootSum; by default the four of the environment's feature set.
        """
        if not sources:
            raise UsageError("a latent space needs at least one training environment")
        summary_codes(summary or ())
        objects, positions = _survey(sources, states, seed)
        space = cls(encoder, _identity(), objects, positions)
        moments: Moments | None = None
        features = "full"
        for env, _ in _visit(sources, states, seed):
            view = space.view(env)
            moments = moments or Moments(view.width)
            view.refresh()
            view.actions().add_to(moments)
            features = getattr(env, "features", "full")
            if summary is None:
                summary = SUMMARY.get(features, SUMMARY["full"])
        assert moments is not None
        assert summary is not None
        space.scale = moments.scale()
        space.summary = tuple(summary)
        if reduce is not None:
            space.scale = _reduced(space, sources, states, seed, reduce)
        if features != "paper":
            space._standardise_observations(sources, states, seed)
        return space

    def _standardise_observations(
        self, sources: Sequence[EnvSource], states: int, seed: int
    ) -> None:
        moments: Moments | None = None
        for env, _ in _visit(sources, states, seed):
            view = self.view(env)
            view.refresh()
            moments = moments or Moments(view.observation_width)
            moments.add(slice(None), view.observation()[None])
        assert moments is not None
        scale = moments.scale()
        self.observation_mean, self.observation_factor = scale.mean, scale.factor

    def save(self, folder: str | FilePath) -> None:
        """Write the space and its encoder to a folder of plain files."""
        from lagco.latent.files import save_space

        save_space(self, folder)

    @classmethod
    def load(cls, folder: str | FilePath, env: ContinuousEnv | None = None) -> LatentSpace:
        """Read a space that :meth:`save` wrote; nothing in the files is executed.

        Args:
            folder: where it is.
            env: any environment of its kind after a reset, needed only where actions contain
                objects; declarations are read off it.
        """
        from lagco.latent.files import load_space

        declared = None if env is None else read_declaration(env, env.graph_views())
        return load_space(folder, declared)

    def view(self, env: ContinuousEnv) -> LatentView:
        """The space as seen from one environment."""
        return LatentView(self, env)


class LatentView:
    """Observations and actions of one environment, brought up to date with :meth:`refresh`.

    Attributes:
        width: dimension of an action vector before any reduction.
        layout: of actions.
        observation_width: numbers in an observation.
    """

    def __init__(self, space: LatentSpace, env: ContinuousEnv) -> None:
        self.space = space
        self.env = env
        self.observation_width = 0
        self._bind()

    def _bind(self) -> None:
        """Read the declarations of the environment."""
        space, env = self.space, self.env
        views = env.graph_views()
        declared = read_declaration(env, views)
        space.encoder.bind(declared)
        self._bound = env._action_type
        p = space.encoder.width
        self._embedder = space.encoder.embedder()
        self._observe = ObservationMap(declared, p)
        readers, last = _readers(space, declared, views, p)
        columns: dict[str, slice] = {}
        start = 0
        for name in declared.action:
            reader = last.reader if last is not None and last.name == name else readers[name]
            width = reader.width
            columns[name] = slice(start, start + width)
            start += width
        self.width = start
        scale = space.scale
        if len(scale.mean) not in (0, start):
            raise UsageError(
                f"the latent space was fitted to action vectors of "
                f"{of_things(len(scale.mean), 'numbers')}, "
                f"{type(env).__name__} has {start}; was it fitted to other declarations?"
            )
        fitted = len(scale.mean) > 0
        self.layout = ActionLayout(
            columns,
            _links(declared, "reference"),
            _links(declared, "different_from"),
            last,
            scale.mean if fitted else np.zeros(start, np.float32),
            scale.factor if fitted else np.ones(start, np.float32),
            scale.projection,
        )
        reach = scale.width if fitted else start
        width = self._observe.width + len(space.summary) * reach
        standard = (space.observation_mean, space.observation_factor)
        known = {len(array) for array in standard if array is not None}
        known |= {self.observation_width} if self.observation_width else set()
        if known - {width}:
            raise UsageError(
                f"{type(env).__name__} shows observations of {of_things(width, 'numbers')}, the "
                "latent space was "
                f"fitted to {max(known - {width})}; was it fitted to other declarations?"
            )
        self.observation_width = width
        self._summary = summary_codes(space.summary)
        self._actions: ActionSet | None = None
        self._state: State | None = None
        self._seen, self._shown = np.zeros((2, width), dtype=np.float32)
        self._standard: tuple[Any, ...] = (None, None, None)
        self._reader = StateReader(readers, self.layout, self._observe, self._summary, self._seen)

    def renew(self) -> None:
        """See through the present weights of the encoder, from the next refresh on."""
        self._embedder = self.space.encoder.embedder()

    def refresh(self) -> None:
        """Read the present state of the environment."""
        if self.env._action_type is not self._bound:  # it may have been given another instance
            if _differ(self.env._action_type, self._bound):
                self._bind()
            else:
                self._bound = self.env._action_type
        views = self.env.graph_views()
        self._state = State(views, self._embedder(views), self._embedder)
        self._actions = None

    @property
    def embeddings(self) -> Mapping[str, Array]:
        """Node embeddings per view (n, p); buffers that the next refresh overwrites."""
        assert self._state is not None
        return self._state.embeddings

    def observation(self, out: Array | None = None) -> Array:
        """The observation of the state: float32 (observation_width,)."""
        assert self._state is not None
        if out is None:
            out = np.empty(self.observation_width, dtype=np.float32)
        actions, seen = self.actions(), self._seen
        self._observe.compute(self._state.views, self._state.embeddings, seen)
        if self.layout.projection is not None and len(self._summary):
            actions.summary(self._summary, seen[self._observe.width :])
        out[:] = self._standardised()
        return out

    def _standardised(self) -> Array:
        """What was seen as it is shown."""
        mean, factor = self.space.observation_mean, self.space.observation_factor
        if mean is None:
            return self._seen
        if mean is not self._standard[0] or factor is not self._standard[1]:
            call = bind(standardise, (self._seen, mean, factor, _CUT, self._shown))
            self._standard = mean, factor, call
        self._standard[2]()
        return self._shown

    def actions(self) -> ActionSet:
        """The actions of the state; what is observed of it is computed with them."""
        if self._actions is None:
            assert self._state is not None
            self._actions = self._reader.read(self._state)
        return self._actions

    def nearest(self, proto: Array, k: int = 1, metric: Metric = "cosine") -> Neighbours:
        """The k valid actions nearest to a proto-action (d,), best first."""
        return self.actions().nearest(proto, k, metric, self.env)

    def raw(self, rows: Array) -> Array:
        """Raw actions of search rows."""
        return self.env.actions_from_parts(self.actions().parts(rows))


def _readers(
    space: LatentSpace, declared: Declaration, views: Mapping[str, GraphView], p: int
) -> tuple[dict[str, Reader], PathPart | SubgraphPart | None]:
    layouts = space.encoder.layout
    readers: dict[str, Reader] = {}
    last: PathPart | SubgraphPart | None = None
    for name, component in declared.action.items():
        owner = f"_action_type[{name!r}]"
        if component.takes_nodes and last is not None:
            raise SpecError(f"{owner}: an action has one path or connected subgraph at most")
        if isinstance(component, Node):
            node_reader = NodeReader(component, layouts[component.graph or ""], p)
            readers[name] = (
                OptionalReader(node_reader, component) if component.none else node_reader
            )
        elif isinstance(component, Edge):
            edge_reader = EdgeReader(component, layouts[component.graph or ""], p)
            readers[name] = (
                OptionalReader(edge_reader, component) if component.none else edge_reader
            )
        elif isinstance(component, SubGraph):
            layout = layouts[component.graph or ""]
            if component.takes_nodes:
                last = SubgraphPart(SubgraphReader(component, layout, p), name)
            else:
                readers[name] = NodeSetReader(component, layout, p)
        elif isinstance(component, Path):
            view = declared.action[component.ends].graph if component.ends else None
            reader = PathReader(component, _known(space.positions, name, owner), p)
            last = PathPart(reader, name, component.ends, view or "")
        elif isinstance(component, Object):
            vectors = _known(space.objects, name, owner)
            if component.reference is None:
                readers[name] = OptionReader(component, vectors)
            else:
                parent = declared.action[component.reference]
                readers[name] = AttachedReader(component, parent, vectors, views)
        else:
            raise SpecError(f"{owner}: {type(component).__name__} is not a kind of component")
    return readers, last


def _known(fitted: Mapping[str, T], name: str, owner: str) -> T:
    if name not in fitted:
        raise UsageError(f"{owner}: the latent space was fitted without it; fit it again")
    return fitted[name]


def _differ(action: Any, other: Any) -> bool:
    try:
        return bool(action != other)
    except ValueError:  # arrays among the declarations
        return True


def _links(declared: Declaration, link: str) -> dict[str, str]:
    return {n: c.linked()[link] for n, c in declared.action.items() if link in c.linked()}


def _identity() -> ActionScale:
    nothing = np.zeros(0, dtype=np.float32)
    return ActionScale(nothing, nothing, nothing, nothing)


def _visit(sources: Sequence[EnvSource], states: int, seed: int) -> Any:
    """Environments in states of random episodes, about `states` in all: (env, its number)."""
    each = max(1, states // len(sources))
    for number, source in enumerate(sources):
        env = source if isinstance(source, ContinuousEnv) else source()
        rng = np.random.default_rng([seed, number, 5])
        length = getattr(env, "usual_length", 50)
        chances = min(1.0, each / max(1, length))
        yielded = 0
        for _ in islice(walk(env, RandomPolicy(), rng), 20 * each):
            if yielded == 0 or rng.random() < chances:
                yield env, number
                yielded += 1
                if yielded == each:
                    break


def _survey(
    sources: Sequence[EnvSource], states: int, seed: int
) -> tuple[dict[str, ObjectVectors], dict[str, int]]:
    """Objects and path lengths met in training, on which widths depend."""
    seen: dict[str, dict[Hashable, None]] = {}
    positions: dict[str, int] = {}
    declared: Declaration | None = None
    latest = -1
    width = 32
    for env, number in _visit(sources, states, seed):
        views = env.graph_views()
        if number != latest:  # the longest path may differ from instance to instance
            latest = number
            declared = read_declaration(env, views)
            width = 0 if getattr(env, "features", "full") == "paper" else 32
            if not any(isinstance(c, Object | Path) for c in declared.action.values()):
                return {}, {}
        assert declared is not None
        for name, component in declared.action.items():
            if isinstance(component, Path):
                nodes = views[component.graph or ""].num_nodes
                slots = min(nodes, _LONGEST_PATH)
                if component.max_len is not None:
                    slots = component.max_len + 1
                positions[name] = max(positions.get(name, 2), slots)
            elif isinstance(component, Object):
                seen.setdefault(name, {}).update(_objects(component, declared.action, views))
    assert declared is not None
    objects = {
        name: fit_object_vectors(component, list(seen[name]), width)
        for name, component in declared.action.items()
        if isinstance(component, Object)
    }
    return objects, positions


def _objects(
    component: Object, action: Mapping[str, Component], views: Mapping[str, Any]
) -> dict[Hashable, None]:
    if component.choices is not None:
        return dict.fromkeys(tuple(c) if isinstance(c, list) else c for c in component.choices)
    parent = action[component.reference or ""]
    view = views[parent.graph or ""]
    columns = view.edge_attributes if isinstance(parent, Edge) else view.nodes
    if component.key not in columns:
        raise SpecError(
            f"Object(key={component.key!r}): the view {parent.graph!r} has no such attribute"
        )
    return dict.fromkeys(listed_objects(columns[component.key])[1])


def _reduced(
    space: LatentSpace, sources: Sequence[EnvSource], states: int, seed: int, width: int
) -> ActionScale:
    """The scale with a reduction to principal components of sampled action vectors."""
    if not 1 <= width <= len(space.scale.mean):
        raise UsageError(
            f"reduce={width}: action vectors have {of_things(len(space.scale.mean), 'numbers')}"
        )
    rng = np.random.default_rng([seed, 6])
    sampled = []
    each = max(1, _REDUCED_FOR_FIT // max(1, states))
    for env, _ in _visit(sources, states, seed):
        view = space.view(env)
        view.refresh()
        actions = view.actions()
        sampled.append(actions.vectors(actions.sample(rng, each)))
    vectors = np.concatenate(sampled)
    # vectors are centred already, so the principal directions alone will do
    projection = fit_reduction(vectors, width).components
    points = vectors @ projection
    scale = space.scale
    return ActionScale(
        scale.mean,
        scale.deviation,
        (points.min(axis=0) - MARGIN).astype(np.float32),
        (points.max(axis=0) + MARGIN).astype(np.float32),
        projection,
    )
