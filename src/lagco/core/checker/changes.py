"""Checks of incumbents and limits: elements have names, and actions keep to what may change."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.judging import judge
from lagco.core.changes.limits import FIXED, MAX_CHANGES, same
from lagco.core.checker.finding import Finding, shown
from lagco.core.env import draw_valid_action
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.results.numbers import of_things

#: steps of an episode within limits, share of the elements that are fixed, and the budget
_STEPS, _SHARE, _BUDGET = 40, 0.2, 2


def check_changes(env: Problem, seed: int) -> Iterator[Finding]:
    """An incumbent is taken, and an episode within random limits keeps to them.

    The environment is not changed.
    """
    cls = type(env)
    if cls.present is None:
        return
    env, rng = copy.deepcopy(env), np.random.default_rng(seed)
    env.reset(seed=seed)
    incumbent = _reached(env, rng)
    if incumbent is None:
        return
    instance = cls.with_present(env.instance, incumbent)
    values, names = cls.elements(instance, incumbent), cls.element_names(instance)
    if len(names) != len(values):
        yield Finding(
            "changes",
            "element_names()",
            f"gives {len(names)} names for {len(values)} elements",
            "name every entry of elements(instance, solution), in the same order",
        )
        return
    if not cls.builds_up:
        env.reset(seed=seed, options={"instance": instance, "start": "current"})
        apart = int((~same(env.present_elements(), values)).sum())
        if apart:
            yield Finding(
                "changes",
                "_begin()",
                f"begins {of_things(apart, 'elements')} away from the incumbent",
                f"begin from the array {cls.present!r} where the start is 'current'",
            )
            return
    if cls.defines("set_by") or cls.defines("keep_limits"):
        yield from _within_limits(env, instance, len(values), rng, seed)


def _reached(env: Problem, rng: np.random.Generator) -> Array | None:
    """A solution after some random actions; None where they lead to none."""
    for number in range(_STEPS + env.episode_length):
        if env.is_complete() or (number >= _STEPS and env.is_feasible()):
            break
        action = draw_valid_action(env, rng)
        if action is None:
            break
        env.carry_out(action)
    return env.solution() if env.is_feasible() else None


def _within_limits(
    env: Problem, instance: Instance, count: int, rng: np.random.Generator, seed: int
) -> Iterator[Finding]:
    cls = type(env)
    fixed = (rng.random(count) < _SHARE).astype(np.int8)
    params = {**instance.params, MAX_CHANGES: _BUDGET}
    limited = replace(instance, arrays={**instance.arrays, FIXED: fixed}, params=params)
    env.reset(seed=seed, options={"instance": limited})
    hook = "keep_limits()" if cls.defines("keep_limits") else "set_by()"
    remedy = "let it say what an action sets or rules out; changes count from the incumbent"
    for step in range(1, _STEPS + 1):
        action = None if env.is_complete() else draw_valid_action(env, rng)
        if action is None:
            return
        told = None
        if cls.defines("set_by") and not cls.builds_up:
            told = env.set_by(np.asarray([action]))
        env.carry_out(action)
        found = env.solution()
        if told is not None:
            element, value = told
            now = cls.elements(limited, found)[element]
            if not same(np.asarray(value), now)[0]:
                seen = f"says that {shown(action)} sets element {shown(element[0])} to "
                seen += f"{shown(value[0])}, and it is {shown(now[0])} then"
                yield Finding("changes", "set_by()", seen, "return what actions set", step)
                return
        verdict = judge(cls, limited, found) if env.is_feasible() else None
        if verdict is not None and verdict.refused:
            what = f"lets {shown(action)} through, which leads to: {verdict.faults[-1]}"
            yield Finding("changes", hook, what, remedy, step)
            return
