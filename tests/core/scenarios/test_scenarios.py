"""Several variants of an instance under one solution, compared with each variant by itself."""

import itertools

import numpy as np
import pytest

import lagco
from lagco.core.changes import judge
from lagco.core.scenarios import scenario_shares, variants, with_scenarios
from lagco.errors import InstanceError, UsageError
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from tests.core.scenarios.networks import spanned, with_present

BOTH = pytest.mark.parametrize("cls", [OSPF, Traffic])


def drawn_solution(cls, instance, rng, steps=12):
    env = cls(instance, start="current", rewards=False)
    env.reset(seed=0)
    for _ in range(steps):
        env.carry_out(env.sample_valid_action(rng))
        env.objective()
    return env.solution()


def one_by_one(cls, instance, solution):
    return np.array(
        [cls.evaluate_solution(c, cls.in_scenario(c, solution)) for c in variants(instance)]
    )


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_the_worst_of_the_variants_each_by_itself(cls, seed):
    instance = spanned(with_present(cls, 8, seed), seed)
    solution = drawn_solution(cls, instance, np.random.default_rng(seed))
    alone = one_by_one(cls, instance, solution)
    np.testing.assert_allclose(cls.scenario_values(instance, solution), alone)
    assert cls.evaluate_solution(instance, solution) == pytest.approx(alone.max())


@BOTH
def test_the_mean_counts_shares(cls):
    plain = with_present(cls, 8, 3)
    instance = spanned(plain, by="mean", shares=[3.0, 1.0], failures=None)
    solution = drawn_solution(cls, instance, np.random.default_rng(0))
    alone = one_by_one(cls, instance, solution)
    assert cls.evaluate_solution(instance, solution) == pytest.approx((3 * alone[0] + alone[1]) / 4)
    assert scenario_shares(instance).tolist() == [0.75, 0.25]


@BOTH
@pytest.mark.parametrize("by", ["worst", "mean"])
def test_a_state_is_kept_up_to_date_and_its_preview_comes_true(cls, by):
    instance = spanned(with_present(cls, 7, 4), by=by)
    env = cls(instance, start="current")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        actions = np.array([env.sample_valid_action(rng) for _ in range(3)])
        foreseen = env.preview(actions)
        _, _, terminated, truncated, info = env.step(actions[0])
        assert -foreseen[0] == pytest.approx(info["objective"])
        assert info["objective"] == pytest.approx(one_joint(cls, instance, env.solution(), by))
        if terminated or truncated:
            break


def one_joint(cls, instance, solution, by):
    alone = one_by_one(cls, instance, solution)
    return alone.mean() if by == "mean" else alone.max()


def test_the_best_weights_for_the_worst_case_are_found():
    plain = with_present(OSPF, 5, 2, highest=2)
    instance = spanned(plain, 2)
    links = len(plain.array("weights"))
    best = min(
        one_by_one(OSPF, instance, np.array(weights)).max()
        for weights in itertools.product((1, 2), repeat=links)
    )
    answer = lagco.solve(instance, by="solver", turns=20, progress=False)
    assert answer.objective == pytest.approx(best)


@BOTH
@pytest.mark.parametrize("by", ["solver", "greedy", "agent", "portfolio"])
def test_whoever_answers_looks_at_all_scenarios(cls, by):
    instance = spanned(with_present(cls, 7, 5), 5)
    answer = lagco.solve(instance, by=by, turns=12, max_changes=3, progress=False)
    assert answer.valid
    assert answer.objective == pytest.approx(one_joint(cls, instance, answer.solution, "worst"))
    assert answer.objective <= answer.before
    assert len(answer.changes) <= 3
    assert len(answer.scenarios) == len(instance.array("scenario_names"))
    assert answer.scenarios[0].after == pytest.approx(answer.objective)
    assert max(scenario.before for scenario in answer.scenarios) == pytest.approx(answer.before)
    assert not judge(cls, answer.instance, answer.solution).faults
    assert answer.bound is None or answer.bound <= answer.objective * (1 + 1e-9)


@BOTH
def test_one_variant_is_the_plain_problem(cls):
    plain = with_present(cls, 7, 6)
    volumes = plain.array("volumes")[None]
    instance = with_scenarios(plain, ["as it is"], {"volumes": volumes})
    solution = drawn_solution(cls, plain, np.random.default_rng(2))
    assert cls.evaluate_solution(instance, solution) == cls.evaluate_solution(plain, solution)


@BOTH
def test_events_happen_to_instances_without_scenarios(cls):
    instance = spanned(with_present(cls, 7, 6))
    with pytest.raises(InstanceError, match="scenarios"):
        cls.after(instance, {"type": "matrix", "demands": []})


def test_variants_of_another_length_are_refused():
    plain = with_present(OSPF, 6, 1)
    instance = with_scenarios(plain, ["a", "b"], {"volumes": plain.array("volumes")[None]})
    with pytest.raises(InstanceError, match="variant_volumes has 1 rows"):
        variants(instance)
    with pytest.raises(UsageError, match="worst"):
        with_scenarios(plain, ["a"], {}, by="wurst")
