"""The rules one by one, on networks made by hand."""

import numpy as np
import pytest

from lagco.errors import InstanceError, UsageError
from lagco.problems.cyber_path import CyberPath
from tests.problems.cyber_path.networks import (
    ADMIN_ENTRY,
    ADMIN_ONLY,
    ESCALATE,
    EVADE,
    EXPLORE,
    LOCAL_EVADE,
    OWN,
    OWN_BY_CREDENTIALS,
    PERSIST,
    REMOTE_EXPLORE,
    SCAN,
    STOP,
    TAKE_DATA,
    attack,
    attack_action,
    begun,
    network,
    node,
    points,
)


def valid(env, source, target, vulnerability):
    action = attack_action(env, source, target, vulnerability)
    one = env.is_valid_action(action)
    assert env.are_valid_actions(action[None])[0] == one
    return one


# -- outcomes


@pytest.mark.parametrize("how", [OWN, OWN_BY_CREDENTIALS])
def test_lateral_movement_and_credential_access_own_the_target(how):
    env = begun(network([[SCAN], [how, ESCALATE], [SCAN]]))
    assert node(env, 1, "owned") == 0
    info = attack(env, 0, 1, how)
    assert points(env, info) == {"ownership": 20.0}
    assert info["objective"] == 2
    assert node(env, 1, "owned") == 1
    assert node(env, 1, "privilege") == 1


def test_owning_pays_once():
    env = begun(network([[SCAN], [OWN, OWN_BY_CREDENTIALS], [SCAN]]))
    attack(env, 0, 1, OWN)
    assert points(env, attack(env, 0, 1, OWN)) == {}
    assert points(env, attack(env, 0, 1, OWN_BY_CREDENTIALS)) == {}
    assert env.objective() == 2


def test_the_start_is_owned_already():
    env = begun(network([[OWN], [SCAN]]))
    assert points(env, attack(env, 0, 0, OWN)) == {}
    assert env.objective() == 1


def test_escalation_gives_admin_once():
    env = begun(network([[ESCALATE], [OWN]]))
    assert points(env, attack(env, 0, 0, ESCALATE)) == {"privilege-escalation": 3.0}
    assert node(env, 0, "privilege") == 2
    assert points(env, attack(env, 0, 0, ESCALATE)) == {}


def test_reconnaissance_pays_per_host_that_becomes_visible():
    instance = network([[SCAN], [OWN], [OWN], [OWN]], p_recon=0.5)
    for seed in range(6):
        env = begun(instance, seed)
        while env.details()["visible"] < 4:
            before = env.details()["visible"]
            info = attack(env, 0, 0, SCAN)
            new = info["visible"] - before
            assert points(env, info) == ({"reconnaissance": 3.0 * new} if new else {})
        assert points(env, attack(env, 0, 0, SCAN)) == {}
        assert node(env, 0, "scouted") == 1


def test_discovery_shows_what_is_visible_and_pays_once_per_host():
    env = begun(network([[EXPLORE], [OWN, REMOTE_EXPLORE]], p_feature_visible=0.0))
    assert node(env, 1, "vulns") == []
    assert node(env, 0, "vulns") != []  # owned hosts show everything
    assert points(env, attack(env, 0, 0, EXPLORE)) == {"discovery": 2.0}
    assert len(node(env, 1, "vulns")) == 2
    assert node(env, 1, "shown").tolist() == [1, 1, 1, 1]
    assert points(env, attack(env, 0, 0, EXPLORE)) == {}
    assert points(env, attack(env, 0, 1, REMOTE_EXPLORE)) == {"discovery": 2.0}


def test_evasion_pays_once():
    env = begun(network([[LOCAL_EVADE], [EVADE]]))
    assert points(env, attack(env, 0, 1, EVADE)) == {"defence-evasion": 2.0}
    assert node(env, 1, "evaded") == 1
    assert points(env, attack(env, 0, 1, EVADE)) == {}
    assert points(env, attack(env, 0, 0, LOCAL_EVADE)) == {"defence-evasion": 2.0}


def test_exfiltration_needs_data():
    env = begun(network([[SCAN], [TAKE_DATA], [TAKE_DATA]], data=[0, 1, 0]))
    assert points(env, attack(env, 0, 1, TAKE_DATA)) == {"collection": 1.0, "exfiltration": 1.0}
    assert points(env, attack(env, 0, 1, TAKE_DATA)) == {}
    assert points(env, attack(env, 0, 2, TAKE_DATA)) == {"collection": 1.0}
    assert node(env, 1, "exfiltrated") == 1
    assert node(env, 2, "exfiltrated") == 0


