"""The contract of controllers: the present state in, at most so many changes out, in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from lagco.arrays import Array
from lagco.core.changes import MAX_CHANGES, incumbent_of
from lagco.core.events import Event
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.solving.portfolio import Limit


@dataclass(frozen=True, eq=False)
class Situation:
    """What a controller is asked to decide on.

    Attributes:
        cls: class of the problem.
        instance: as it is now. Its incumbent is the configuration in force, and what may change is
            in it too: fixed elements, allowed values, ``params["max_changes"]``.
        limit: when to answer: in seconds, or after so many turns.
        seed: of this decision.
        number: of the decision, from 0 on.
        tell: is told the objective of every configuration better than those before.
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
    """Decides again and again while an instance changes.

    It may keep what it likes from one decision to the next, but its decision must follow from the
    situation alone, so that a replay that was interrupted ends as one that was not.

    Attributes:
        name: as tables show it.
    """

    name: str

    def decide(self, situation: Situation) -> Array | None:
        """A configuration within the limits of the instance; None to leave all as it is.

        Who answers late is not asked what the answer was.
        """
        ...


@dataclass(frozen=True, eq=False)
class Update:
    """What happened since the last decision.

    Attributes:
        number: of the decision that is asked for.
        applied: the configuration that was put in force then; None where nothing changed.
        events: what happened since.
        seed: of the decision.
    """

    number: int
    applied: Array | None
    events: tuple[Event, ...]
    seed: int


class Desk:
    """A controller at work, with the instance kept up to date.

    Args:
        controller: decides.
        cls: class of the problem.
        instance: at the beginning, with the configuration in force.
    """

    def __init__(self, controller: Controller, cls: type[Problem], instance: Instance) -> None:
        self.controller = controller
        self.cls = cls
        self.instance = instance

    def decide(self, update: Update, limit: Limit) -> Array | None:
        """What the controller decides after an update."""
        self.instance = followed(self.cls, self.instance, update)
        situation = Situation(self.cls, self.instance, limit, update.seed, update.number)
        return self.controller.decide(situation)

    def prepare(self) -> None:
        """Let the controller load what it needs, on a decision that does not count."""
        limit = Limit(turns=1)
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


def beginning(
    cls: type[Problem], instance: Instance, max_changes: int | None, incumbent: Any = None
) -> Instance:
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
    if incumbent is None:
        incumbent = incumbent_of(cls, instance)
    if incumbent is None:
        env = cls(instance, start="default", features="paper", rewards=False)
        env.reset(seed=0)
        incumbent = env.solution()
    params = dict(instance.params)
    if max_changes is not None:
        params[MAX_CHANGES] = max_changes
    return in_force(cls, replace(instance, params=params), incumbent)
