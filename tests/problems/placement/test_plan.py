"""Plans of episodes."""

from __future__ import annotations

from lagco.heuristics.known_plans import KnownPlans
from lagco.problems.placement import Placement
from lagco.problems.placement.foresight import plan as plans


def _plan(env, seed):
    env.reset(seed=seed)
    return env._survey.plan.tobytes()


def test_a_start_has_so_many_plans_and_finds_them_again(monkeypatch):
    instance = Placement.generate(8)
    env = Placement(instance)
    found = [_plan(env, seed) for seed in range(60)]
    assert 1 < len(set(found)) <= plans.PLANS
    monkeypatch.setattr(plans, "_known", KnownPlans())
    assert [_plan(Placement(instance), seed) for seed in range(5)] == found[:5]


def test_only_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(plans, "_known", KnownPlans(3))
    env = Placement(Placement.generate(6))
    for seed in range(12):
        env.reset(seed=seed)
    assert len(plans._known) <= 3