def test_exfiltration_tells_whether_there_was_data():
    instance = network([[SCAN], [OWN, TAKE_DATA]], data=[0, 1], p_feature_visible=0.5)
    for seed in range(50):
        env = begun(instance, seed)
        if node(env, 1, "shown").tolist() == [1, 1, 0, 0]:
            break
    assert node(env, 1, "data") == 0
    attack(env, 0, 1, TAKE_DATA)
    assert node(env, 1, "data") == 1
    assert node(env, 1, "shown").tolist() == [1, 1, 1, 1]


def test_persistence_and_collection_pay_one_each():
    env = begun(network([[SCAN], [PERSIST]]))
    assert points(env, attack(env, 0, 1, PERSIST)) == {"collection": 1.0, "persistence": 1.0}
    assert node(env, 1, "persistent") == 1


def test_denial_of_service_makes_the_target_unusable():
    env = begun(network([[SCAN], [OWN, STOP, ESCALATE], [OWN]]))
    attack(env, 0, 1, OWN)
    assert valid(env, 1, 2, OWN)
    assert points(env, attack(env, 0, 1, STOP)) == {"denial-of-service": -10.0}
    assert node(env, 1, "stopped") == 1
    assert not valid(env, 1, 2, OWN)  # no source any more
    assert not valid(env, 0, 1, OWN)  # and no target
    assert not valid(env, 1, 1, ESCALATE)
    assert env.objective() == 2  # it stays owned
    assert valid(env, 0, 2, OWN)


def test_an_episode_ends_when_nothing_can_be_done():
    env = begun(network([[STOP], [OWN]], p_recon=0.0))
    *_, terminated, truncated, info = env.step([0, 0, 0])
    assert terminated
    assert not truncated
    assert info["reason"] == "no valid action"
    assert env.sample_valid_action() is None


def test_an_episode_ends_when_all_is_owned():
    env = begun(network([[SCAN], [OWN]]))
    *_, terminated, _, info = env.step(attack_action(env, 0, 1, OWN))
    assert terminated
    assert (info["reason"], info["score"], info["score_best"]) == ("complete", 1.0, 1.0)


# -- validity


def test_local_vulnerabilities_need_the_machine_itself():
    env = begun(network([[SCAN], [OWN, LOCAL_EVADE]]))
    assert not valid(env, 0, 1, LOCAL_EVADE)
    attack_without_end = begun(network([[SCAN], [OWN, LOCAL_EVADE], [SCAN]]))
    attack(attack_without_end, 0, 1, OWN)
    assert not valid(attack_without_end, 0, 1, LOCAL_EVADE)
    assert valid(attack_without_end, 1, 1, LOCAL_EVADE)


def test_the_source_must_be_owned():
    env = begun(network([[OWN], [OWN], [OWN]]))
    assert valid(env, 0, 2, OWN)
    assert not valid(env, 1, 2, OWN)
    attack(env, 0, 1, OWN)
    assert valid(env, 1, 2, OWN)


def test_the_source_must_hold_the_privilege():
    env = begun(network([[ESCALATE], [ADMIN_ONLY]]))
    assert not valid(env, 0, 1, ADMIN_ONLY)
    attack(env, 0, 0, ESCALATE)
    assert valid(env, 0, 1, ADMIN_ONLY)


def test_the_target_must_be_visible_and_its_vulnerability_known():
    env = begun(network([[OWN], [OWN, STOP]], p_recon=0.0))
    assert env.graph_views()["attack_G"].num_nodes == 1
    assert not env.is_valid_action([0, 1, 0])
    assert env.is_valid_action([0, 0, 0])
    assert not env.is_valid_action([0, 0, 1])  # host 0 has one only
    env = begun(network([[OWN], [OWN]], p_feature_visible=0.0))
    assert env.graph_views()["attack_G"].num_nodes == 2
    assert not env.is_valid_action([0, 1, 0])


def test_an_invalid_action_costs_and_changes_nothing():
    env = begun(network([[OWN], [OWN], [SCAN]]))
    before = env.graph_views()["attack_G"].copy()
    _, reward, *_, info = env.step([1, 0, 0])
    assert reward == pytest.approx(-10 / 9)
    assert info["reward_terms"] == {"invalid": pytest.approx(-10 / 9)}
    assert env.graph_views()["attack_G"].num_edges == before.num_edges == 0


# -- detection


def test_every_attempt_is_detected_with_probability_one():
    env = begun(network([[SCAN], [OWN]], p_detection=1.0))
    for _ in range(5):
        info = attack(env, 0, 1, OWN)
        assert points(env, info) == {"detection": -1.0}
        assert info["detected"]
    assert env.objective() == 1
    assert env.graph_views()["attack_G"].num_edges == 0
    assert len(env.solution()) == 0


