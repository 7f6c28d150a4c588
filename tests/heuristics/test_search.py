"""Search over any problem: as good as enumeration on small instances, and the same every time."""

from itertools import combinations

import numpy as np
import pytest

import lagco
from examples.depots import Depots
from examples.facility import Facility
from lagco.core.trial import Trial
from lagco.heuristics import Search
from lagco.problems import problem_class
from lagco.problems.max_cut import MaxCut


def test_the_best_choice_of_depots_is_found():
    instance = Depots.generate(10, seed=3)
    k = int(instance.params["depots"])
    best = min(
        Depots.evaluate_solution(instance, np.array(chosen))
        for chosen in combinations(range(10), k)
    )
    found = Search(Depots(instance), seed=1).run(3000)
    assert found.objective == pytest.approx(best)
    assert Depots.evaluate_solution(instance, found.solution) == pytest.approx(best)


def test_the_best_cut_is_found_by_walking():
    instance = MaxCut.generate(10, seed=3)
    sides = ((np.arange(2**9)[:, None] >> np.arange(10)) & 1).astype(np.int8)
    best = max(MaxCut.evaluate_solution(instance, side) for side in sides)
    found = Search(MaxCut(instance), seed=1).run(2000)
    assert found.objective == pytest.approx(best)


def test_actions_lead_to_the_solution_that_they_are_said_to():
    cls = problem_class(Facility)
    instance = cls.generate(seed=2)
    found = Search(cls(instance), seed=1).run(40)
    assert found.objective == pytest.approx(cls.evaluate_solution(instance, found.solution))
    np.testing.assert_array_equal(np.array(found.actions), found.solution)


@pytest.mark.parametrize("cls", [Depots, MaxCut])
def test_turns_of_any_size_do_the_same(cls):
    instance = cls.generate(12, seed=5)
    at_once = Search(cls(instance), seed=7)
    at_once.run(400)
    in_turns = Search(cls(instance), seed=7)
    while in_turns.moves < 400:
        in_turns.run(1)
    assert at_once.moves == in_turns.moves
    assert at_once.best.objective == in_turns.best.objective
    np.testing.assert_array_equal(at_once.best.solution, in_turns.best.solution)


def test_it_stops_when_told():
    search = Search(Depots(Depots.generate(12, seed=5)))
    asked = []

    def stop():
        asked.append(search.moves)
        return len(asked) > 3

    search.run(10**9, stop)
    assert len(asked) == 4


def test_who_has_no_time_comes_to_a_solution_turn_by_turn():
    search = Search(Depots(Depots.generate(12, seed=5)))
    assert search.run(10**9, lambda: True) is not None


def test_what_others_found_is_improved_on():
    instance = MaxCut.generate(14, seed=5)
    other = Search(MaxCut(instance), seed=1).run(1500)
    search = Search(MaxCut(instance), seed=2)
    search.offer(other.solution)
    assert search.best.objective >= other.objective


class Plain(lagco.ContinuousEnv):
    """Counts to ten in steps of one to three, without a preview and in plain attributes."""

    def __init__(self):
        self.action_space = lagco.core.env.gym.spaces.Discrete(3)
        self.observation_space = lagco.core.env.gym.spaces.Discrete(11)
        self._node_attributes = {"reached": lagco.Attribute(type="binary")}
        self._observation_type = {"line": lagco.Graph(poolings=[lagco.Mean])}
        self._action_type = {"step": lagco.Node(graph="steps")}
        self.at, self.told = 0, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.told = 0, []
        return self.at, {}

    def get_graphs(self):
        line = lagco.GraphView(
            11, np.zeros((2, 0), int), nodes={"reached": np.arange(11) <= self.at}
        )
        steps = lagco.GraphView(3, np.zeros((2, 0), int), nodes={"reached": np.zeros(3)})
        return {"line": line, "steps": steps}

    def is_valid_action(self, action):
        return 0 <= action < 3 and self.at + action + 1 <= 10

    def step(self, action):
        self.at += int(action) + 1
        self.told.append(self.at)
        return self.at, float(self.at in (4, 8, 10)), self.at == 10, False, {}


def test_a_plain_environment_goes_back_to_a_snapshot():
    env = Plain()
    env.reset(seed=0)
    env.step(2)
    kept = env.snapshot()
    env.step(1)
    env.restore(kept)
    assert (env.at, env.told) == (3, [3])
    env.step(0)
    env.restore(kept)  # once more: what happened meanwhile has not changed it
    assert (env.at, env.told) == (3, [3])


def test_environments_without_previews_are_searched():
    cls = problem_class(Plain)
    found = Search(cls(cls.instance_of(0)), seed=1).run(300)
    assert found.objective == 3.0


@pytest.mark.parametrize("name", ["tsp", "min-vertex", "ospf", "placement", "cyber-path"])
def test_built_in_problems_go_back_to_a_snapshot(name):
    cls = problem_class(name)
    trial = Trial(cls(cls.generate(10, seed=1)))
    rng = np.random.default_rng(0)
    for _ in range(3):
        trial.take(trial.draw(rng))
    kept, before = trial.env.snapshot(), trial.env.objective()
    views = {n: {k: np.array(c) for k, c in v.nodes.items() if isinstance(c, np.ndarray)}
             for n, v in trial.env.graph_views().items()}  # fmt: skip
    for _ in range(3):
        trial.take(trial.draw(rng))
    trial.env.restore(kept)
    assert trial.env.objective() == before
    assert trial.env.recompute_objective() == pytest.approx(before)
    for n, columns in views.items():
        for key, column in columns.items():
            np.testing.assert_array_equal(trial.env.graph_views()[n].nodes[key], column)


def test_solutions_are_reached_from_the_present_state():
    env = Depots(Depots.generate(16, seed=5))
    env.reset(seed=0)
    first = int(env.valid_actions()[3])
    env.step(first)
    found = Search(env, seed=1, here=True).run(400)
    assert first in found.solution
    for action in found.actions:
        env.step(action)
    assert env.objective() == pytest.approx(found.objective)


def test_walks_are_followed_from_the_start_within_their_length():
    env = MaxCut(MaxCut.generate(14, seed=5))
    found = Search(env, seed=1, within=20).run(400)
    assert len(found.actions) <= 20
    env.reset(seed=1)
    for action in found.actions:
        env.carry_out(action)
    assert env.objective() == found.objective
