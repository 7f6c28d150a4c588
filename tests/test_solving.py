"""`lagco solve`: any file in, a checked solution out, within the time."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lagco
from lagco.agents.shipped import default_agent, shipped_problems
from lagco.cli import app
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UnknownName, UsageError
from lagco.generation import generate_instance
from lagco.instances.formats import read, read_solution
from lagco.problems import problem_class
from lagco.problems.placement.generator import draw_cloud
from lagco.problems.placement.latency import MATRIX_LIMIT
from lagco.registration import ENTRIES
from lagco.rollout import SideBySide
from lagco.solving import _mixed_team
from tests.shared_instances import shared_instance

DATA = Path(__file__).parent / "data"
FILES = {
    "tsp": "towns.tsp",
    "min-vertex": "kite.gr",
    "max-cut": "ring.rud",
    "ospf": "islands.txt",
    "traffic": "islands.xml",
    "placement": "cluster.json",
    "cyber-path": "office.json",
}
NAMES = list(ENTRIES)


def run(*arguments: object) -> dict:
    found = CliRunner().invoke(app, ["solve", *map(str, arguments), "--json"])
    assert found.exit_code == 0, found.output + repr(found.exception)
    return json.loads(found.stdout)


def test_every_problem_has_a_small_default_agent():
    assert shipped_problems() == sorted(NAMES)
    for name in NAMES:
        agent = default_agent(name)
        assert (agent.problem.name, agent.name) == (name, "soft-projection")
        folder = Path(lagco.agents.shipped.FOLDER) / name
        assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < 1_000_000


@pytest.mark.parametrize("problem", NAMES)
def test_the_default_agent_answers_a_file_of_every_problem(problem, tmp_path):
    out, plot = tmp_path / "solution.txt", tmp_path / "solution.png"
    answer = run(
        DATA / FILES[problem], "--problem", problem, "--seconds", 0.3, "--out", out, "--plot", plot
    )
    assert answer["valid"] is True
    assert answer["episodes"] >= 1
    instance = read(DATA / FILES[problem], problem)
    solution = read_solution(instance, out)
    cls = problem_class(problem)
    if not cls.scaled_by_sweeps:  # there the scale belongs to the answer's own instance
        assert cls.evaluate_solution(instance, solution) == pytest.approx(answer["objective"])
    assert plot.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("policy", ["greedy", "random", "solver"])
def test_policies_answer_too(policy, tmp_path):
    answer = run(DATA / "towns.tsp", "--policy", policy, "--seconds", 0.2)
    assert answer["valid"] is True
    assert answer["gap"] >= 0.0
    if policy == "solver":
        assert answer["gap"] == 0.0


def test_time_is_kept_and_used():
    instance = lagco.problems.problem_class("tsp").generate(60)
    lagco.solve(instance, policy="greedy", seconds=0.1)  # loads compiled code
    short = lagco.solve(instance, policy="greedy", seconds=0.3)
    assert short.seconds < 0.6
    assert short.episodes > 1


def test_one_solution_is_finished_however_short_the_time():
    instance = problem_class("tsp").generate(400)
    answer = lagco.solve(instance, policy="greedy", seconds=1e-3)
    assert answer.valid
    assert sorted(answer.solution.tolist()) == list(range(400))


def test_more_time_is_not_worse():
    instance = problem_class("tsp").generate(40)
    few = lagco.solve(instance, seconds=0.05)
    many = lagco.solve(instance, seconds=1.0)
    assert many.episodes > few.episodes
    assert many.objective <= few.objective


def test_2opt_shortens_a_tour_and_is_refused_elsewhere():
    instance = problem_class("tsp").generate(80)
    plain = lagco.solve(instance, policy="random", seconds=0.05)
    better = lagco.solve(instance, policy="random", seconds=0.05, improve="2opt")
    assert better.valid
    assert better.objective < 0.7 * plain.objective
    with pytest.raises(UsageError, match="max-cut has no such local search"):
        lagco.solve(problem_class("max-cut").generate(10), policy="random", improve="2opt")


def test_the_picture_shows_the_state_that_was_answered(tmp_path):
    for name in ("min-vertex", "max-cut"):
        answer = lagco.solve(problem_class(name).generate(12), policy="greedy", seconds=0.1)
        answer.draw(tmp_path / "trace.png")
        replace(answer, trace=None).draw(tmp_path / "solution.png")
        assert (tmp_path / "trace.png").read_bytes() == (tmp_path / "solution.png").read_bytes()


def test_starts_matter():
    instance = problem_class("ospf").generate(8)
    links = instance.array("edges").shape[1]
    weights = np.full(links, 3)
    given = replace(instance, arrays={**instance.arrays, "weights": weights})
    first = {}
    for start in ("current", "default"):
        env = problem_class("ospf")(given, start=start)
        env.reset(seed=0)
        first[start] = env.solution()
    assert (first["current"] == 3).all()
    assert (first["default"] == 1).all()
    assert lagco.solve(given, policy="greedy", seconds=0.1, start="default").valid


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "greedy", "agent": "default"}, "not both"),
        ({"policy": "greddy"}, "did you mean 'greedy'"),
        ({"policy": "greedy", "seconds": 0.0}, "seconds=0.0"),
        ({"policy": "greedy", "improve": "3opt"}, "3opt"),
        ({"policy": "greedy", "decoder": "preview"}, "does not decode points"),
        ({"policy": "greedy", "start": "sideways"}, "sideways"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(LagcoError, match=message):
        lagco.solve(DATA / "towns.tsp", **options)


def test_an_agent_of_another_problem_is_refused(tmp_path):
    with pytest.raises(UsageError, match="the agent decides on 'max-cut'"):
        lagco.solve(DATA / "towns.tsp", agent=default_agent("max-cut"))
    with pytest.raises(UnknownName, match="train one"):
        default_agent("colouring")


def test_the_default_agent_is_near_the_optimum_of_a_real_map():
    berlin = shared_instance("tsplib/berlin52.tsp")
    lagco.solve(berlin, seconds=0.1)  # loads compiled code
    began = time.perf_counter()
    answer = lagco.solve(berlin, seconds=4.0)
    assert time.perf_counter() - began < 8.0
    assert answer.valid
    assert answer.objective <= 1.10 * 7542


@pytest.mark.parametrize(
    ("name", "expected"),
    [("max-cut", ["nearest", "preview", "nearest"]), ("tsp", ["nearest"] * 3)],
)
def test_every_other_member_looks_ahead_where_states_are_improved(name, expected):
    agent = default_agent(name)
    envs = [problem_class(name)(generate_instance(name, size=8)) for _ in range(3)]
    for env in envs:
        env.reset(seed=0)
    team = _mixed_team(agent, agent.with_decoder("preview", 4), envs)
    assert [actor._decoder.spelling for actor in team._actors] == expected
    rngs = [np.random.default_rng(i) for i in range(3)]
    actions = team.act((0, 1, 2), rngs, (True, True, True))
    assert all(env.is_valid_action(action) for env, action in zip(envs, actions, strict=True))


class Cover(problem_class("min-vertex")):
    """A problem of a user's own, which cannot draw instances."""

    name = "cover"
    draw = Problem.draw