def test_nothing_is_detected_on_an_evaded_host():
    instance = network([[LOCAL_EVADE, SCAN], [OWN, EVADE], [SCAN]], p_detection=0.5)
    env = begun(instance)
    while not node(env, 1, "evaded"):
        attack(env, 0, 1, EVADE)
    info = [attack(env, 0, 1, EVADE) for _ in range(3)]
    assert not any(i["detected"] for i in info)


def test_traces_raise_the_risk_and_evasion_removes_them():
    instance = network([[SCAN, LOCAL_EVADE], [SCAN], [OWN]], vigilance=0.05)
    env = begun(instance)
    for traces in range(3):
        assert node(env, 0, "risk") == pytest.approx(0.05 * traces)
        succeed(env, 0, 1, SCAN)
    before = node(env, 2, "risk")
    assert before == pytest.approx(0.15)
    value = env.preview(attack_action(env, 0, 2, OWN)[None])[0]
    assert value == pytest.approx(0.85 * 20 - 0.15)
    action = attack_action(env, 0, 0, LOCAL_EVADE)
    assert node(env, 0, "ahead")[action[2], -1] == pytest.approx(0.15)
    succeed(env, 0, 0, LOCAL_EVADE)
    assert node(env, 2, "risk") == 0.0
    succeed(env, 0, 1, SCAN)
    assert node(env, 1, "risk") == pytest.approx(0.05)
    assert node(env, 0, "risk") == 0.0  # evaded
    succeed(env, 0, 0, SCAN)  # leaves no trace there
    assert node(env, 1, "risk") == pytest.approx(0.05)
    succeed(env, 0, 0, LOCAL_EVADE)  # again, though it pays no more
    assert node(env, 1, "risk") == 0.0


def succeed(env, source, target, vulnerability):
    """Carry out an attack with a seed under which it is not detected."""
    env.np_random = np.random.default_rng(LUCKY)
    assert not attack(env, source, target, vulnerability)["detected"]


#: the first number that this seed draws is above 0.6
LUCKY = 0


def test_a_detected_attempt_leaves_a_trace_and_its_risk_is_shown_at_once():
    env = begun(network([[SCAN], [OWN]], p_detection=1.0, vigilance=0.1))
    assert node(env, 1, "risk") == 1.0
    env = begun(network([[SCAN], [OWN]], p_detection=0.5, vigilance=0.1))
    env.np_random = np.random.default_rng(2)  # draws 0.26
    assert attack(env, 0, 1, OWN)["detected"]
    assert node(env, 1, "risk") == pytest.approx(0.6)


def test_traces_never_make_success_impossible():
    env = begun(network([[SCAN], [OWN]], p_detection=0.2, vigilance=1.0))
    env.step([0, 0, 0])
    env.step([0, 0, 0])
    assert node(env, 1, "risk") == pytest.approx(0.9)


def test_without_vigilance_traces_do_not_matter():
    env = begun(network([[SCAN], [OWN]], p_detection=0.2))
    for _ in range(4):
        env.step([0, 0, 0])
    assert node(env, 1, "risk") == pytest.approx(0.2)


# -- what attacks open


def test_hosts_are_locked_until_an_administrator_is_held():
    env = begun(network([[ESCALATE, EXPLORE], [ADMIN_ENTRY], [OWN], [ADMIN_ENTRY]]))
    assert [node(env, host, "locked") for host in range(4)] == [0, 1, 0, 1]
    place = attack_action(env, 0, 0, ESCALATE)[2]
    assert node(env, 0, "ahead")[place, -2] == pytest.approx(np.log(3))
    attack(env, 0, 0, ESCALATE)
    assert [node(env, host, "locked") for host in range(4)] == [0, 0, 0, 0]
    assert node(env, 0, "ahead")[place, -2] == 0.0


def test_discovery_says_how_many_hosts_it_would_show():
    env = begun(network([[EXPLORE], [OWN], [OWN]], p_feature_visible=0.0))
    assert node(env, 0, "ahead")[0, -3] == pytest.approx(np.log(3))
    attack(env, 0, 0, EXPLORE)
    assert node(env, 0, "ahead")[0, -3] == 0.0


def test_reconnaissance_says_how_many_hosts_it_may_find():
    env = begun(network([[SCAN], *[[OWN]] * 9], p_recon=0.5), seed=1)
    seen = env.details()["visible"]
    assert 1 < seen < 10
    assert node(env, 0, "ahead")[0, -4] == pytest.approx(np.log1p(0.5 * (seen - 1)))


def test_detection_happens_as_often_as_the_instance_says():
    env = CyberPath(network([[OWN, SCAN]] + [[SCAN]] * 400, p_detection=0.3, p_recon=0.0))
    env.reset(seed=1)
    detected = [env.step([0, 0, 0])[4]["detected"] for _ in range(1200)]
    assert 0.25 < np.mean(detected) < 0.35


# -- rewards, scores, solutions


