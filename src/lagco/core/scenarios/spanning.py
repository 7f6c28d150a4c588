"""Objectives over all variants of an instance, for every problem.

Evaluation methods of a problem do not deal with scenarios. They are wrapped when the class is
created: for an instance with scenarios, they give the joint objective.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.core.scenarios.variants import has_scenarios, joined, joins_by_mean, variant, variants
from lagco.instances import Instance

if TYPE_CHECKING:
    from lagco.core.problem import Problem


def span(cls: type[Problem]) -> None:
    """Wrap the evaluation methods that a class itself defines."""
    for name, wrap in _OF_CLASSES.items():
        method = cls.__dict__.get(name)
        if method is not None and cls.defines(name):  # not where it names the base's own again
            setattr(cls, name, classmethod(wrap(method.__func__)))
    for name, wrap in _OF_STATES.items():
        method = cls.__dict__.get(name)
        if inspect.isfunction(method):
            setattr(cls, name, wrap(method))


def worst_scenario(cls: type[Problem], instance: Instance, solution: Array) -> int:
    """Number of the variant with the worst objective."""
    values = cls.scenario_values(instance, solution)
    return int(np.argmin(values) if cls.maximise else np.argmax(values))


def _evaluated(method: Callable[..., float]) -> Callable[..., float]:
    @wraps(method)
    def evaluate_solution(cls: type[Problem], instance: Instance, solution: Array) -> float:
        if not has_scenarios(instance):
            return method(cls, instance, solution)
        return joined(instance, cls.scenario_values(instance, solution), maximise=cls.maximise)

    return evaluate_solution


def _fullest(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def fullest(cls: type[Problem], instance: Instance, solution: Array, most: int = 5) -> Any:
        if has_scenarios(instance):
            instance = variant(instance, worst_scenario(cls, instance, solution))
            solution = cls.in_scenario(instance, solution)
        return method(cls, instance, solution, most)

    return fullest


def _bounded(method: Callable[..., float | None]) -> Callable[..., float | None]:
    @wraps(method)
    def bound(cls: type[Problem], instance: Instance, seconds: float | None = None) -> float | None:
        """That of every variant; of the worst one those suffice that are found in time."""
        if not has_scenarios(instance):
            return method(cls, instance, seconds)
        began, found = time.perf_counter(), []
        for case in variants(instance):
            left = None if seconds is None else seconds - (time.perf_counter() - began)
            value = None if left is not None and left <= 0.0 else method(cls, case, left)
            if value is not None:
                found.append(value)
            elif joins_by_mean(instance):
                return None
        return joined(instance, np.array(found), maximise=cls.maximise) if found else None

    return bound


def _relaxed(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def relaxed(cls: type[Problem], instance: Instance, seconds: float | None = None) -> Any:
        return None if has_scenarios(instance) else method(cls, instance, seconds)

    return relaxed


def _objective(method: Callable[[Any], float]) -> Callable[[Any], float]:
    @wraps(method)
    def objective(self: Problem) -> float:
        if not has_scenarios(self.instance):
            return method(self)
        return joined(self.instance, self.state_values(), maximise=self.maximise)

    return objective


def _recomputed(method: Callable[[Any], float]) -> Callable[[Any], float]:
    @wraps(method)
    def recompute_objective(self: Problem) -> float:
        if not has_scenarios(self.instance):
            return method(self)
        return self.evaluate_solution(self.instance, self.solution())

    return recompute_objective


def _preview(method: Callable[..., Array]) -> Callable[..., Array]:
    @wraps(method)
    def preview(self: Problem, actions: Array) -> Array:
        if not has_scenarios(self.instance):
            return method(self, actions)
        values = self.scenario_preview(actions)
        return values if self.maximise else -values

    return preview


_OF_CLASSES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "evaluate_solution": _evaluated,
    "fullest": _fullest,
    "bound": _bounded,
    "relaxed": _relaxed,
}
_OF_STATES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "objective": _objective,
    "recompute_objective": _recomputed,
    "preview": _preview,
}
