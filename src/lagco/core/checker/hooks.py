"""Checks of the hooks around episodes: draws, references, solutions, poolings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.core.checker.finding import Finding, shown
from lagco.core.declaring.declaration import Declaration
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.pooling import Pooling
from lagco.core.problem import Problem
from lagco.core.rewards.references import misplaced_reference
from lagco.core.spec import Edge, Graph, Node, SubGraph
from lagco.errors import LagcoError, MissingExtra
from lagco.results.numbers import of_things

_WIDTH = 4
_FEW_SWEEPS = 2
_LITTLE_EFFORT = 1 / 4096


def check_poolings(declared: Declaration) -> Iterator[Finding]:
    """Poolings of the author's own give finite vectors of one width."""
    for owner, parts in (
        ("_observation_type", declared.observation),
        ("_action_type", declared.action),
    ):
        for name, part in parts.items():
            poolings: tuple[Any, ...] = ()
            counts: tuple[int, ...] = (1, 2, 5)
            if isinstance(part, Graph):
                poolings = tuple(part.poolings)
                counts = (0, *counts) if part.spec else counts
            elif isinstance(part, Edge | SubGraph):
                poolings = (part.pooling,)
                counts = (2,) if isinstance(part, Edge) else counts
            for pooling in poolings:
                if not isinstance(pooling, Pooling):
                    yield from _check_pooling(f"{owner}[{name!r}]", pooling, counts)


def _check_pooling(owner: str, pooling: Any, counts: tuple[int, ...]) -> Iterator[Finding]:
    rng = np.random.default_rng(0)
    widths: dict[int, int] = {}
    what = f"the pooling {getattr(pooling, '__name__', pooling)!s}"
    for count in counts:
        vectors = rng.normal(size=(count, _WIDTH)).astype(np.float32)
        try:
            with np.errstate(all="ignore"):
                found = np.ravel(np.asarray(pooling(vectors), dtype=np.float64))
        except Exception as error:
            raised = f"{what} raised {type(error).__name__} for {count} vectors: {error}"
            yield Finding("pooling", owner, raised, "it takes an array (k, d), k may be 0")
            return
        widths[count] = found.size
        if not np.isfinite(found).all():
            seen = f"{what} gives {shown(found)} for {count} vectors"
            yield Finding("pooling", owner, seen, "return finite numbers, zeros for no vectors")
            return
    if len(set(widths.values())) > 1:
        seen = ", ".join(
            f"{of_things(width, 'numbers')} for {count} vectors" for count, width in widths.items()
        )
        remedy = "return as many numbers whatever the number of vectors"
        yield Finding("pooling", owner, f"{what} gives {seen}", remedy)


def check_action_range(
    env: ContinuousEnv, declared: Declaration, views: Mapping[str, GraphView]
) -> Iterator[Finding]:
    """The action space holds every node and edge that a component may choose."""
    if type(env).actions_from_parts is not ContinuousEnv.actions_from_parts:
        return
    space = env.action_space
    if isinstance(space, gym.spaces.Discrete):
        ranges = [(int(space.start), int(space.n))]
    elif isinstance(space, gym.spaces.MultiDiscrete):
        ranges = list(zip(space.start.ravel().tolist(), space.nvec.ravel().tolist(), strict=True))
    else:
        return
    for (name, component), (start, count) in zip(declared.action.items(), ranges, strict=False):
        if isinstance(component, SubGraph) and component.max_size is not None:
            yield from _check_room(name, component, views, space, len(declared.action))
        if not isinstance(component, Node | Edge):
            return  # the columns of what follows depend on the state
        view = views[component.graph or ""]
        node = isinstance(component, Node)
        size, what = (view.num_nodes, "nodes") if node else (view.num_edges, "edges")
        if component.none:
            size, what = size + 1, f"{what} and none"
        if start > 0 or start + count < size:
            yield Finding(
                "action",
                "action_space",
                f"{space} lets {name!r} be {start} to {start + count - 1}, but the view "
                f"{component.graph!r} has {size} {what}, 0 to {size - 1}",
                f"make room for {of_things(size, 'values')}, or override actions_from_parts()",
                0,
            )


def check_outside(env: Problem) -> Iterator[Finding]:
    """An action that the space does not have, as padding numbers some, is invalid."""
    space = env.action_space
    if isinstance(space, gym.spaces.Discrete):
        outside: Any = int(space.start + space.n)
    elif isinstance(space, gym.spaces.MultiDiscrete):
        outside = space.start + space.nvec
    else:
        return
    try:
        if not env.is_valid_action(outside):
            return
        found = "is True"
    except Exception as error:
        found = f"raised {type(error).__name__} ({error})"
    yield Finding(
        "action",
        "is_valid_action()",
        f"{found} for {shown(outside)}, which is not in {space}",
        "begin it with a test such as 0 <= action < n, as methods without a mask try such actions",
        0,
    )


