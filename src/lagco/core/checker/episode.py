"""Checks over time: rewards that add up, states that stay, episodes that repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.core.checker.finding import Finding
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.graphs.columns import differing_rows

TOLERANCE = 1e-6


def check_reward_sum(
    env: ContinuousEnv, rewards: list[float], infos: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """Rewards add up to the score plus the declared terms."""
    last = infos[-1]
    if not getattr(env, "reward_is_score", True) or last.get("score") is None:
        return
    terms: dict[str, float] = {}
    for info in infos:
        for name, value in info.get("reward_terms", {}).items():
            terms[name] = terms.get(name, 0.0) + float(value)
    expected = float(last["score"]) + sum(terms.values())
    if abs(sum(rewards) - expected) > TOLERANCE * (1.0 + abs(expected)):
        listed = ", ".join(f"{name} {value:.6g}" for name, value in terms.items()) or "none"
        yield Finding(
            "reward",
            "step()",
            f"rewards sum to {sum(rewards):.6g}, the score is {float(last['score']):.6g} and the "
            f"declared terms are {listed}",
            "make rewards telescope to the score, or declare the rest in info['reward_terms']",
            len(rewards),
        )


def check_unchanged(
    before: Mapping[str, GraphView], env: ContinuousEnv, who: str, what: str, step: int
) -> Iterator[Finding]:
    for name, view in env.graph_views().items():
        old = before.get(name)
        if old is None or old.num_nodes != view.num_nodes or old.num_edges != view.num_edges:
            changed = f"the structure of view {name!r}"
        else:
            columns = [*old.nodes.items(), *old.edge_attributes.items()]
            now = view.nodes | view.edge_attributes
            differing = [n for n, column in columns if differing_rows(column, now[n]).size]
            if not differing:
                continue
            changed = f"attribute {differing[0]!r} of view {name!r}"
        yield Finding("state", who, f"{what}: {changed}", "leave the state as it is", step)
        return


def misfit(env: ContinuousEnv, observation: Any) -> str:
    space = env.observation_space
    if isinstance(space, gym.spaces.Dict) and isinstance(observation, Mapping):
        for key, part in space.spaces.items():
            if key not in observation:
                return f"key {key!r} is missing"
            if not part.contains(observation[key]):
                return f"{key!r} is {_brief(observation[key])}, declared {part}"
        extra = observation.keys() - space.spaces.keys()
        return f"key {extra.pop()!r} is not declared" if extra else "it differs"
    return f"{_brief(observation)}, declared {space}"


def _brief(value: Any) -> str:
    array = np.asarray(value)
    if array.size and array.dtype.kind in "biuf":
        return f"{array.dtype} {array.shape} within {array.min():.6g} to {array.max():.6g}"
    return f"{array.dtype} {array.shape}"


def copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def same(first: Any, second: Any) -> bool:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    return bool(np.array_equal(np.asarray(first), np.asarray(second)))
