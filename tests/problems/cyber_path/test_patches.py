"""Patches: the best sets by enumeration, own vulnerabilities, firewall rules, events."""

import itertools
import json

import numpy as np
import pytest

import lagco
from lagco.core.events import Event
from lagco.errors import InstanceError, UsageError
from lagco.instances import read, read_solution, write
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.patches.defence import Defence
from lagco.problems.cyber_path.patches.patching import Patching, patch_names, patched_network
from lagco.problems.cyber_path.reachability import solve_reachability
from tests.problems.cyber_path.networks import OWN, OWN_BY_CREDENTIALS, SCAN, network

OWN_ENTRY = "CVE-2099-1,billing,lateral-movement;discovery,remote,none"


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return read(lagco.sample("plant14", tmp_path_factory.mktemp("plant")))


def drawn(seed, size=7):
    instance = CyberPath.generate(size, seed=seed)
    return Defence.of(
        lagco.instances.Instance(
            "cyber-path", "drawn", size, instance.arrays, {**instance.params, "start": 0}
        )
    )


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_patches_are_those_of_enumeration(seed, most):
    instance = drawn(seed, size=6)
    patching = Patching(instance)
    sets = itertools.combinations(range(patching.count), most)
    truth = min(patching.attack(frozenset(patches)).owned for patches in sets)
    answer = lagco.solve(
        instance, problem=Defence, max_changes=most, by="solver", turns=4, progress=False
    )
    assert answer.objective == truth
    assert len(answer.changes) <= most


def test_what_is_owned_is_what_an_attacker_can_own(plant):
    defence = Defence.of(plant)
    flags = np.zeros(len(patch_names(plant)), dtype=np.int8)
    flags[patch_names(plant).index("CVE-2099-1004")] = 1
    without = patched_network(plant, ["CVE-2099-1004"])
    plan = CyberPath.improve(without, None, 1)
    assert Defence.evaluate_solution(defence, flags) == CyberPath.evaluate_solution(without, plan)


def test_fixes_are_ranked_by_search_and_by_an_agent(plant):
    answer = lagco.solve(plant, fixes=True, max_changes=2, turns=4, progress=False)
    none, chosen, *singles = answer.fixes
    assert none.patches == ()
    assert none.owned == answer.before == 14
    assert set(chosen.patches) == {change.name for change in answer.changes}
    assert chosen.owned == answer.objective == 4
    owned = [fix.owned for fix in singles]
    assert owned == sorted(owned)
    assert singles[0].patches == ("CVE-2099-1004",)
    assert singles[0].owned == 8
    assert none.by_agent is not None
    assert chosen.by_agent < none.by_agent


def test_patches_that_cannot_be_applied_are_fixed(plant):
    answer = lagco.solve(
        plant, fixes=True, fixed=["CVE-2099-1004"], max_changes=1, by="solver", turns=4,
        progress=False,
    )  # fmt: skip
    assert [change.name for change in answer.changes] != ["CVE-2099-1004"]
    assert answer.fixes[0].by_agent is None


def test_patches_in_force_come_from_a_file_and_go_to_one(plant, tmp_path):
    file = tmp_path / "patched.csv"
    file.write_text("vulnerability\nCVE-2099-1004\n")
    answer = lagco.solve(plant, fixes=True, incumbent=file, by="solver", turns=4, progress=False)
    assert answer.before == 8
    answer.write_solution(file)
    again = read_solution(answer.instance, file, form=Defence.solution_form)
    assert np.array_equal(again, answer.solution)
    with pytest.raises(UsageError, match="asks about hosts"):
        lagco.solve(lagco.sample("coast52", tmp_path), fixes=True, progress=False)


def test_the_ranking_adds_to_what_is_in_force_and_leaves_out_what_cannot_be_patched(plant):
    names = patch_names(plant)
    flags = np.zeros(len(names), dtype=np.int8)
    flags[names.index("CVE-2099-1003")] = 1
    answer = lagco.solve(
        plant, fixes=True, incumbent=flags, fixed=["ssh-password-guessing"], by="solver", turns=4,
        max_changes=1, progress=False,
    )  # fmt: skip
    none, *others = answer.fixes
    assert none.patches == ()
    assert none.owned == answer.before
    assert all(fix.owned < answer.before or fix == answer.fixes[1] for fix in others)
    named = {name for fix in others for name in fix.patches}
    assert not named & {"CVE-2099-1003", "ssh-password-guessing"}
    for fix in others:
        trial = flags.copy()
        trial[[names.index(name) for name in fix.patches]] = 1
        assert fix.owned == Defence.evaluate_solution(answer.instance, trial)


