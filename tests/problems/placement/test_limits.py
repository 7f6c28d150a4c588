"""Limits of allocations, compared with the truth by enumeration and checked from scratch."""

from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.core.changes import judge
from lagco.errors import InstanceError, UsageError
from lagco.instances.formats import read, write
from lagco.problems.placement import Placement
from lagco.problems.placement.limits.rules import limits_from
from tests.problems.placement.limited_cases import (
    best_by_enumeration,
    broken,
    limited_case,
    refused,
    wrong_steps,
)
from tests.problems.placement.test_events import machines


@pytest.mark.parametrize("seed", range(8))
def test_answers_within_limits_are_the_best_there_are(seed):
    instance = limited_case(seed, 6, 3, tight=0.75 if seed % 2 else 0.45)
    faults, value = best_by_enumeration(instance)
    best, verdict = None, None
    for attempt in range(8):
        begin = best if attempt % 2 else None  # as a portfolio does
        found = Placement.improve(instance, begin, attempt, 1 / 128)
        judged = judge(Placement, instance, found)
        if verdict is None or judged.beats(verdict, maximise=True):
            best, verdict = found, judged
    assert len(broken(instance, best)) == len(verdict.faults) == faults
    assert verdict.objective == pytest.approx(value)


def check_case(seed):
    """A search, random moves and a plan of a random case: what is wrong with them."""
    rng = np.random.default_rng(seed)
    instance = limited_case(
        seed, int(rng.integers(5, 12)), int(rng.integers(2, 6)), rng.uniform(0.4, 0.8)
    )
    before = instance.array("allocation")
    known = len(broken(instance, before))
    found = Placement.improve(instance, None, seed, 1 / 4096)
    wrong = refused(instance, found)
    if len(broken(instance, found)) > known:
        wrong.append("more faults")
    wrong += wrong_steps(instance, found)
    env = Placement(instance, features="paper", start="current")
    env.reset(seed=seed)
    for _ in range(6):
        action = env.sample_valid_action(rng)
        if action is None:
            break
        env.carry_out(action)
        hosts = env.solution()
        wrong += refused(instance, hosts)
        added = [name for name in broken(instance, hosts) if "together" not in name]
        wrong += sorted(set(added) - set(broken(instance, before)))
    return wrong


def test_random_cases_break_no_limit():
    for seed in range(200):
        assert check_case(seed) == [], seed


@pytest.mark.slow
def test_ten_thousand_random_cases_break_no_limit():
    for seed in range(200, 10_200):
        assert check_case(seed) == [], seed


@pytest.mark.parametrize("seed", range(3))
def test_valid_moves_agree_however_they_are_asked_for(seed):
    instance = limited_case(seed + 50, 9, 4)
    env = Placement(instance)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        mask, actions = env.action_mask(), env.all_actions()
        assert np.array_equal(mask, env.are_valid_actions(actions))
        assert [env.is_valid_action(a) for a in actions] == mask.tolist()
        assert env.has_valid_action() == mask.any()
        parts = env.parts_from_actions(actions[mask])
        possible = env.possible_parts()
        assert possible["vm"][parts[:, 0]].all()
        assert possible["pm"][parts[:, 1]].all()
        if not mask.any():
            break
        env.step(env.sample_valid_action(rng))


def test_machines_that_belong_together_go_together():
    instance = machines([0, 0, 1], [3, 3, 3])
    instance = replace(
        instance,
        arrays={
            **instance.arrays,
            "together": np.array([[0], [1]]),
            "drained": np.array([1, 0, 0]),
        },
    )
    env = Placement(instance)
    env.reset(seed=0)
    assert not env.is_valid_action((0, 1))  # no room for both
    assert env.is_valid_action((0, 2))
    env.carry_out((0, 2))
    assert not env.is_feasible()
    assert env.is_valid_action((1, 2))
    assert not env.is_valid_action((1, 1))
    env.carry_out((1, 2))
    assert env.is_feasible()
    answer = lagco.solve(instance, by="solver", turns=4, progress=False)
    assert answer.solution.tolist() == [2, 2, 1]


@pytest.mark.parametrize("by", ["greedy", "portfolio"])
def test_a_host_is_emptied_whoever_answers(by):
    instance = machines([0, 0, 1, 2], [3, 2, 4, 2])
    drained = replace(instance, arrays={**instance.arrays, "drained": np.array([1, 0, 0, 0])})
    answer = lagco.solve(drained, by=by, turns=6, progress=False)
    assert answer.valid
    assert not answer.faults
    assert 0 not in answer.solution
    assert [step.before for step in answer.migrations][:2] == ["pm1", "pm1"]


