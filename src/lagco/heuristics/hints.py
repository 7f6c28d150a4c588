"""Hints: generic columns and suggestions for rankers, of any problem that asks for them by name.

>>> class Colouring(Problem):
...     hints = ("preview", "age", "progress", "plan")

What they say is in `lagco.core.candidates.HINTS`. They are in units that depend neither on the size
of an instance nor on the scale of its objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import HINTS
from lagco.core.env import ContinuousEnv, Previews
from lagco.core.problem import Problem
from lagco.errors import SpecError, UsageError
from lagco.heuristics.plans import EpisodePlan
from lagco.results.measures import improvement

#: actions that a hint suggests, by previews and towards the plan
_BEST_PREVIEWS, SUGGESTED = 4, 8
#: raw actions of which the best previews are looked for at most
_MOST_PREVIEWED = 20_000


def hint_columns(problem: type[ContinuousEnv]) -> tuple[str, ...]:
    """Names of the columns that the hints of a problem add, in order."""
    return tuple(name for hint in problem.hints for name in HINTS[hint].names)


def hint_features(env: ContinuousEnv, actions: Array, hints: Sequence[str]) -> Array:
    """Columns of some hints for raw actions (k,) or (k, m): float32 (k, f)."""
    parts = [_COLUMNS[hint](_hinted(env, hint), actions) for hint in hints]
    return np.concatenate(parts, axis=1).astype(np.float32)


def suggested_actions(env: ContinuousEnv) -> Array | None:
    """Valid raw actions that a ranker always sees: the problem's own, or those of its hints."""
    own = env.suggested_actions()
    if own is not None:
        return own
    found: list[Array] = []
    if "preview" in env.hints and env.num_actions <= _MOST_PREVIEWED:
        found.append(_best_previews(env, env.valid_actions(), _BEST_PREVIEWS))
    if "plan" in env.hints:
        found.append(planned_actions(_hinted(env, "plan")))
    found = [actions for actions in found if len(actions)]
    return np.unique(np.concatenate(found), axis=0) if found else None


def planned_actions(problem: Problem) -> Array:
    """A few valid raw actions that lead to the plan of the episode; none where it offers nothing.

    Where their order matters, the next ones; else those of the best previews.
    """
    if not problem.shows_plans:
        return np.zeros(0, dtype=np.int64)
    plan = EpisodePlan.of(problem)
    actions = plan.offered(problem)
    if len(actions) <= SUGGESTED:
        return actions
    if plan.ordered or not isinstance(problem, Previews):
        return actions[:SUGGESTED]
    return _best_previews(problem, actions, SUGGESTED)


def _hinted(env: ContinuousEnv, hint: str) -> Any:
    if hint != "preview" and not isinstance(env, Problem):
        raise UsageError(
            f"hints of {type(env).__name__} are those of an episode: give the agent a problem, as "
            "lagco.evaluate and lagco.solve do"
        )
    if hint == "preview" and not isinstance(env, Previews):
        raise SpecError(
            f"{type(env).__name__}.hints has 'preview', which needs preview(actions); define it, "
            "or leave the hint out"
        )
    return env


def _best_previews(env: Any, actions: Array, count: int) -> Array:
    if len(actions) <= count:
        return actions
    values = np.asarray(env.preview(actions), dtype=float)
    return actions[np.argpartition(-values, count)[:count]]


# -- columns: each (k, f)


def _preview_columns(problem: Any, actions: Array) -> Array:
    """Previews as how far they are behind the best, in mean distances, and as ranks."""
    values = np.asarray(problem.preview(actions), dtype=float)
    behind = values.max() - values
    unit = behind.mean()
    ranks = np.empty(len(values))
    ranks[np.argsort(behind, kind="stable")] = np.arange(len(values)) / len(values)
    return np.stack([np.arcsinh(behind / unit) if unit > 0 else behind, ranks], axis=1)


def _age_columns(problem: Problem, actions: Array) -> Array:
    known = problem.remembered.setdefault("ages", {})
    taken = problem.actions_taken
    for step in range(known.get(None, 0), len(taken)):
        known[_element(taken[step])] = step + 1
    known[None] = len(taken)
    last = np.array([known.get(_element(action), -np.inf) for action in actions])
    ages = len(taken) - last + 1
    return np.stack([np.minimum(1.0, ages / max(1, problem.instance.size)), ages == 1], axis=1)


def _element(action: Any) -> int:
    """The element that an action changes: its first component."""
    return int(action if np.ndim(action) == 0 else action[0])


def _progress_columns(problem: Problem, actions: Array) -> Array:
    value, best = problem.objective(), problem.best_objective
    behind = 0.0
    if best is not None:
        behind = improvement(best, value, maximise=problem.maximise) / problem.usual_change
    left = 1.0 - problem.steps_taken / problem.episode_length
    return np.tile([np.arcsinh(behind), left], (len(actions), 1))


def _plan_columns(problem: Problem, actions: Array) -> Array:
    columns = np.zeros((len(actions), 4))
    if not problem.shows_plans:
        return columns
    plan = EpisodePlan.of(problem)
    offered = plan.offered(problem)
    if not len(offered):
        return columns
    places = {_key(action): place for place, action in enumerate(offered)}
    for row, action in enumerate(actions):
        place = places.get(_key(action))
        if place is not None:
            columns[row, 0] = 0.5 if plan.ordered and place else 1.0
    columns[:, 1] = columns[:, 0] == 0.0
    columns[:, 2] = np.arcsinh(plan.promise(problem) / problem.usual_change)
    columns[:, 3] = len(offered) / max(1, problem.episode_length - problem.steps_taken)
    return columns


def _key(action: Any) -> tuple[int, ...]:
    return tuple(np.atleast_1d(action).tolist())


_COLUMNS: dict[str, Any] = {
    "preview": _preview_columns,
    "age": _age_columns,
    "progress": _progress_columns,
    "plan": _plan_columns,
}
