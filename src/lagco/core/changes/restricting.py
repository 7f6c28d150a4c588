"""Valid actions within the limits of an instance, for every problem that says what actions set.

Validity methods of a problem do not deal with limits. They are wrapped when the class is created:
for an instance with limits, an action must be valid and permitted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import Limits

if TYPE_CHECKING:
    from lagco.core.problem import Problem

#: draws of an action within tight limits before all actions are listed
_DRAWS = 256
#: most actions that are listed then
_MOST_LISTED = 200_000


def restrict(cls: type[Problem]) -> None:
    """Wrap the validity methods that a class itself defines."""
    for name, wrap in _WRAPPERS.items():
        method = cls.__dict__.get(name)
        if method is not None:
            setattr(cls, name, wrap(method))


def _limits(problem: Problem) -> Limits | None:
    return problem.__dict__.get("_limits")


def _one(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def is_valid_action(self: Problem, action: Any) -> bool:
        valid = bool(method(self, action))
        limits = _limits(self)
        if limits is None or not valid:
            return valid
        return bool(limits.permitted(self, np.asarray([action]))[0])

    return is_valid_action


def _many(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def are_valid_actions(self: Problem, actions: Array) -> Array:
        valid: Array = method(self, actions)
        limits = _limits(self)
        if limits is None or not valid.any():
            return valid
        found = np.asarray(valid, dtype=bool).copy()
        found[found] = limits.permitted(self, np.asarray(actions)[found])
        return found

    return are_valid_actions


def _mask(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def action_mask(self: Problem) -> Array:
        mask: Array = method(self)
        limits = _limits(self)
        if limits is None or not mask.any():
            return mask
        found = np.asarray(mask, dtype=bool).copy()
        found[found] = limits.permitted(self, self.all_actions()[found])
        return found

    return action_mask


def _exists(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def has_valid_action(self: Problem) -> bool:
        exists = bool(method(self))
        if _limits(self) is None or not exists:
            return exists
        if self.num_actions <= _MOST_LISTED:
            return bool(self.action_mask().any())
        return self.sample_valid_action(np.random.default_rng(self.steps_taken)) is not None

    return has_valid_action


def _drawn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def sample_valid_action(self: Problem, *given: Any, **named: Any) -> Any:
        limits = _limits(self)
        if limits is None:
            return method(self, *given, **named)
        for _ in range(_DRAWS):
            action = method(self, *given, **named)
            if action is None or limits.permitted(self, np.asarray([action]))[0]:
                return action
        if self.num_actions > _MOST_LISTED:
            return None
        valid = self.valid_actions()
        sources = (*given, *named.values())
        source = next((rng for rng in sources if rng is not None), self.np_random)
        return valid[source.integers(len(valid))] if len(valid) else None

    return sample_valid_action


def _offered(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def offered(self: Problem, *given: Any) -> Array | None:
        actions: Array | None = method(self, *given)
        limits = _limits(self)
        if limits is None or actions is None or not len(actions):
            return actions
        return actions[limits.permitted(self, actions)]

    return offered


def _finished(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def completed(self: Problem) -> Array | None:
        return method(self) if _limits(self) is None else None  # by steps, which keep to them

    return completed


_WRAPPERS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "is_valid_action": _one,
    "are_valid_actions": _many,
    "action_mask": _mask,
    "has_valid_action": _exists,
    "sample_valid_action": _drawn,
    "suggested_actions": _offered,
    "advise": _offered,
    "demonstrate": _offered,
    "completed": _finished,
}
