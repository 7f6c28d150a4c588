"""Weights and paths within budgets, fixed elements, ranges and scenarios, against enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.core.changes import MAX_CHANGES, incumbent_of, judge
from lagco.core.changes.judging import changed_elements
from lagco.core.scenarios import has_scenarios, variants
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from tests.core.scenarios.networks import spanned, with_present

BOTH = [OSPF, Traffic]


def drawn_case(cls, seed):
    """A network with a random incumbent, budget, fixed elements, ranges, and scenarios or not."""
    rng = np.random.default_rng(seed)
    instance = with_present(cls, int(rng.integers(5, 9)), int(rng.integers(20)))
    env = cls(instance, start="current", rewards=False)
    env.reset(seed=seed)
    for _ in range(int(rng.integers(0, 8))):
        env.carry_out(env.sample_valid_action(rng))
    instance = cls.with_present(instance, env.solution())
    elements = len(cls.elements(instance, env.solution()))
    links = instance.array("edges").shape[1]
    arrays, params = dict(instance.arrays), dict(instance.params)
    if rng.random() < 0.5:
        arrays["fixed"] = (rng.random(elements) < 0.3).astype(np.int8)
    if rng.random() < 0.7:
        params[MAX_CHANGES] = int(rng.integers(0, 5))
    if rng.random() < 0.4 and cls is OSPF:
        arrays["highest_weights"] = rng.integers(2, 6, links)
    if rng.random() < 0.4 and cls is Traffic:
        arrays["forbidden"] = (rng.random(links) < 0.1).astype(np.int8)
    instance = replace(instance, arrays=arrays, params=params)
    if rng.random() < 0.3:
        instance = spanned(instance, seed, by=str(rng.choice(["worst", "mean"])))
    return instance


def check(cls, instance, answer):
    """Whether an answer keeps to all limits, looked at from scratch, element by element."""
    before, after = incumbent_of(cls, instance), answer.solution
    old, new = cls.elements(instance, before), cls.elements(instance, after)
    changed = [e for e in range(len(old)) if not np.array_equal(old[e], new[e])]
    most = instance.params.get(MAX_CHANGES)
    assert most is None or len(changed) <= most
    fixed = instance.arrays.get("fixed")
    assert fixed is None or not fixed[changed].any()
    if "highest_weights" in instance.arrays:
        highest = instance.array("highest_weights")
        assert all(new[e] <= max(highest[e], old[e]) for e in changed)
    if "forbidden" in instance.arrays:
        gone = {
            tuple(sorted(p)) for p in instance.array("edges")[:, instance.array("forbidden") > 0].T
        }
        for e in changed:  # away from what is forbidden, or nearer to that
            taken, before_it = (_links_of(path[e], instance) for path in (new, old))
            assert not taken & gone or len(taken & gone) < len(before_it & gone)
    values = [cls.evaluate_solution(c, cls.in_scenario(c, after)) for c in variants(instance)]
    mean = has_scenarios(instance) and instance.params["scenarios"] == "mean"
    joint = np.mean(values) if mean else max(values)
    assert joint == pytest.approx(answer.objective)
    first, last = judge(cls, instance, before), judge(cls, instance, after)
    assert not first.beats(last, maximise=False)
    if not last.beats(first, maximise=False):
        assert np.array_equal(before, after)
    assert answer.valid


def _links_of(path, instance):
    """Links on a padded path, as pairs of nodes in order."""
    nodes = [v for v in path.tolist() if v < instance.params["nodes"]]
    return {tuple(sorted(pair)) for pair in itertools.pairwise(nodes)}


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("by", ["solver", "greedy", "random", "agent", "portfolio"])
def test_no_answer_breaks_a_limit_or_is_worse_than_the_incumbent(cls, by):
    for seed in range(8):
        instance = drawn_case(cls, seed)
        check(cls, instance, lagco.solve(instance, by=by, turns=4, seed=seed, progress=False))


@pytest.mark.slow
@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("part", range(5))
def test_ten_thousand_constrained_cases(cls, part):
    for seed in range(1000 + 1000 * part, 2000 + 1000 * part):
        instance, by = drawn_case(cls, seed), ("solver", "greedy", "random")[seed % 3]
        turns = 2 if by == "solver" else 12
        check(cls, instance, lagco.solve(instance, by=by, turns=turns, seed=seed, progress=False))


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("scenarios", [False, True])
def test_few_changes_of_weights_are_the_best_there_are(most, scenarios):
    plain = with_present(OSPF, 5, 4, highest=3)
    links = len(plain.array("weights"))
    lowest, highest = np.ones(links, dtype=np.int64), np.full(links, 3)
    highest[0] = 2
    fixed = np.zeros(links, dtype=np.int8)
    fixed[1] = 1
    arrays = {**plain.arrays, "lowest_weights": lowest, "highest_weights": highest, "fixed": fixed}
    instance = replace(plain, arrays=arrays, params={**plain.params, MAX_CHANGES: most})
    instance = spanned(instance) if scenarios else instance
    best = np.inf
    free = [e for e in range(links) if not fixed[e]]
    for chosen in itertools.combinations(free, most):
        for values in itertools.product(*(range(1, highest[e] + 1) for e in chosen)):
            weights = plain.array("weights").copy()
            weights[list(chosen)] = values
            best = min(best, OSPF.evaluate_solution(instance, weights))
    answer = lagco.solve(instance, by="solver", turns=12, progress=False)
    assert answer.objective == pytest.approx(best)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("scenarios", [False, True])
def test_few_rerouted_demands_are_the_best_there_are(most, scenarios):
    plain = with_present(Traffic, 7, 3)
    demands = len(plain.array("paths"))
    forbidden = np.zeros(plain.array("edges").shape[1], dtype=np.int8)
    forbidden[-1] = 1
    fixed = np.zeros(demands, dtype=np.int8)
    fixed[0] = 1
    used = Traffic.excess(
        replace(plain, arrays={**plain.arrays, "forbidden": forbidden}),
        np.arange(demands), Traffic.elements(plain, plain.array("paths")),
    )  # fmt: skip
    fixed[used > 0] = 1
    arrays = {**plain.arrays, "forbidden": forbidden, "fixed": fixed}
    instance = replace(plain, arrays=arrays, params={**plain.params, MAX_CHANGES: most})
    instance = spanned(instance) if scenarios else instance
    env = Traffic(instance, start="current")
    env.reset(seed=0)
    rows = env.all_actions()
    allowed = Traffic.excess(instance, rows[:, 0], rows[:, 1:]) == 0
    rows = rows[allowed & (fixed[rows[:, 0]] == 0)]
    start, best = env.solution(), np.inf
    several = (itertools.combinations(range(len(rows)), count) for count in range(most + 1))
    for chosen in itertools.chain(*several):
        paths = start.copy()
        for i in chosen:
            paths[rows[i, 0]] = rows[i, 1:]
        best = min(best, Traffic.evaluate_solution(instance, paths))
    answer = lagco.solve(instance, by="solver", turns=12, progress=False)
    assert answer.objective == pytest.approx(best)


@pytest.mark.parametrize("cls", BOTH)
def test_trade_offs_fall_with_every_change(cls):
    answer = lagco.solve(
        with_present(cls, 7, 1), by="solver", turns=40, trade_off=True, progress=False
    )
    counts = [trade.changes for trade in answer.trade_off]
    assert counts == sorted(set(counts))
    assert counts[0] == 0
    for before, after in itertools.pairwise(answer.trade_off):
        assert after.objective < before.objective
    for trade in answer.trade_off:
        assert len(changed_elements(cls, answer.instance, trade.solution)) == trade.changes