def test_rewards_are_points_over_twenty_times_hosts():
    env = begun(network([[SCAN], [OWN], [SCAN], [SCAN]]))
    reward = env.step(attack_action(env, 0, 1, OWN))[1]
    assert reward == pytest.approx(20 / 80)


def test_scores_need_no_reference():
    env = begun(network([[SCAN], [OWN], [SCAN], [SCAN]]))
    assert env.score(2.0) == 0.5
    assert env.score(2.0, "solver") is None
    solved = env.instance.with_references(CyberPath.solve(env.instance, 0))
    env = begun(solved)
    assert env.score(2.0) == 0.5
    assert env.score(2.0, "solver") == 1.0
    assert env.gap(1.0) == 50.0


def test_the_solution_replays():
    instance = network([[ESCALATE], [OWN, STOP], [OWN_BY_CREDENTIALS]])
    env = begun(instance)
    attack(env, 0, 0, ESCALATE)
    attack(env, 0, 1, OWN)
    attack(env, 1, 2, OWN_BY_CREDENTIALS)
    steps = env.solution()
    assert steps.shape == (3, 3)
    assert steps[:, :2].tolist() == [[0, 0], [0, 1], [1, 2]]
    assert CyberPath.evaluate_solution(instance, steps) == 3.0
    assert CyberPath.evaluate_solution(instance, steps[:0]) == 1.0
    with pytest.raises(InstanceError, match="step 0 .* does not have"):
        CyberPath.evaluate_solution(instance, [[0, 0, steps[1, 2]]])
    with pytest.raises(InstanceError, match="step 1 .* cannot do that"):
        CyberPath.evaluate_solution(instance, steps[[0, 2]])


def test_attacks_between_the_same_hosts_share_an_edge():
    env = begun(network([[SCAN], [OWN, EVADE, SCAN], [SCAN]]))
    view = env.graph_views()["attack_G"]
    attack(env, 0, 1, OWN)
    assert view.edges.T.tolist() == [[0, 1]]
    first = view.edge_attributes["vulnerability"][0].copy()
    attack(env, 0, 1, OWN)
    np.testing.assert_array_equal(view.edge_attributes["vulnerability"][0], first)
    attack(env, 0, 1, EVADE)
    assert view.num_edges == 1
    env_other = begun(network([[SCAN], [OWN, EVADE, SCAN], [SCAN]]))
    attack(env_other, 0, 1, EVADE)
    second = env_other.graph_views()["attack_G"].edge_attributes["vulnerability"][0]
    np.testing.assert_allclose(
        view.edge_attributes["vulnerability"][0], (first + second) / 2, atol=1e-6
    )
    attack(env, 1, 1, SCAN)
    assert view.edges.T.tolist() == [[0, 1], [1, 1]]


# -- starts and instances


def test_starts():
    instance = network([[SCAN], [OWN], [OWN]])
    env = CyberPath(instance)
    hosts = set()
    for seed in range(30):
        env.reset(seed=seed)
        hosts.add(int(env.host_of[0]))
    assert hosts == {0, 1, 2}
    env.reset(seed=0, options={"start": 2})
    assert env.host_of[0] == 2
    env.reset(seed=0, options={"start": "current"})
    assert env.host_of[0] == 0
    for bad in (3, -1, 1.5, "nowhere"):
        with pytest.raises(UsageError):
            env.reset(seed=0, options={"start": bad})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_recon": 1.5}, "p_recon is 1.5"),
        ({"p_detection": None}, "p_detection is None"),
        ({"vigilance": -0.1}, "vigilance is -0.1"),
        ({"goal": "disruption"}, "only 'control'"),
        ({"fully_connected": False}, "only True"),
    ],
)
def test_wrong_parameters_are_named(change, message):
    with pytest.raises(InstanceError, match=message):
        CyberPath(network([[SCAN], [OWN]], **change))


def test_wrong_hosts_are_named():
    good = network([[SCAN], [OWN]])
    arrays = dict(good.arrays)

    def rebuilt(**changed):
        from dataclasses import replace

        return replace(good, arrays=arrays | changed)

    with pytest.raises(InstanceError, match="host 1: the catalogue has no vulnerability 'x'"):
        CyberPath(rebuilt(vulns=np.array([[SCAN], ["x"]])))
    with pytest.raises(InstanceError, match="host 1.*does not run its service"):
        CyberPath(rebuilt(vulns=np.array([[SCAN], [STOP]])))
    with pytest.raises(InstanceError, match="twice"):
        CyberPath(rebuilt(vulns=np.array([[SCAN, SCAN], [OWN, ""]])))
    with pytest.raises(InstanceError, match="data holds 7, the largest allowed is 1"):
        CyberPath(rebuilt(data=np.array([0, 7])))
    with pytest.raises(InstanceError, match="data has shape"):
        CyberPath(rebuilt(data=np.array([0])))
