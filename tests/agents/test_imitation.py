"""Learning from teachers: labels, what is learnt, files, resuming."""

import numpy as np
import pytest

import lagco
from lagco.agents.inference.action_tables import labelled_actions
from lagco.agents.teaching.teachers import (
    EpisodeTeacher,
    GreedyTeacher,
    SolverTeacher,
    make_teacher,
)
from lagco.agents.training.trainer import train
from lagco.commands.generate import generate_instance
from lagco.errors import UsageError
from lagco.policies import RandomPolicy
from lagco.problems import problem_class
from lagco.problems.tsp.env import TSP
from tests.agents.runs import instances
from tests.latent.conftest import brief_encoder, brief_space

SHORT = {
    "method": "taught-projection",
    "steps": 1024,
    "rollout": 256,
    "envs": 4,
    "seed": 5,
    "k": 6,
    "batch_size": 64,
    "ranker_width": 16,
    "ranker_layers": 1,
}


def taught(folder, name="tsp", **changes):
    encoder = brief_encoder(name)
    return train(name, instances(name), folder, encoder=encoder, **(SHORT | changes))


@pytest.mark.parametrize("name", ["tsp", "max-cut", "placement", "ospf", "traffic", "cyber-path"])
def test_rows_of_given_actions_are_those_they_came_from(name):
    env = problem_class(name)(generate_instance(name, size=8, references=["sweeps"], sweeps=5))
    env.reset(seed=0)
    view = brief_space(name, "full").view(env)
    view.refresh()
    proto = np.zeros(view.space.scale.width, np.float32)
    rows = view.nearest(proto, 12, "inner").indices
    found = view.actions().rows(env.parts_from_actions(view.raw(rows)))
    np.testing.assert_array_equal(found, rows)


def test_right_actions_are_found_wherever_they_are():
    env = TSP(generate_instance("tsp", size=30))
    env.reset(seed=0)
    view = brief_space("tsp", "full").view(env)
    view.refresh()
    proto = np.random.default_rng(0).normal(size=view.space.scale.width).astype(np.float32)
    left = env.valid_actions()
    for city in left:
        rows, actions, right = labelled_actions(view, proto, 4, np.array([city]))
        assert right.sum() == 1
        assert view.raw(rows[right])[0] == city
        assert len(actions) == len(rows)


def test_the_solver_teaches_the_way_along_its_tour():
    instance = instances()[2]
    env, teacher = TSP(instance), SolverTeacher()
    env.reset(seed=3)
    teacher.begin(env, 3)
    assert len(teacher.actions(env)) == 2
    ended = False
    while not ended:
        *_, ended, _, info = env.step(int(teacher.actions(env)[0]))
    assert info["objective"] == pytest.approx(instance.references.solver.value)


def test_the_solver_goes_on_from_where_a_learner_got_to():
    env, teacher = TSP(generate_instance("tsp", size=25, references=["solver"])), SolverTeacher()
    env.reset(seed=3)
    teacher.begin(env, 3)
    rng = np.random.default_rng(0)
    for _ in range(6):
        env.step(env.sample_valid_action(rng))
    begun = env.solution()
    assert teacher.take_over(env, 0)
    ended = False
    while not ended:
        *_, ended, _, info = env.step(int(teacher.actions(env)[0]))
    np.testing.assert_array_equal(env.solution()[:7], begun)
    greedy = TSP(env.instance, start=begun)
    greedy.reset(seed=0)
    ended = False
    while not ended:
        left = greedy.valid_actions()
        *_, ended, _, other = greedy.step(int(left[np.argmax(greedy.preview(left))]))
    assert info["objective"] < other["objective"]


def test_a_problem_with_nothing_but_rules_is_taught_by_its_best_episodes():
    env = problem_class("traffic")(instances("traffic")[0])
    teacher = EpisodeTeacher(3, RandomPolicy())
    env.reset(seed=7)
    teacher.begin(env, 7)
    best = None
    while len(right := teacher.actions(env)):
        assert env.is_valid_action(right[0])
        env.step(right[0])
        best = env.best_objective
    rng = np.random.default_rng(0)
    other = problem_class("traffic")(instances("traffic")[0])
    other.reset(seed=7)
    ended = False
    while not ended:
        *_, terminated, truncated, info = other.step(other.sample_valid_action(rng))
        ended = terminated or truncated
    assert best <= info["objective_best"]


