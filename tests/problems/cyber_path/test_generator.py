"""Random instances: the ranges, the guarantee, the references."""

import math

import numpy as np
import pytest

from lagco.commands.evaluate import evaluate
from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError, UsageError
from lagco.instances import read
from lagco.instances.catalogue import LOCAL_BIT, PRIVILEGE_BIT
from lagco.instances.native import write_instance
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.catalogue.outcomes import ADMIN, DENIAL, ESCALATION, OWNING
from lagco.problems.cyber_path.generator import draw_vulnerabilities
from lagco.problems.cyber_path.network import read_network
from lagco.problems.cyber_path.profiles import PROFILES, guarded_slots, open_slots
from lagco.problems.cyber_path.reachability import reachable_sizes
from tests.problems.cyber_path.networks import (
    ADMIN_ONLY,
    ESCALATE,
    EXPLORE,
    LOCAL_EVADE,
    OWN,
    REMOTE_EXPLORE,
    SCAN,
    STOP,
    network,
)

_TEXT = ((0.0, 0.1), (0.6, 0.9), (0.5, 0.7), (0.2, 0.4), (0.05, 0.2))
_RELEASED = ((0.0, 0.33), (0.9, 1.0), (0.7, 0.9), (0.4, 0.6), (0.05, 0.2))


@pytest.mark.parametrize("profile", PROFILES)
def test_ranges_are_those_of_the_paper(profile):
    names = "vulns_overlap", "p_data_present", "p_feature_visible", "p_recon", "p_detection"
    ranges = _RELEASED if profile == "released" else _TEXT
    for index in range(25):
        instance = CyberPath.generate(seed=3, index=index, profile=profile)
        assert 10 <= instance.size <= 20
        assert instance.array("vulns").shape == (instance.size, 5)
        for name, (low, high) in zip(names, ranges, strict=True):
            assert low <= instance.params[name] <= high
        assert instance.params["goal"] == "control"
        assert instance.params["fully_connected"] is True


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("size", [2, 5, 10, 20, 40, 100])
def test_nine_tenths_of_the_hosts_can_be_owned_from_every_start(size, profile):
    for index in range(3):
        net = read_network(CyberPath.generate(size, seed=11, index=index, profile=profile))
        enough = math.ceil(0.9 * size)
        unlucky, lucky = (reachable_sizes(net, lucky=luck) for luck in (False, True))
        assert unlucky.min() >= enough
        assert (lucky >= unlucky).all()


def test_a_patient_agent_owns_what_the_closure_says():
    """Played by the rules, with all that can be seen, the closure without luck is reached."""
    for index in range(3):
        instance = CyberPath.generate(10, seed=4, index=index)
        env = CyberPath(instance)
        env.episode_coefficient = 400  # patience
        env._use(instance)
        for start in (0, 5):
            env.reset(seed=index, options={"start": start})
            rng = np.random.default_rng(index)
            target = reachable_sizes(read_network(instance), lucky=False)[start]
            while env.objective() < target:
                actions = env.valid_actions()
                known = env._knowledge
                codes = known.codes[actions[:, 1], actions[:, 2]]
                actions = actions[codes & DENIAL == 0]
                *_, terminated, truncated, _ = env.step(actions[rng.integers(len(actions))])
                assert not truncated
                if terminated:
                    break
            assert env.objective() >= target


def test_vulnerabilities_are_shared_as_often_as_asked():
    rng = np.random.default_rng(0)

    def draw(n, overlap):
        return draw_vulnerabilities(rng, open_slots(rng, n, 5), overlap)

    assert len(np.unique(draw(20, 0.0))) == 100
    shared = 1 - len(np.unique(draw(20, 0.5))) / 100
    assert 0.25 < shared < 0.6
    assert all(len(set(row)) == 5 for row in draw(60, 0.1).tolist())


def test_guarded_hosts_share_no_more_than_asked_in_the_papers_range():
    rng = np.random.default_rng(0)
    vulns = draw_vulnerabilities(rng, guarded_slots(rng, 20, 5), 0.0)
    assert len(np.unique(vulns)) >= 95


def test_guarded_hosts_have_one_way_in_and_half_of_them_only_for_administrators():
    instance = CyberPath.generate(20, seed=1)
    codes = read_network(instance).codes
    ways = (codes & OWNING != 0) & (codes >> LOCAL_BIT & 1 == 0)
    assert (ways.sum(axis=1) == 1).all()
    assert (codes[ways] >> PRIVILEGE_BIT == ADMIN).sum() == 10
    assert not (codes[ways] & ESCALATION).any()
    assert 0.05 <= instance.params["vigilance"] <= 0.08
    places = ways.argmax(axis=1)
    assert len(np.unique(places)) == 5  # the position gives nothing away