def _check_room(
    name: str, component: SubGraph, views: Mapping[str, GraphView], space: Any, components: int
) -> Iterator[Finding]:
    """The action space has as many columns as a connected subgraph has nodes at most."""
    wanted = components - 1 + (component.max_size or 0)
    columns = space.nvec.size if isinstance(space, gym.spaces.MultiDiscrete) else 1
    if columns != wanted:
        yield Finding(
            "action",
            "action_space",
            f"{space} has {of_things(columns, 'numbers')}, but {name!r} takes "
            f"{component.max_size}, so an action has {wanted}",
            f"use MultiDiscrete with {component.max_size} times "
            f"{views[component.graph or ''].num_nodes + 1} for {name!r}: the nodes, and their "
            "number for 'no node'",
            0,
        )


def check_hooks(env: Problem, seed: int) -> Iterator[Finding]:
    """`draw`, `sweep`, `solve` and `evaluate_solution` hold to what is expected of them."""
    cls = type(env)
    yield from _check_draw(cls, seed)
    instance = env.instance
    for hook, run in (
        ("sweep()", lambda: cls.sweep(instance, _FEW_SWEEPS, seed)),
        ("solve()", lambda: cls.solve(instance, seed, _LITTLE_EFFORT)),
    ):
        if not cls.defines(hook.removesuffix("()")):
            continue
        try:
            references = run()
            known = getattr(references, "sweeps" if hook == "sweep()" else "solver")
        except MissingExtra:
            continue
        except Exception as error:
            raised = f"raised {type(error).__name__}: {error}"
            yield Finding("reference", hook, raised, "return References for every instance")
            continue
        if known is None:
            empty = "returned References without its own reference"
            yield Finding("reference", hook, empty, "return References(sweeps=… or solver=…)")
            continue
        wrong = misplaced_reference(cls, references)
        if wrong is not None:
            yield Finding("reference", hook, *wrong)
        elif cls.defines("evaluate_solution"):
            scaled = instance  # some objectives are scaled by bounds that only the sweeps know
            if hook == "sweep()":
                scaled = instance.with_references(references)
            pairs = {"best_solution": "best", "worst_solution": "worst", "solution": "value"}
            for attribute, value in pairs.items():
                solution = getattr(known, attribute, None)
                if solution is None or getattr(known, "status", "") == "bound":
                    continue
                yield from _compare(
                    cls, scaled, solution, getattr(known, value), f"{hook}'s {attribute}"
                )


def check_solution(env: Problem, step: int) -> Iterator[Finding]:
    """`evaluate_solution` of a finished state gives its objective."""
    if type(env).defines("evaluate_solution") and env.is_feasible():
        said = f"solution() at step {step}"
        yield from _compare(type(env), env.instance, env.solution(), env.objective(), said)


def _compare(
    cls: type[Problem], instance: Any, solution: Any, value: float, what: str
) -> Iterator[Finding]:
    who = "evaluate_solution()"
    try:
        found = float(cls.evaluate_solution(instance, solution))
    except Exception as error:
        raised = f"raised {type(error).__name__} for {what}: {error}"
        yield Finding("solution", who, raised, "it takes what solution() returns")
        return
    if not math.isclose(found, value, rel_tol=1e-6, abs_tol=1e-9):
        yield Finding(
            "solution",
            who,
            f"gives {found:.6g} for {what}, whose objective is {value:.6g}",
            "compute the same objective as objective()",
        )


def _check_draw(cls: type[Problem], seed: int) -> Iterator[Finding]:
    if not cls.defines("draw"):
        return
    size = cls.default_size
    try:
        first, again = (cls.generate(size, seed) for _ in range(2))
        sizes = [first.size, *([cls.generate(2 * size, seed).size] if size else [])]
    except LagcoError as error:
        yield Finding("draw", str(error), "", "")
        return
    except Exception as error:
        raised = f"raised {type(error).__name__} for size={size}: {error}"
        yield Finding("draw", "draw()", raised, "take draw(cls, rng, size=None)")
        return
    if first.problem != cls.name:
        seen = f"returned an instance for the problem {first.problem!r}"
        yield Finding("draw", "draw()", seen, f"use the name of the class, {cls.name!r}")
    if first.checksum != again.checksum:
        seen = f"returned two instances for the same seed {seed}"
        yield Finding("draw", "draw()", seen, "draw everything from the rng that is given")
    if len(set(sizes)) < len(sizes):
        seen = f"returned size {sizes[0]} for size={size} and for size={2 * size}"
        yield Finding("draw", "draw()", seen, "let the instance have the size that is asked for")
