"""Interface of controllers: from the present instance to a configuration, within a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from lagco.arrays import Array
from lagco.core.changes import MAX_CHANGES, incumbent_of
from lagco.core.events import Event
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.solving.portfolio import Limit

#: turns of the decision that does not count: enough for most of the code that later ones need
_PREPARING = 8


@dataclass(frozen=True, eq=False)
class Situation:
    """Input of a decision.

    Attributes:
        cls: class of the problem.
        instance: the present instance. It holds the configuration in force as its incumbent, and
            the limits of changes: fixed elements, allowed values, ``params["max_changes"]``.
        limit: when to answer, in seconds or turns.
        seed: of this decision.
        number: of the decision, from 0 on.
        tell: called with the objective of each configuration better than the ones before.
    """

    cls: type[Problem]
    instance: Instance
    limit: Limit
    seed: int
    number: int
    tell: Callable[[float], None] = lambda objective: None

    @property
    def incumbent(self) -> Array:
        """The configuration in force."""
        found = incumbent_of(self.cls, self.instance)
        assert found is not None
        return found

    @property
    def max_changes(self) -> int | None:
        """Elements that may change; None for any number."""
        most: int | None = self.instance.params.get(MAX_CHANGES)
        return most


@runtime_checkable
class Controller(Protocol):
    """Decides repeatedly while an instance changes.

    It may cache anything between decisions, but a decision must be a function of the situation
    alone, so that an interrupted replay ends like an uninterrupted one.

    Attributes:
        name: as shown in tables.
    """

    name: str

    def decide(self, situation: Situation) -> Array | None:
        """A configuration within the limits of the instance; None to change nothing.

        Late answers are dropped.
        """
        ...


@dataclass(frozen=True, eq=False)
class Update:
    """Changes of an instance since the last decision.

    Attributes:
        number: of the next decision.
        applied: the configuration put in force by the last decision; None for no change.
        events: events since then.
        seed: of the decision.
    """

    number: int
    applied: Array | None
    events: tuple[Event, ...]
    seed: int


class ControllerSession:
    """A controller together with the instance that it decides on.

    Args:
        controller: the controller.
        cls: class of the problem.
        instance: the initial instance, with the configuration in force.
    """

    def __init__(self, controller: Controller, cls: type[Problem], instance: Instance) -> None:
        self.controller = controller
        self.cls = cls
        self.instance = instance

    def decide(self, update: Update, limit: Limit) -> Array | None:
        """The controller's decision after an update."""
        self.instance = followed(self.cls, self.instance, update)
        situation = Situation(self.cls, self.instance, limit, update.seed, update.number)
        return self.controller.decide(situation)

    def prepare(self) -> None:
        """Warm the controller up with a decision that is ignored."""
        limit = Limit(turns=_PREPARING)
        self.controller.decide(Situation(self.cls, self.instance, limit, 0, 0))


def followed(cls: type[Problem], instance: Instance, update: Update) -> Instance:
    """The instance after an update."""
    if update.applied is not None:
        instance = in_force(cls, instance, update.applied)
    for event in update.events:
        instance = cls.after(instance, event).instance
    return instance


def in_force(cls: type[Problem], instance: Instance, solution: Array) -> Instance:
    """The instance with another configuration in force."""
    return replace(instance, arrays={**instance.arrays, str(cls.present): solution})


def live_instance(cls: type[Problem], instance: Instance, max_changes: int | None) -> Instance:
    """The instance with a configuration in force, its own or the problem's default, and a budget.

    Raises:
        UsageError: the problem has neither configurations in force nor events.
    """
    if cls.present is None or not cls.events:
        lacking = "present" if cls.present is None else "events"
        raise UsageError(
            f"{cls.name} cannot be decided on live without {cls.__name__}.{lacking}, which says "
            + ("what is in force" if cls.present is None else "what may happen")
        )
    incumbent = incumbent_of(cls, instance)
    if incumbent is None:
        env = cls(instance, start="default", features="paper", rewards=False)
        env.reset(seed=0)
        incumbent = env.solution()
    params = dict(instance.params)
    if max_changes is not None:
        params[MAX_CHANGES] = max_changes
    return in_force(cls, replace(instance, params=params), incumbent)
