"""Problems that wait, loaded, for their instance to come again in training."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.training import rotation
from tests.agents.brief import PROBLEMS, training_env

METHODS = ("g-discrete-m", "p-discrete-m", "iterative")
SIZES = (8, 9, 10)


def played(env, steps, seed=0):
    """Observations, rewards and episodes under random actions."""
    rng = np.random.default_rng(seed)
    seen = [env.reset()]
    for _ in range(steps):
        if hasattr(env, "offer"):
            actions = [rng.integers(max(len(actions), 1)) for actions in env.offer()]
        else:
            actions = [rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()]
        env.step_async(np.array(actions))
        found, rewards, dones, infos = env.step_wait()
        seen += [found, rewards, dones]
        seen += [info["terminal_observation"] for info in infos if "terminal_observation" in info]
    return seen, env.state()["episodes"], env.recent


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_waiting_changes_nothing(method, name, monkeypatch):
    steps = 30 if method == "g-discrete-m" else 12
    env, _ = training_env(method, name, SIZES, envs=2, seed=3)
    found, episodes, recent = played(env, steps)
    monkeypatch.setattr(rotation, "_ROOM", 0)
    alone, _ = training_env(method, name, SIZES, envs=2, seed=3)
    before = list(alone.problems)
    expected, others, records = played(alone, steps)
    assert all(a is b for a, b in zip(alone.problems, before, strict=True))
    assert str(episodes) == str(others)
    assert list(recent) == list(records)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_problem_comes_back_with_its_instance():
    env, _ = training_env("g-discrete-m", "min-vertex", SIZES, envs=1)
    known = {}
    for _ in range(12):
        env.reset()
        problem = env.problems[0]
        assert known.setdefault(problem.instance.size, problem) is problem
        assert env.views[0].env is problem
    assert len(known) == len(SIZES)


def test_as_many_wait_as_were_needed_at_once():
    env, _ = training_env("g-discrete-m", "min-vertex", SIZES, envs=4)
    seen = {id(problem) for problem in env.problems}
    for _ in range(40):
        env.reset()
        kept = [*env.problems, *(e["problems"] for w in env._cache._known.values() for e, _ in w)]
        before, seen = seen, {id(problem) for problem in kept}
        assert len(seen) == len(kept)
        assert seen >= before  # none is lost
    assert seen == before  # nor made in the last round
    assert len(seen) <= len(SIZES) * 4


def test_there_is_room_for_so_many_nodes_and_edges(monkeypatch):
    env, _ = training_env("g-discrete-m", "min-vertex", SIZES, envs=1)
    view = env.problems[0].graph_views()["graph"]
    monkeypatch.setattr(rotation, "_ROOM", view.num_nodes + view.num_edges - 1)
    waits = rotation.LoadedProblems()
    assert not waits.admits(env.problems[0])
    monkeypatch.setattr(rotation, "_ROOM", view.num_nodes + view.num_edges)
    assert waits.admits(env.problems[0])
    waits.put(0, {"problems": env.problems[0]})
    assert not waits.admits(env.problems[0])
    assert waits.take(1) is None
    assert waits.take(0) == {"problems": env.problems[0]}
    assert waits.admits(env.problems[0])
    waits.put(2, {"problems": env.problems[0]})
    waits.clear()
    assert waits.admits(env.problems[0])
    assert waits.take(2) is None
