"""States along random valid trajectories, and batches of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration, read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.embedding.messages import Messages, build_messages, message_features
from lagco.errors import UsageError
from lagco.policies import RandomPolicy
from lagco.rollout import Episode

if TYPE_CHECKING:
    from lagco.embedding.encoder import ViewEncoder
    from lagco.embedding.features.layout import ViewLayout
    from lagco.embedding.features.matrices import ViewFeatures
    from lagco.embedding.network.module import GraphBatch

#: An environment, or a function that makes one (it is dropped after its states are collected).
EnvSource: TypeAlias = ContinuousEnv | Callable[[], ContinuousEnv]
Snapshot: TypeAlias = dict[str, GraphView]

_EPISODE_CAP = 5_000
_EPISODES = 32


@dataclass(frozen=True)
class ViewState:
    """One view in one state, as arrays.

    Attributes:
        x: (n, d_v)
        edges: (2, E)
        edge_features: (E, d_e)
        messages: along which edges messages run.
        message_features: (R, d_m)
    """

    x: Array
    edges: Array
    edge_features: Array
    messages: Messages
    message_features: Array

    @classmethod
    def of(
        cls, view: GraphView, features: ViewFeatures, messages: Messages, layout: ViewLayout
    ) -> ViewState:
        """The present state of a view, of which features and messages are up to date."""
        return cls(
            np.ascontiguousarray(features.nodes.matrix),
            view.edges,
            np.ascontiguousarray(features.edges.matrix),
            messages,
            message_features(features.edges.columns, layout, messages.num_rows),
        )


def collect_snapshots(
    sources: Sequence[EnvSource], states: int, seed: int
) -> tuple[Declaration, list[list[Snapshot]]]:
    """Follow random valid actions in every environment.

    Args:
        sources: environments or factories.
        states: how many states to keep in all; each environment gives about the same number,
            evenly spaced over whole episodes, so that late stages are seen as often as early ones.
        seed: of resets and actions.

    Returns:
        The declaration of the first environment, and per environment its snapshots.
    """
    if not sources:
        raise UsageError("pre-training needs at least one environment or instance")
    quota = max(1, -(-states // len(sources)))
    first: ContinuousEnv | None = None
    collected = []
    for index, source in enumerate(sources):
        env = source if isinstance(source, ContinuousEnv) else source()
        rng = np.random.default_rng([seed, index])
        first = first or env
        collected.append(_follow(env, quota, rng))
    assert first is not None
    return read_declaration(first, _fullest(collected)), collected


def _fullest(collected: list[list[Snapshot]]) -> Snapshot:
    """Of every view the state with most attributes: a networkx graph without edges has none."""
    fullest: Snapshot = {}
    for snapshot in (snapshot for states in collected for snapshot in states):
        for name, view in snapshot.items():
            known = fullest.setdefault(name, view)
            if _count(view) > _count(known):
                fullest[name] = view
    return fullest


def _count(view: GraphView) -> int:
    return len(view.nodes) + len(view.edge_attributes)


def _follow(env: ContinuousEnv, quota: int, rng: np.random.Generator) -> list[Snapshot]:
    kept: list[Snapshot] = []
    stride = 1
    for _ in range(_EPISODES):
        episode = Episode(env, int(rng.integers(2**31)), rng=rng)
        offset = int(rng.integers(stride))
        last: Snapshot = {}
        for step, _ in enumerate(islice(episode.states(RandomPolicy()), _EPISODE_CAP)):
            if step % stride == offset:
                last = _snapshot(env.graph_views(), last)
                kept.append(last)
                if len(kept) >= 2 * quota:  # the episode is longer than we need it
                    kept = kept[::2]
                    stride *= 2
                    offset %= stride
        if len(kept) >= quota:
            break
    chosen = np.unique(np.linspace(0, len(kept) - 1, min(quota, len(kept))).round().astype(int))
    return [kept[index] for index in chosen]


def _snapshot(views: Mapping[str, GraphView], last: Snapshot) -> Snapshot:
    """Copies of the columns; the edge array is shared as long as it stays the same."""
    copies: Snapshot = {}
    for name, view in views.items():
        before = last.get(name)
        same = before is not None and np.array_equal(before.edges, view.edges)
        copies[name] = GraphView(
            view.num_nodes,
            before.edges if before is not None and same else view.edges.copy(),
            nodes={k: _copied(column) for k, column in view.nodes.items()},
            edge_attributes={k: _copied(column) for k, column in view.edge_attributes.items()},
            directed=view.directed,
            multigraph=view.multigraph,
        )
    return copies


def _copied(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column.copy()
    return [list(value) if isinstance(value, list) else value for value in column]


def view_states(encoder: ViewEncoder, views: Iterable[GraphView]) -> list[ViewState]:
    """Features of many states of one view."""
    found = []
    features = encoder.features()
    edges: Array | None = None
    messages: Messages | None = None
    for view in views:
        features.sync(view)
        if messages is None or view.edges is not edges or messages.num_nodes != view.num_nodes:
            edges, messages = view.edges, build_messages(view, encoder.layout)
        found.append(ViewState.of(view, features, messages, encoder.layout))
    return found


def collate(states: Sequence[ViewState]) -> GraphBatch:
    """The disjoint union of several states."""
    import torch

    from lagco.embedding.network.module import GraphBatch

    sizes = np.array([len(state.x) for state in states], dtype=np.int64)
    rows = np.array([state.messages.num_rows for state in states], dtype=np.int64)
    first_node = np.cumsum(sizes) - sizes
    first_row = np.cumsum(rows) - rows
    messages = [len(state.messages.source) for state in states]
    edges = [state.edges.shape[1] for state in states]

    def joined(parts: list[Array], offsets: Array, counts: list[int]) -> Any:
        flat = np.concatenate(parts, axis=-1).astype(np.int64)
        return torch.from_numpy(flat + np.repeat(offsets, counts))

    return GraphBatch(
        x=torch.from_numpy(np.concatenate([s.x for s in states])),
        edges=joined([s.edges for s in states], first_node, edges),
        edge_features=torch.from_numpy(np.concatenate([s.edge_features for s in states])),
        source=joined([s.messages.source for s in states], first_node, messages),
        target=joined([s.messages.target for s in states], first_node, messages),
        row=joined([s.messages.row for s in states], first_row, messages),
        message_features=torch.from_numpy(np.concatenate([s.message_features for s in states])),
        graph=torch.from_numpy(np.repeat(np.arange(len(states)), sizes)),
        sizes=sizes,
    )
