"""Random instances: the ranges, the guarantee, the references."""

import math

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.generation import generate_instance
from lagco.instances import read_instance
from lagco.instances.native import write_instance
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.generator import draw_vulnerabilities
from lagco.problems.cyber_path.network import read_network
from lagco.problems.cyber_path.outcomes import DENIAL
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


def test_ranges_are_those_of_the_paper():
    for index in range(25):
        instance = CyberPath.generate(seed=3, index=index)
        assert 10 <= instance.size <= 20
        assert instance.array("vulns").shape == (instance.size, 5)
        for name, low, high in (
            ("vulns_overlap", 0.0, 0.1),
            ("p_data_present", 0.6, 0.9),
            ("p_feature_visible", 0.5, 0.7),
            ("p_recon", 0.2, 0.4),
            ("p_detection", 0.05, 0.2),
        ):
            assert low <= instance.params[name] <= high
        assert instance.params["goal"] == "control"
        assert instance.params["fully_connected"] is True


@pytest.mark.parametrize("size", [2, 5, 10, 20, 40, 100])
def test_nine_tenths_of_the_hosts_can_be_owned_from_every_start(size):
    for index in range(3):
        net = read_network(CyberPath.generate(size, seed=11, index=index))
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
    apart = draw_vulnerabilities(rng, 20, 5, 0.0)
    assert len(np.unique(apart)) == 100
    shared = 1 - len(np.unique(draw_vulnerabilities(rng, 20, 5, 0.5))) / 100
    assert 0.25 < shared < 0.6
    assert all(len(set(row)) == 5 for row in draw_vulnerabilities(rng, 60, 5, 0.1).tolist())


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
    back = read_instance(tmp_path / "x.npz")
    assert back.checksum == instance.checksum
    env, other = CyberPath(instance), CyberPath(back)
    first, second = env.reset(seed=1)[0], other.reset(seed=1)[0]
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_generation_depends_on_seed_and_index_alone():
    first, again, other = (CyberPath.generate(None, 5, k) for k in (2, 2, 3))
    assert first.checksum == again.checksum != other.checksum