def inventory(tmp_path, **more):
    hosts = [
        {"name": "desk", "vulnerabilities": [SCAN]},
        {"name": "till", "vulnerabilities": ["CVE-2099-1"]},
        {"name": "store", "vulnerabilities": [OWN, "CVE-2099-2"]},
    ]
    file = tmp_path / "hosts.json"
    content = {"format": "lagco-hosts", "version": 1, "start": "desk", "hosts": hosts, **more}
    file.write_text(json.dumps(content))
    return file


def test_unknown_vulnerabilities_are_named_together(tmp_path):
    with pytest.raises(InstanceError, match=r"CVE-2099-1, CVE-2099-2; say what they do by catalog"):
        read(inventory(tmp_path))


def test_own_vulnerabilities_stand_in_a_table(tmp_path):
    table = tmp_path / "own.csv"
    head = "id,service,outcomes,access,privilege\n"
    table.write_text(f"{head}{OWN_ENTRY}\nCVE-2099-2,billing,persistence,local,user\n")
    instance = read(inventory(tmp_path), catalogue=table)
    assert solve_reachability(instance).value == 3
    answer = lagco.solve(instance, turns=4, progress=False)
    assert "CVE-2099-1" in {step["vulnerability"] for step in answer.as_dict()["solution"]}
    env = CyberPath(instance, start="current")
    env.reset(seed=1)
    write(instance, tmp_path / "again.json")
    assert read(tmp_path / "again.json").arrays.keys() == instance.arrays.keys()
    for wrong, message in (
        ("CVE-2099-1,billing,fame,remote,none", r"own.csv, line 2: unknown outcome 'fame'"),
        (
            "CVE-2099-1,billing,persistence,near,none",
            r"own.csv, line 2: access: is 'near', it must be one of",
        ),
        (f"{OWN},billing,persistence,remote,none", "stands in the catalogue already"),
        ("CVE-2099-1,,persistence,remote,none", "service: has 0 characters"),
    ):
        table.write_text(f"{head}{wrong}\n")
        with pytest.raises(InstanceError, match=message):
            read(inventory(tmp_path), catalogue=table)


def test_firewall_rules_say_what_is_reached(tmp_path):
    hosts = network([[SCAN], [OWN], [OWN_BY_CREDENTIALS], [OWN]])
    file = tmp_path / "hosts.json"
    write(hosts, file)
    rules = tmp_path / "rules.csv"
    rules.write_text("source,target,service\nhost1,host2,*\nhost2,host3,\n")
    instance = read(file, reachability=rules)
    assert solve_reachability(instance).value == 3  # nothing reaches host4
    env = CyberPath(instance, start=0)
    env.reset(seed=0)
    while env.has_valid_action() and not env.is_complete():
        mask = env.action_mask()
        actions = env.all_actions()
        assert np.array_equal(mask, [env.is_valid_action(action) for action in actions])
        assert np.array_equal(mask, env.are_valid_actions(actions))
        assert np.array_equal(env.valid_actions(), actions[mask])
        *_, terminated, truncated, _ = env.step(env.sample_valid_action())
        if terminated or truncated:
            break
    assert {(s, t) for s, t, _ in env.solution().tolist() if s != t} <= {(0, 1), (1, 2)}
    rules.write_text("source,target,service\nhost1,nobody,*\n")
    with pytest.raises(InstanceError, match="unknown host 'nobody'"):
        read(file, reachability=rules)


def test_an_attack_goes_on_without_what_a_patch_rules_out():
    env = CyberPath(network([[SCAN], [OWN, SCAN], [OWN_BY_CREDENTIALS]]), start=0)
    env.reset(seed=0)
    plan = CyberPath.improve(env.instance, None, 1)
    env.reset(options={"start": np.concatenate([[[0, 0, -1]], plan])})
    assert env.objective() == 3
    env.apply(Event("patched", host="host2", vulnerability=OWN))
    assert env.objective() == 2
    env.apply(Event("cut-off", host="host3"))
    assert env.objective() == 1
    assert env.instance.size == 2
    env.apply(Event("host", host="new", vulnerabilities=[OWN]))
    assert solve_reachability(env.instance).value == 2
    for event, message in (
        (Event("cut-off", host="host1"), "where an attack begins"),
        (Event("patched", host="new", vulnerability=SCAN), "unknown vulnerability of new"),
        (Event("host", host="new", vulnerabilities=[OWN]), "there is a host 'new' already"),
    ):
        with pytest.raises(InstanceError, match=message):
            env.apply(event)
