"""Timing decisions."""

from __future__ import annotations

from dataclasses import replace

from lagco.agents.bench import time_decisions
from lagco.problems import problem_class


class Detours(problem_class("traffic")):
    """A problem of a user's own, whose actions are paths."""

    name = "detours"

    @classmethod
    def draw(cls, rng, size=None):
        return replace(super().draw(rng, size), problem="detours")


def test_actions_are_counted_only_where_that_needs_no_list():
    instance = Detours.generate(8)
    found = time_decisions(Detours, instance, decisions=4)
    assert found.actions is None and len(found.whole) > 0
    listed = time_decisions(Detours, instance, "g-discrete", decisions=4)
    assert listed.actions == Detours(instance).num_actions
