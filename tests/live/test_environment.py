"""Gymnasium environments of deciding live: Gymnasium's checker, rewards, budgets, learning."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import lagco
from lagco.errors import InstanceError, ResetNeeded, UsageError
from lagco.instances.timelines import Timeline, write_timeline
from lagco.live.environment import ACT, FINISH
from lagco.problems.ospf import OSPF
from lagco.problems.placement import Placement
from lagco.problems.traffic import Traffic

NETWORK = OSPF.generate(8, seed=4)
DAY = OSPF.draw_timeline(NETWORK, seed=1, until=1500.0)


def made(problem="OSPF", timelines=DAY, **options):
    return gymnasium.make(f"lagco/Live{problem}-v0", timelines=timelines, **options).unwrapped


@pytest.mark.parametrize("problem", [OSPF, Traffic])
def test_gymnasium_finds_nothing_wrong(problem):
    instance = problem.generate(6, seed=4)
    timelines = [problem.draw_timeline(instance, seed=s, until=900.0) for s in (1, 2)]
    check_env(made(problem.__name__, timelines), skip_render_check=True)


def test_holding_all_day_is_what_the_controller_hold_gets(tmp_path):
    write_timeline(DAY, tmp_path / "day.jsonl")
    env = made(timelines=tmp_path / "day.jsonl")
    _, info = env.reset(seed=0)
    first, rewards, ended = info["objective"], [], False
    while not ended:
        _, reward, ended, _, info = env.step([FINISH, 0, 0])
        rewards.append(reward)
    held = lagco.live(DAY, controllers="hold", turns=1, progress=False).of("hold")
    np.testing.assert_allclose(-np.array(rewards) * first, [record.after for record in held])
    with pytest.raises(ResetNeeded):
        env.step([FINISH, 0, 0])


def test_a_decision_ends_with_its_budget_of_actions_and_keeps_to_that_of_changes():
    env = made(max_changes=1)
    seen, _ = env.reset(seed=0)
    assert seen["live_budget"].tolist() == [1.0, 1.0]
    links = list(range(NETWORK.size))
    seen, reward, *_ = env.step([ACT, links[0], 2])
    assert seen["live_budget"][0] == 0.0
    assert reward == 0.0
    for link in links[1:7]:  # no further link may change
        seen, reward, *_ = env.step([ACT, link, 2])
        assert reward == 0.0
    _, reward, _, _, info = env.step([ACT, links[7], 2])
    assert reward < 0.0
    assert info["changes"] == 0


def test_what_cannot_be_observed_alike_is_refused():
    failing = OSPF.draw_timeline(NETWORK, seed=1, until=1e5, failures=1.0)
    env = made(timelines=failing)
    with pytest.raises(InstanceError, match="'matrix' changes what there is to observe"):
        env.reset(seed=0)
    empty = Timeline.of(NETWORK, [])
    with pytest.raises(InstanceError, match="without events"):
        made(timelines=empty).reset()
    with pytest.raises(UsageError, match="max_changes=0"):
        made(max_changes=0)
    with pytest.raises(UsageError, match="give at least one"):
        made(timelines=[])


def test_machines_come_and_go_where_there_is_room_for_all_that_may_be_there():
    cluster = Placement.generate(10, seed=2, load=0.9)
    days = [Placement.draw_timeline(cluster, seed=s, until=7200.0, load=0.95) for s in (1, 2)]
    env = made("Placement", days, rounds=20)
    check_env(env, skip_render_check=True)
    sizes, rng = set(), np.random.default_rng(0)
    for day in range(2):
        seen, _ = env.reset(seed=0, options={"timeline": day})
        ended = False
        while not ended:
            assert env.observation_space.contains(seen)
            size = int(seen["live_size"][0])
            assert not seen["allocation"][size:].any()
            sizes.add(size)
            seen, _, ended, _, info = env.step(rng.integers(env.action_space.nvec))
    assert len(sizes) > 1
    assert info["objective"] >= info["held"]


def test_stable_baselines_learns_on_it():
    from stable_baselines3 import PPO

    model = PPO("MultiInputPolicy", made(), n_steps=32, batch_size=32, n_epochs=1, device="cpu")
    model.learn(32)
    assert model.num_timesteps == 32
