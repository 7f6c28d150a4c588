"""Timing decisions and training."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lagco.agents.registry import METHODS
from lagco.bench.decisions import time_decisions
from lagco.bench.training import PARTS, PartClock, bench_throughput
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


def test_throughput_has_a_row_per_problem_and_method_with_its_parts():
    tsp = problem_class("tsp")
    records = bench_throughput({tsp: 8}, ["soft-projection", "p-discrete-m"], steps=64)
    assert [(r["problem"], r["method"]) for r in records] == [
        ("tsp", "soft-projection"),
        ("tsp", "p-discrete-m"),
    ]
    first = records[0]
    assert all(first[part] > 0 for part in PARTS)
    assert records[1]["encode"] == 0  # it sees padded arrays


def test_a_part_within_another_counts_once():
    class Clockwork:
        def outer(self):
            return self.inner() + 1

        def inner(self):
            return 1

    watched, clock = Clockwork(), PartClock()
    clock.watch(watched, "outer", "search")
    clock.watch(watched, "inner", "encode")
    clock.watch(watched, "missing", "observe")
    assert watched.outer() == 2
    assert clock.seconds["search"] > 0 and clock.seconds["encode"] > 0
    assert clock.seconds["observe"] == 0


@pytest.mark.parametrize(
    ("method", "parts"),
    [
        ("projection", ["encode", "actions", "observe", "policy", "search"]),
        ("p-discrete-m", ["observe", "policy", "choose"]),
        ("iterative", ["encode", "actions", "list", "observe", "values"]),
    ],
)
def test_parts_of_decisions_are_those_of_the_one_way_to_decide(method, parts, monkeypatch):
    """What is timed is `act` itself, and its parts add up to it."""
    tsp = problem_class("tsp")
    instance = tsp.generate(8)
    found = time_decisions(tsp, instance, method, decisions=4)
    assert list(found.parts) == parts
    assert all((times > 0).all() for times in found.parts.values())

    class Unclocked:
        def act(self, rng, explore):
            return 0

    monkeypatch.setattr(type(METHODS[method]), "actor", lambda *arguments: Unclocked())
    assert list(time_decisions(tsp, instance, method, decisions=4).parts) == ["decision"]