class TinyCover(Cover):
    @classmethod
    def draw(cls, rng, size=None):
        return replace(generate_instance("min-vertex", size=10), problem="cover", name="tiny")


@pytest.mark.parametrize("cls", [Cover, TinyCover])
def test_a_problem_of_ones_own(cls, tmp_path):
    instance = replace(generate_instance("min-vertex", size=12), problem="cover")
    answer = lagco.solve(instance, problem=cls, policy="greedy", seconds=0.3)
    assert answer.valid
    answer.draw(tmp_path / "cover.png")
    assert (tmp_path / "cover.png").stat().st_size > 1000


def test_machines_too_many_to_sweep(tmp_path):
    cloud = draw_cloud(np.random.default_rng(0), 40, MATRIX_LIMIT + 10, 3)
    answer = lagco.solve(cloud, policy="random", seconds=0.3)
    assert answer.valid
    assert answer.reference is None
    with pytest.raises(LagcoError, match="without sweeps and solver"):
        lagco.solve(cloud, policy="solver", seconds=0.3)


@pytest.mark.parametrize("problem", NAMES)
def test_a_solvers_answer_can_be_drawn(problem, tmp_path):
    answer = lagco.solve(generate_instance(problem, size=10), policy="solver", seconds=1.0)
    answer.draw(tmp_path / "answer.png")
    assert (tmp_path / "answer.png").stat().st_size > 1000


def test_the_picture_of_attacks_shows_the_hosts_they_own():
    instance = generate_instance("cyber-path", size=12, references=["solver"])
    solver = instance.references.solver
    env = problem_class("cyber-path")(instance)
    env.show(solver.solution)
    assert env.objective() == env.recompute_objective() == solver.value
    assert env.get_graphs()["attack_G"].num_nodes == solver.value


def test_the_mode_is_played_from_every_start(monkeypatch):
    finished = []
    step = SideBySide.step

    def noted(self):
        ended = step(self)
        finished.extend(ended)
        return ended

    monkeypatch.setattr(SideBySide, "step", noted)
    lagco.solve(generate_instance("tsp", size=8), policy="greedy", seconds=0.5)
    modes = [episode for episode in finished if not episode.explore]
    assert sorted(episode.start for episode in modes) == list(range(8))
    assert {len(episode.actions) for episode in modes} == {7}
