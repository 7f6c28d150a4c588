"""Checks of actions: sampling, validity, and the declared components."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.core.checker.finding import Finding, reporting, shown
from lagco.core.checker.state import check_possible
from lagco.core.declaring.declaration import Declaration
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.core.spec import Edge, Node, SubGraph
from lagco.results.numbers import of_things

_ALL_ACTIONS = 300
_SOME_ACTIONS = 60


def check_dead_end(env: ContinuousEnv, step: int) -> Iterator[Finding]:
    """Nothing is valid where nothing is sampled, and a problem ends its episode there."""
    space = env.action_space
    listed = isinstance(space, gym.spaces.Discrete | gym.spaces.MultiDiscrete)
    if listed and env.num_actions <= _ALL_ACTIONS:
        with reporting("valid_actions()", step) as crashed:
            valid = env.valid_actions()
        yield from crashed
        if len(valid):
            yield Finding(
                "action",
                "sample_valid_action()",
                f"returned None, but action {shown(valid[0])} is valid",
                "return None only where nothing is valid",
                step,
            )
            return
    if isinstance(env, Problem):
        with reporting("step(None) where nothing is valid", step) as crashed:
            _, _, terminated, truncated, _ = env.step(None)
        yield from crashed
        if not (terminated or truncated):
            remedy = "end the episode, or let has_valid_action() say that something is valid"
            yield Finding("action", "step()", "goes on where nothing is valid", remedy, step)


def check_action(
    env: ContinuousEnv, declared: Declaration, action: Any, step: int
) -> Iterator[Finding]:
    """A sampled action lies in the space, is valid, and is one that is declared."""
    if not env.action_space.contains(action):
        yield Finding(
            "action",
            "sample_valid_action()",
            f"returned {shown(action)}, which is not in {env.action_space}",
            "return an action of the action space",
            step,
        )
    with reporting("is_valid_action()", step) as crashed:
        valid = env.is_valid_action(action)
    yield from crashed
    if not valid:
        yield Finding(
            "action",
            "sample_valid_action()",
            f"returned {shown(action)}, but is_valid_action({shown(action)}) is False",
            "sample among the valid actions only",
            step,
        )
        return
    with reporting("parts_from_actions()", step) as crashed:
        parts = env.parts_from_actions(np.asarray([action]))
        back = env.actions_from_parts(parts)
    yield from crashed
    if not np.array_equal(np.asarray(back)[0], np.asarray(action)):
        yield Finding(
            "action",
            "actions_from_parts()",
            f"gives {shown(back[0])} for the parts {shown(parts[0])} of {shown(action)}",
            "make it the inverse of parts_from_actions()",
            step,
        )
    yield from _declared_parts(env, declared, parts[0], action, step)


def _declared_parts(
    env: ContinuousEnv, declared: Declaration, parts: Any, action: Any, step: int
) -> Iterator[Finding]:
    for column, (name, component) in enumerate(declared.action.items()):
        if isinstance(component, SubGraph) and component.max_size is not None:
            yield from _declared_subgraph(env, name, component, parts[column:], action, step)
        if not isinstance(component, Node | Edge):
            return  # the columns of what follows depend on the state
        view = env.graph_views()[component.graph or ""]
        chosen = int(parts[column])
        node = isinstance(component, Node)
        count, what = (view.num_nodes, "nodes") if node else (view.num_edges, "edges")
        if component.none and chosen == count:
            continue
        if not 0 <= chosen < count:
            yield Finding(
                "action",
                f"_action_type[{name!r}]",
                f"the valid action {shown(action)} chooses {chosen}, but the view "
                f"{component.graph!r} has {count} {what}",
                f"choose among 0 to {count - 1}; let action_space and is_valid_action() follow "
                f"the {what} of the present state",
                step,
            )
            continue
        select = view.select_nodes if isinstance(component, Node) else view.select_edges
        if chosen not in select(component.spec):
            yield Finding(
                "action",
                f"_action_type[{name!r}]",
                f"the valid action {shown(action)} chooses {chosen}, which does not meet the "
                f"spec {dict(component.spec)}",
                "loosen the spec or let is_valid_action() refuse it",
                step,
            )


def _declared_subgraph(
    env: ContinuousEnv, name: str, component: SubGraph, parts: Any, action: Any, step: int
) -> Iterator[Finding]:
    view = env.graph_views()[component.graph or ""]
    if not component.fits(view, np.asarray([parts[: component.max_size]]))[0]:
        yield Finding(
            "action",
            f"_action_type[{name!r}]",
            f"the valid action {shown(action)} is no connected subgraph of the view "
            f"{component.graph!r} that meets the spec, its nodes ascending and padded with "
            f"{view.num_nodes}",
            f"let is_valid_action() refuse what _action_type[{name!r}].fits(view, values) does",
            step,
        )


def check_validity(
    env: ContinuousEnv, declared: Declaration, step: int, rng: np.random.Generator
) -> Iterator[Finding]:
    """`is_valid_action`, `are_valid_actions` and `action_mask` say the same."""
    if not isinstance(env.action_space, gym.spaces.Discrete | gym.spaces.MultiDiscrete):
        return
    if env.num_actions <= _ALL_ACTIONS:
        actions = env.all_actions()
        hooks: dict[str, Callable[[], Any]] = {
            "are_valid_actions()": lambda: env.are_valid_actions(actions),
            "action_mask()": env.action_mask,
        }
    else:
        env.action_space.seed(int(rng.integers(2**31)))
        actions = np.array([env.action_space.sample() for _ in range(_SOME_ACTIONS)])
        hooks = {"are_valid_actions()": lambda: env.are_valid_actions(actions)}
    with reporting("is_valid_action()", step) as crashed:
        one_by_one = np.array([bool(env.is_valid_action(action)) for action in actions])
    yield from crashed
    kinds = declared.action.items()
    names = [name for name, _ in takewhile(lambda kind: not kind[1].takes_nodes, kinds)]
    with reporting("possible_parts()", step) as crashed:
        wrong = list(check_possible(env, names, actions[one_by_one], step))
    yield from crashed
    yield from wrong
    for hook, ask in hooks.items():
        with reporting(hook, step) as crashed:
            answers = np.asarray(ask())
        yield from crashed
        if answers.shape != one_by_one.shape:
            yield Finding(
                "validity",
                hook,
                f"has shape {answers.shape} for {of_things(len(actions), 'actions')}",
                f"return a bool array of shape {one_by_one.shape}",
                step,
            )
        elif (answers != one_by_one).any():
            where = int(np.flatnonzero(answers != one_by_one)[0])
            yield Finding(
                "validity",
                hook,
                f"says {bool(answers[where])} of action {shown(actions[where])}, "
                f"is_valid_action() says {bool(one_by_one[where])}",
                "make both follow the same rule",
                step,
            )