def test_open_networks_are_what_they_always_were():
    """Pinned before there was another profile."""
    for seed, index, size, checksum in (
        (42, 0, None, "cdaed139bdc244bd5ae1a14abcc10fe5ea0b7417e94108346c55d0df9ff4f82f"),
        (7, 1, None, "30ad6bf73fca09a0d6db66cdd16a25824314599626a647cf88f1df857f3ccdc5"),
        (3, 2, 60, "a791db1fc9cb3f7c032471a0578700e64e4e67859bac4cd0703a18203f30a91b"),
    ):
        assert CyberPath.generate(size, seed, index, profile="open").checksum == checksum


def test_an_unknown_profile_is_named():
    with pytest.raises(UsageError, match="unknown profile 'opne'.*'open'"):
        CyberPath.generate(10, profile="opne")


def test_random_owns_few_hosts_and_greedy_a_good_part():
    """The benchmark tells policies apart (docs/results/difficulty.md has the figures)."""
    instances = [
        generate_instance(CyberPath, seed=1000, index=k, references="sweeps") for k in range(12)
    ]
    scores = {
        policy: evaluate(policy, instances).summary()["score/best"].mean
        for policy in ("random", "greedy")
    }
    assert scores["random"] <= 0.45
    assert 0.6 <= scores["greedy"] <= 0.85


def test_too_small_is_refused():
    with pytest.raises(InstanceError, match="size 1 is too small"):
        CyberPath.generate(1)


def test_references():
    instance = generate_instance(CyberPath, size=15, references=("sweeps", "solver"))
    sweeps, solver = instance.references.sweeps, instance.references.solver
    assert (sweeps.best, sweeps.worst, sweeps.sweeps) == (15.0, 0.0, 0)
    assert solver.status == "optimal"
    assert CyberPath.evaluate_solution(instance, solver.solution) == solver.value >= 14


def test_no_episode_owns_more_than_the_solver_says():
    for index in range(4):
        instance = generate_instance(CyberPath, seed=9, index=index, references="solver")
        env = CyberPath(instance)
        rng = np.random.default_rng(index)
        for seed in range(4):
            env.reset(seed=seed)
            while True:
                *_, terminated, truncated, info = env.step(env.sample_valid_action(rng))
                if terminated or truncated:
                    break
            assert env.score(info["objective"], "solver") <= 1.0
            assert CyberPath.evaluate_solution(instance, env.best_solution) == info["objective"]


@pytest.mark.parametrize(
    ("vulns", "params", "lucky", "unlucky"),
    [
        ([[SCAN], [OWN]], {}, [2, 1], [1, 1]),  # found, but never shown
        ([[EXPLORE], [OWN]], {}, [2, 1], [2, 1]),
        ([[EXPLORE], [OWN]], {"p_recon": 0.0}, [1, 1], [1, 1]),
        ([[EXPLORE], [OWN]], {"p_detection": 1.0}, [1, 1], [1, 1]),
        ([[EXPLORE], [STOP]], {}, [1, 1], [1, 1]),
        ([[OWN], [REMOTE_EXPLORE, ESCALATE]], {"p_feature_visible": 0.0}, [1, 2], [1, 2]),
        ([[EXPLORE, LOCAL_EVADE], [ADMIN_ONLY], [OWN]], {}, [2, 1 + 1, 1], [2, 1, 1]),
    ],
)
def test_closures_of_small_networks(vulns, params, lucky, unlucky):
    net = read_network(network(vulns, **({"p_recon": 0.5, "p_feature_visible": 0.5} | params)))
    assert reachable_sizes(net, lucky=True).tolist() == lucky
    assert reachable_sizes(net, lucky=False).tolist() == unlucky


def test_instances_survive_files(tmp_path):
    instance = generate_instance(CyberPath, size=12, references=("sweeps", "solver"))
    write_instance(instance, tmp_path / "x.npz")
    back = read(tmp_path / "x.npz")
    assert back.checksum == instance.checksum
    env, other = CyberPath(instance), CyberPath(back)
    first, second = env.reset(seed=1)[0], other.reset(seed=1)[0]
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_generation_depends_on_seed_and_index_alone():
    first, again, other = (CyberPath.generate(None, 5, k) for k in (2, 2, 3))
    assert first.checksum == again.checksum != other.checksum