def test_teachers_that_a_problem_cannot_have_are_refused():
    assert isinstance(make_teacher("greedy", TSP), GreedyTeacher)
    with pytest.raises(UsageError, match="unknown teacher 'slover': did you mean 'solver'"):
        make_teacher("slover", TSP)
    with pytest.raises(UsageError, match="does not define demonstrate"):
        make_teacher("solver", problem_class("traffic"))


def test_a_taught_agent_is_the_same_under_the_same_seed_and_from_its_files(tmp_path):
    first, second = taught(tmp_path / "first"), taught(tmp_path / "second")
    assert set(first.weights) == set(second.weights)
    for name, array in first.weights.items():
        np.testing.assert_array_equal(array, second.weights[name], err_msg=name)
    assert any(name.startswith("ranker.") for name in first.weights)
    again = lagco.load(tmp_path / "first")
    instance = generate_instance("tsp", size=40)
    assert again.solve(instance).objective == first.solve(instance).objective
    with pytest.raises(UsageError, match="trained without a ranker"):
        taught(tmp_path / "plain", decoder="nearest").with_decoder("ranked")


def test_imitation_learns(tmp_path):
    few = taught(tmp_path / "few", steps=256, rollout=256)
    more = taught(tmp_path / "more", steps=6144, rollout=1024, ranker_width=32)
    tests = [generate_instance("tsp", size=20, index=i, references=["solver"]) for i in range(6)]
    gaps = [
        lagco.evaluate(agent, tests, episodes=1).summary()["gap/first"].mean
        for agent in (few, more)
    ]
    assert gaps[1] < 0.7 * gaps[0]
    assert gaps[1] < lagco.evaluate("greedy", tests, episodes=1).summary()["gap/first"].mean


@pytest.mark.parametrize("name", ["ospf", "traffic"])
def test_networks_are_learnt_from_their_search(name, tmp_path):
    agent, same = (taught(tmp_path / folder, name) for folder in ("first", "second"))
    for key, array in agent.weights.items():
        np.testing.assert_array_equal(array, same.weights[key], err_msg=key)
    tests = [
        generate_instance(name, size=14, index=i, references=("sweeps", "solver"), sweeps=30)
        for i in range(3)
    ]
    gaps = [
        lagco.evaluate(policy, tests, episodes=1).summary()["gap/first"].mean
        for policy in (agent, "random")
    ]
    assert gaps[0] < gaps[1]


def test_the_command_line_takes_a_teacher(tmp_path):
    from typer.testing import CliRunner

    from lagco.cli import app

    data = lagco.generate("tsp", 2, out=tmp_path / "data", sizes=8, sweeps=5, progress=False)
    brief_encoder("tsp").save(tmp_path / "encoder")
    command = ["train", "tsp", "--teacher", "greedy", "--data", str(tmp_path / "data")]
    command += ["--out", str(tmp_path / "agent"), "--encoder", str(tmp_path / "encoder")]
    for name in ("steps", "rollout", "envs", "k", "ranker_width", "ranker_layers"):
        command += ["--set", f"{name}={ {**SHORT, 'steps': 256}[name] }"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    agent = lagco.load(tmp_path / "agent")
    assert agent.name == "taught-projection"
    assert agent.description["config"]["teacher"] == "greedy"
    assert agent.solve(data[0]).objective > 0


def test_a_linear_ranker_is_trained_continued_and_loaded(tmp_path):
    changes = {"ranker_layers": 0, "steps": 512}
    once = taught(tmp_path / "once", "max-cut", **changes)
    taught(tmp_path / "twice", "max-cut", **(changes | {"steps": 256}))
    for agent in (once, lagco.load(tmp_path / "once")):
        columns = len(agent.description["facts"]["candidate_columns"])
        assert agent.weights["ranker.last.weight"].shape == (1, columns)
    more = taught(tmp_path / "twice", "max-cut", **changes)
    assert more.weights["ranker.last.weight"].shape == (1, columns)
    assert np.abs(once.weights["ranker.last.weight"]).max() > 0.0
    instance = instances("max-cut")[0]
    assert once.solve(instance, episodes=1).objective is not None