def test_a_cycle_is_broken_over_a_third_host_or_said_to_be_impossible():
    instance = machines([0, 1], [6, 6])
    plan = Placement.ordered(instance, np.array([1, 0]))
    assert not plan.stuck
    assert len(plan.steps) == 3  # one of them waits on the third host
    full = replace(instance, arrays={**instance.arrays, "drained": np.array([0, 0, 1])})
    plan = Placement.ordered(full, np.array([1, 0]))
    assert not plan.steps
    assert [change.name for change in plan.stuck] == ["vm1", "vm2"]


def test_aims_are_weighted_and_named():
    instance = Placement.generate(12, seed=2)
    only = Placement.with_aims(
        instance,
        {"packing": 1, **dict.fromkeys(("utilisation", "energy", "network", "security"), 0)},
    )
    env = Placement(only, start="default")
    env.reset(seed=0)
    hosts = env.solution()
    assert Placement.aims(only, hosts) == {"packing": len(np.unique(hosts))}
    fewer = lagco.solve(only, turns=10, by="solver", progress=False)
    assert len(np.unique(fewer.solution)) <= len(np.unique(hosts))
    answer = lagco.solve(instance, aims="energy=3,security=0", by="solver", turns=3, progress=False)
    before, after = answer.aims()
    assert before == {}
    assert set(after) == {"utilisation", "energy", "packing", "network"}
    with pytest.raises(UsageError, match="did you mean 'energy'"):
        lagco.solve(instance, aims="enrgy=3")
    with pytest.raises(UsageError, match="name=weight"):
        lagco.solve(instance, aims="energy=lots")
    with pytest.raises(UsageError, match="every aim has the weight 0"):
        Placement.with_aims(only, {"packing": 0})


def test_fragments_are_the_free_cores_in_pieces_below_sixteen():
    instance = machines([0, 1, 2], [24, 4, 10], capacity=40.0)
    aimed = Placement.with_aims(
        instance,
        {
            "fragments": 1,
            **dict.fromkeys(("utilisation", "energy", "packing", "network", "security"), 0),
        },
    )
    assert Placement.aims(aimed, aimed.array("allocation"))["fragments"] == pytest.approx(
        (0 + 4 + 14 + 8) / (16 + 36 + 30 + 40)
    )
    env = Placement(aimed, start="current")
    env.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(12):
        actions = env.valid_actions()
        expected = env.preview(actions)
        number = int(rng.integers(len(actions)))
        env.carry_out(actions[number])
        assert env.objective() == pytest.approx(expected[number])
        assert env.objective() == pytest.approx(env.recompute_objective())
    bound = Placement.bound(aimed)
    assert bound >= lagco.solve(aimed, by="solver", turns=5, progress=False).objective


def test_tables_of_limits_say_what_is_wrong():
    instance = machines([0, 1], [6, 6])

    def read(*rows):
        return limits_from(
            instance, [dict(zip(("rule", "name", "value"), row, strict=True)) for row in rows]
        )

    found = read(
        ("maintenance", "pm1", ""),
        ("apart", "vm1", "db"),
        ("apart", "vm2", "db"),
        ("headroom", "memory", "10%"),
        ("pinned", "vm2", ""),
    )
    assert found["drained"].tolist() == [1, 0, 0]
    assert found["apart"].tolist() == [[0], [1]]
    assert found["headroom"].tolist() == [0, 0, 0.1, 0]
    assert found["fixed"].tolist() == [0, 1]
    for row, message in (
        (("maintenance", "pm9", ""), "row 1: unknown physical machine 'pm9'"),
        (("apart", "vm1", ""), "give the name of the group of vm1"),
        (("headroom", "memory", "2"), "headroom '2': give a share"),
        (("headroom", "ram", "0.1"), "unknown resource 'ram'"),
        (("aprt", "vm1", "db"), "did you mean 'apart'"),
    ):
        with pytest.raises(InstanceError, match=message):
            read(row)
    with pytest.raises(InstanceError, match="it needs rule, name, value"):
        limits_from(instance, [{"host": "pm1"}])


def test_files_say_limits_and_keep_them(tmp_path):
    instance = machines([0, 1, 2], [6, 6, 2])
    limits = {
        "drained": np.array([1, 0, 0, 0], dtype=np.int8),
        "fixed": np.array([0, 1, 0], dtype=np.int8),
        "apart": np.array([[0], [1]], dtype=np.int32),
        "together": np.array([[1], [2]], dtype=np.int32),
        "headroom": np.array([0.25, 0.0, 0.5, 0.0]),
    }
    limited = replace(instance, arrays={**instance.arrays, **limits})
    write(limited, tmp_path / "limited.json")
    found = read(tmp_path / "limited.json")
    for name, array in limits.items():
        np.testing.assert_array_equal(found.array(name), array)
    with pytest.raises(InstanceError, match="cannot say; write it as JSON"):
        write(limited, tmp_path / "limited.csv")
    write(instance, tmp_path / "plain.json")
    assert not set(limits) & set(read(tmp_path / "plain.json").arrays)
