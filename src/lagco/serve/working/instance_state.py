"""State of a live instance in a worker: its log applied, and decisions on it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes import MAX_CHANGES, evaluated, incumbent_of, judge
from lagco.core.changes.judging import changes_of
from lagco.core.events import Event
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError
from lagco.instances import Instance
from lagco.live.contract import Controller, Situation, in_force
from lagco.live.controllers import controller_of
from lagco.live.outcome import Outcome, weighed
from lagco.solving.portfolio import Limit

#: share of the time left that the controller is given
_TOLD = 0.8
#: seconds below which no controller is asked
_LEAST = 0.002
#: the fullest links, hosts, … of an answer
_FULLEST = 5
#: characters of the checksum of the elements' names
_CHECKSUM = 16


class Stale(UsageError):
    """A decision does not fit the present state any more."""


class InstanceState:
    """A live instance.

    Args:
        cls: class of the problem.
        instance: initial instance, with the configuration in force.
        agent: agent of the controllers that use one.

    Attributes:
        instance: the present instance.
        version: number of log entries applied.
    """

    def __init__(self, cls: type[Problem], instance: Instance, agent: Any = None) -> None:
        self.cls = cls
        self.instance = instance
        self.version = 0
        self._agent = agent
        self._controllers: dict[str, Controller] = {}

    @property
    def incumbent(self) -> Array:
        """The configuration in force."""
        found = incumbent_of(self.cls, self.instance)
        assert found is not None
        return found

    def follow(self, entry: Mapping[str, Any]) -> None:
        """Apply an entry of the log: events, or rows written to the configuration.

        Raises:
            InstanceError: an event is not possible; the instance is then unchanged.
        """
        instance = self.instance
        for event in entry.get("events", ()):
            instance = self.cls.after(instance, Event.of(event)).instance
        if entry.get("rows"):
            held = incumbent_of(self.cls, instance)
            assert held is not None
            instance = in_force(self.cls, instance, written(held, entry["rows"]))
        self.instance = instance
        self.version += 1

    def decide(
        self, asked: Mapping[str, Any], tell: Callable[[float], None] = lambda objective: None
    ) -> dict[str, Any]:
        """A decision on the present state, weighed from scratch; nothing is put in force.

        Args:
            asked: ``by``, ``seed``, ``round``, ``max_changes``, and ``until`` (a moment of the
                monotonic clock) or ``turns``.
            tell: called with the objective of every better configuration.
        """
        cls, instance = self.cls, _with_budget(self.instance, asked["max_changes"])
        limit = _limit(asked)
        solution, failure = None, ""
        if not limit.timed or limit.left() > _LEAST:
            situation = Situation(cls, instance, limit, asked["seed"], asked["round"], tell)
            try:
                solution = self._controller(asked["by"]).decide(situation)
            except LagcoError as error:
                failure = str(error)
        outcome = weighed(cls, instance, solution)
        return self._described(instance, outcome, solution) | {
            "refused": failure or outcome.refused,
            "taken": limit.taken,
            "version": self.version,
        }

    def weighed(self, solution: Array | None, max_changes: int | None) -> Outcome:
        """What a decision on the present state is worth."""
        return weighed(self.cls, _with_budget(self.instance, max_changes), solution)

    def check_rows(self, asked: Mapping[str, Any]) -> None:
        """Find out whether rows of an earlier decision can be written now.

        Args:
            asked: ``rows``, ``was`` (what they held), ``elements`` (their checksum then), and
                ``force``, whether it may be worse by now than what is in force.

        Raises:
            Stale: they cannot.
        """
        if asked["elements"] != self.elements():
            raise Stale(
                "links, machines, … have come or gone since this decision: ask for a new one"
            )
        held = self.incumbent
        if any(held[row].tolist() != value for row, value in asked["was"]):
            raise Stale("what it would change has changed since: ask for a new decision")
        if asked["force"]:
            return
        cls, instance = self.cls, _with_budget(self.instance, None)
        after = judge(cls, instance, written(held, asked["rows"]))
        if not after.beats(judge(cls, instance, held), maximise=cls.maximise):
            raise Stale(
                "by now it is no better than what is in force: ask for a new decision, or say "
                "force where it is rolled out already"
            )

    def elements(self) -> str:
        """Checksum of the elements that a configuration has values for, in their order."""
        names = "\n".join(self.cls.element_names(self.instance))
        found = hashlib.sha256(f"{self.incumbent.shape}\n{names}".encode("utf-8", "replace"))
        return found.hexdigest()[:_CHECKSUM]

    def summary(self) -> dict[str, Any]:
        """What the configuration in force is worth."""
        return {
            "objective": finite(evaluated(self.cls, self.instance, self.incumbent)),
            "unserved": finite(self.cls.unserved(self.instance)),
        }

    def fullest(self, solution: Array, most: int = _FULLEST) -> list[dict[str, Any]]:
        """The fullest links, hosts, … with a configuration."""
        found = self.cls.fullest(self.instance, solution, most=most)
        return [{"name": name, "use": finite(use)} for name, use in found]

    def _described(
        self, instance: Instance, outcome: Outcome, solution: Array | None
    ) -> dict[str, Any]:
        """A decision in the words of the instance's file."""
        changes: Sequence[Any] = ()
        after = outcome.incumbent
        if outcome.rows:
            assert solution is not None
            after = solution
            changes = changes_of(self.cls, instance, solution)
        return {
            "before": finite(outcome.held.objective),
            "after": finite(outcome.after.objective),
            "changes": [{"name": c.name, "before": c.before, "after": c.after} for c in changes],
            "rows": [[row, value] for row, value in outcome.rows],
            "was": [[row, outcome.incumbent[row].tolist()] for row, _ in outcome.rows],
            "elements": self.elements() if outcome.rows else "",
            "fullest_before": self.fullest(outcome.incumbent),
            "fullest_after": self.fullest(after) if outcome.rows else [],
            "unserved": finite(self.cls.unserved(instance)),
        }

    def _controller(self, name: str) -> Controller:
        if name not in self._controllers:
            self._controllers[name] = controller_of(name, self._agent)
        return self._controllers[name]


def written(configuration: Array, rows: Sequence[Sequence[Any]]) -> Array:
    """A configuration with other values in some rows."""
    found = np.array(configuration)
    for row, value in rows:
        found[row] = value
    return found


def finite(value: float) -> float | None:
    """A number that JSON can hold; None for what is infinite or no number."""
    return float(value) if np.isfinite(value) else None


def _with_budget(instance: Instance, max_changes: int | None) -> Instance:
    """The instance with another budget of changes; its own one without."""
    if max_changes is None or instance.params.get(MAX_CHANGES) == max_changes:
        return instance
    return replace(instance, params={**instance.params, MAX_CHANGES: max_changes})


def _limit(asked: Mapping[str, Any]) -> Limit:
    if asked.get("turns") is not None:
        return Limit(turns=asked["turns"])
    return Limit(_TOLD * (asked["until"] - time.monotonic()))
