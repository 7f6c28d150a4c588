"""Budgets, fixed elements and allowed values, compared with the truth by enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.core.changes import MAX_CHANGES, changes_of, judge
from lagco.core.checker.rules import check_rules
from lagco.errors import InstanceError, UsageError
from lagco.instances import Instance
from lagco.problems.cyber_path import CyberPath
from lagco.problems.max_cut import MaxCut
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic


@pytest.fixture(scope="module")
def network():
    instance = OSPF.generate(6, seed=5)
    weights = np.ones(instance.array("edges").shape[1], dtype=np.int64)
    return replace(
        instance,
        arrays={**instance.arrays, "weights": weights},
        params={**instance.params, "max_weight": 2},
    )


def limited(instance, fixed=None, most=None, **arrays):
    params = dict(instance.params)
    if most is not None:
        params[MAX_CHANGES] = most
    if fixed is not None:
        arrays["fixed"] = np.asarray(fixed, dtype=np.int8)
    return replace(instance, arrays={**instance.arrays, **arrays}, params=params)


def best_weights(instance, fixed, most):
    """The lowest utilisation by trying all weights of 1 and 2."""
    start = instance.array("weights")
    values = [
        OSPF.evaluate_solution(instance, np.array(weights))
        for weights in itertools.product((1, 2), repeat=len(start))
        if sum(np.array(weights) != start) <= most and not (np.array(weights) != start)[fixed].any()
    ]
    return min(values)


@pytest.mark.parametrize("by", ["solver", "greedy"])
@pytest.mark.parametrize("most", [0, 1, 2])
def test_answers_keep_to_a_budget_and_to_fixed_links(network, by, most):
    links = len(network.array("weights"))
    fixed = np.arange(links) % 3 == 0
    instance = limited(network, fixed, most)
    answer = lagco.solve(instance, by=by, turns=30, progress=False)
    assert answer.valid
    assert not answer.faults
    assert len(answer.changes) <= most
    assert not {change.element for change in answer.changes} & set(np.flatnonzero(fixed).tolist())
    assert answer.objective <= answer.before
    if by == "solver":
        assert answer.objective == pytest.approx(best_weights(network, fixed, most))


@pytest.mark.parametrize("seed", range(4))
def test_episodes_stay_within_limits_at_every_step(network, seed):
    rng = np.random.default_rng(seed)
    links = len(network.array("weights"))
    instance = limited(network, rng.random(links) < 0.3, int(rng.integers(0, 3)))
    env = OSPF(instance)
    env.reset(seed=seed)
    assert np.array_equal(env.solution(), network.array("weights"))  # whatever start was asked for
    for _ in range(30):
        mask = env.action_mask()
        actions = env.all_actions()
        assert np.array_equal(mask, env.are_valid_actions(actions))
        action = env.sample_valid_action(rng)
        assert env.is_valid_action(action)
        _, _, terminated, truncated, _ = env.step(action)
        assert not judge(OSPF, instance, env.solution()).faults
        if terminated or truncated:
            break


def test_a_change_that_is_taken_back_gives_the_budget_back(network):
    env = OSPF(limited(network, most=1))
    env.reset(seed=0)
    env.step((0, 2))
    assert not env.is_valid_action((1, 2))
    env.step((0, 0))
    assert env.is_valid_action((1, 2))


def test_values_beyond_what_is_allowed_may_only_come_nearer():
    class Ranged(OSPF):
        limiting = ("highest",)

        @classmethod
        def excess(cls, instance, elements, values):
            return np.maximum(values - instance.array("highest")[elements], 0)

    drawn = OSPF.generate(6, seed=5)
    links = drawn.array("edges").shape[1]
    instance = limited(drawn, weights=np.full(links, 4), highest=np.full(links, 2))
    env = Ranged(instance)
    env.reset(seed=0)
    assert not env.is_valid_action((0, 2))
    assert env.is_valid_action((0, 0))
    assert env.is_valid_action((0, 1))
    assert len(judge(Ranged, instance, env.solution()).faults) == links


def test_a_tie_returns_the_incumbent(network):
    best = lagco.solve(network, by="solver", turns=50, progress=False)
    again = lagco.solve(network, incumbent=best.solution, by="solver", turns=50, progress=False)
    assert again.by == "incumbent"
    assert not again.changes
    assert np.array_equal(again.solution, best.solution)


def test_changes_without_effect_are_taken_back(network):
    answer = lagco.solve(network, by="solver", turns=50, progress=False)
    for change in answer.changes:
        weights = answer.solution.copy()
        weights[change.element] = network.array("weights")[change.element]
        assert OSPF.evaluate_solution(network, weights) > answer.objective


def test_the_trade_off_is_the_best_for_each_number_of_changes(network):
    answer = lagco.solve(network, trade_off=True, by="solver", turns=200, progress=False)
    none = np.zeros(len(network.array("weights")), dtype=bool)
    assert answer.trade_off[0].changes == 0
    for before, after in itertools.pairwise(answer.trade_off):
        assert after.changes > before.changes
        assert after.objective < before.objective
    for trade in answer.trade_off:
        assert trade.objective == pytest.approx(best_weights(network, none, trade.changes))
        assert len(changes_of(OSPF, network, trade.solution)) == trade.changes


def test_fixed_sides_of_a_cut_stay():
    drawn = MaxCut.generate(8, seed=1)
    sides = np.array([0, 1] * 4)
    fixed = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    instance = limited(drawn, fixed, sides=sides)
    answer = lagco.solve(instance, turns=60, by="solver", progress=False)
    best = max(
        MaxCut.evaluate_solution(drawn, np.array([*sides[:3], *rest]))
        for rest in itertools.product((0, 1), repeat=5)
    )
    assert np.array_equal(answer.solution[:3], sides[:3])
    assert answer.objective == pytest.approx(best)


def test_limits_need_an_incumbent(network):
    drawn = OSPF.generate(6, seed=5)
    with pytest.raises(InstanceError, match="no incumbent"):
        OSPF(limited(drawn, most=1))
    with pytest.raises(UsageError, match="max_changes=2.*incumbent"):
        lagco.solve(drawn, max_changes=2, progress=False)
    with pytest.raises(UsageError, match="has no configuration in force"):
        lagco.solve(CyberPath.generate(5), incumbent=[1], progress=False)


def test_unknown_elements_are_named_with_near_ones(network):
    name = OSPF.element_names(network)[0]
    with pytest.raises(InstanceError, match=name):
        lagco.solve(network, fixed=[name + "x"], progress=False)


@pytest.mark.parametrize("cls", [OSPF, Traffic])
def test_a_name_that_several_have_is_refused(cls):
    """From A-B a link leads to C and from A to B-C; demands likewise."""
    pairs = np.array([[0, 2, 0, 1], [1, 3, 2, 2]])
    arrays = {
        "edges": pairs,
        "capacities": np.full(4, 10.0),
        "demands": pairs,
        "volumes": np.ones(4),
        "names": np.array(["A-B", "C", "A", "B-C"]),
    }
    own = {"max_weight": 5, "ecmp": True} if cls is OSPF else {"max_path_len": 3}
    instance = Instance(cls.name, "hyphens", 4, arrays, {"nodes": 4, **own})
    assert set(cls.limits_from(instance, [{"element": "A-B-A"}])) == {"fixed"}
    assert cls.limits_from(instance, [{"element": "A-B-A"}])["fixed"].tolist() == [0, 0, 1, 0]
    for column in ("element", "link"):
        with pytest.raises(InstanceError, match="row 1: more than one .* is called 'A-B-C'"):
            cls.limits_from(instance, [{column: "A-B-C"}])


def test_a_second_range_of_a_link_is_refused(network):
    name = OSPF.element_names(network)[0]
    rows = [{"link": name, "min": "1", "max": "2"}, {"link": name, "min": "2", "max": ""}]
    with pytest.raises(InstanceError, match=f"row 2: {name} has a range already"):
        OSPF.limits_from(network, rows)


def test_a_table_names_what_may_not_change(network, tmp_path):
    name = OSPF.element_names(network)[0]
    table = tmp_path / "fixed.csv"
    table.write_text(f"element\n{name}\n")
    answer = lagco.solve(network, fixed=table, turns=20, by="solver", progress=False)
    assert 0 not in {change.element for change in answer.changes}


def test_an_answer_that_breaks_the_budget_never_beats_a_faulty_incumbent():
    class Ranged(OSPF):
        limiting = ("highest",)

        @classmethod
        def excess(cls, instance, elements, values):
            return np.maximum(values - instance.array("highest")[elements], 0)

    drawn = OSPF.generate(6, seed=5)
    links = drawn.array("edges").shape[1]
    weights = np.full(links, 4)
    instance = limited(drawn, most=1, weights=weights, highest=np.full(links, 2))
    before = judge(Ranged, instance, weights)
    assert len(before.faults) == links
    repaired = judge(Ranged, instance, np.full(links, 2))  # of which the budget is a fault
    assert repaired.refused
    assert before.beats(repaired, maximise=False)
    one = weights.copy()
    one[0] = 2
    assert judge(Ranged, instance, one).beats(before, maximise=False)
    one[0] = 5
    assert judge(Ranged, instance, one).refused
    one[0] = 3  # nearer to what is allowed
    assert not judge(Ranged, instance, one).refused


def test_budgets_are_whole_numbers(network):
    with pytest.raises(InstanceError, match="max_changes is 'two'"):
        OSPF(replace(network, params={**network.params, MAX_CHANGES: "two"}))


def test_restricted_draws_take_a_source_by_name(network):
    env = OSPF(limited(network, most=1))
    env.reset(seed=0)
    env.step((0, 2))
    action = env.sample_valid_action(rng=np.random.default_rng(1))
    assert env.is_valid_action(action)


def test_an_incumbent_that_is_no_solution_is_refused(network):
    with pytest.raises(UsageError, match="incumbent="):
        lagco.solve(network, incumbent=[70000] * len(network.array("weights")), progress=False)


def test_check_tests_that_actions_keep_to_limits():
    assert not check_rules(MaxCut(size=8))

    class Wrong(MaxCut):
        def set_by(self, actions):
            nodes, sides = super().set_by(actions)
            return (nodes + 1) % self.instance.size, sides

    class Lax(MaxCut):
        def keep_limits(self, limits, actions):
            return np.ones(len(actions), dtype=bool)

    class Nameless(MaxCut):
        @classmethod
        def element_names(cls, instance):
            return []

    for cls, message in (
        (Wrong, "set_by(): says that"),
        (Lax, "may not change|at most 2 allowed"),
        (Nameless, "0 names for 8 elements"),
    ):
        findings = [str(finding) for finding in check_rules(cls(size=8))]
        assert any(part in text for text in findings for part in message.split("|")), findings
