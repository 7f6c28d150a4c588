"""`lagco solve`: any file in, a checked solution out, within the time."""

import gzip
import itertools
import json
import math
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lagco
from lagco.agents.shipped import default_agent, shipped_problems
from lagco.cli import app
from lagco.commands.generate import generate_instance
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, UnknownName, UsageError, WriteError
from lagco.instances import Instance
from lagco.instances.formats import read, read_solution
from lagco.policies import plain_policy
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.problems.placement.generator import draw_cloud
from lagco.problems.placement.latency import MATRIX_LIMIT
from lagco.problems.tsp.bound import tour_bound
from lagco.results import measures
from lagco.results.measures import improvement
from lagco.rollout import Episode, SideBySide
from lagco.solving import instance as instance_module
from lagco.solving.episodes import Episodes
from lagco.solving.folder import solve_folder
from lagco.solving.members import FollowingSearch, LocalSearch
from lagco.solving.options import SolveOptions
from lagco.solving.players import _mixed_team
from lagco.solving.portfolio import FOLLOWING, Found, Limit, Record, Task
from lagco.solving.portfolio import run as run_members
from lagco.solving.request import Request
from tests.shared_instances import DATA, FILES, shared_instance

NAMES = list(ENTRIES)


def run(*arguments: object) -> dict:
    found = CliRunner().invoke(app, ["solve", *map(str, arguments), "--json"])
    assert found.exit_code == 0, found.output + repr(found.exception)
    return json.loads(found.stdout)


def request(**options):
    return Request(SolveOptions(**options))


def test_every_problem_has_a_small_default_agent():
    assert shipped_problems() == sorted(NAMES)
    for name in NAMES:
        agent = default_agent(name)
        assert (agent.problem.name, agent.name) == (name, "taught-projection")
        folder = Path(lagco.agents.shipped.FOLDER) / name
        assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < 2_000_000


@pytest.mark.parametrize("problem", NAMES)
def test_a_file_of_every_problem_is_answered(problem, tmp_path):
    out, plot = tmp_path / "solution.txt", tmp_path / "solution.png"
    answer = run(
        DATA / FILES[problem], "--problem", problem, "--turns", 6, "--out", out, "--plot", plot
    )
    assert answer["valid"] is True
    instance = read(DATA / FILES[problem], problem)
    solution = read_solution(instance, out)
    cls = problem_class(problem)
    if not cls.scaled_by_sweeps:  # there the scale belongs to the answer's own instance
        assert cls.evaluate_solution(instance, solution) == pytest.approx(answer["objective"])
    assert plot.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("policy", ["greedy", "random", "solver"])
def test_policies_answer_too(policy, tmp_path):
    answer = run(DATA / "towns.tsp", "--by", policy, "--turns", 60)
    assert answer["valid"] is True
    assert answer["by"] == policy
    assert answer["gap"] >= -1e-9
    assert answer["bound_gap"] == answer["gap"]  # the file brings no reference


def test_the_time_is_the_clock_of_the_limit():
    now = [10.0]
    limit = Limit(2.0, since=9.5, clock=lambda: now[0])
    assert (limit.elapsed(), limit.left(), limit.over()) == (0.5, 1.5, False)
    now[0] = 11.5
    assert limit.over()


def test_one_solution_is_finished_however_short_the_time():
    instance = problem_class("tsp").generate(60)
    answer = lagco.solve(instance, by="greedy", seconds=1e-6)
    assert answer.valid
    assert sorted(answer.solution.tolist()) == list(range(60))


def test_an_agent_whose_time_is_over_lets_greedy_finish():
    instance = problem_class("tsp").generate(60)
    answer = lagco.solve(instance, by="agent", seconds=1e-6)
    assert answer.by.endswith(", finished by greedy")
    assert sorted(answer.solution.tolist()) == list(range(60))
    counted = lagco.solve(instance, by="agent", turns=3)
    assert "greedy" not in counted.by


@pytest.mark.parametrize(("name", "by"), [("tsp", "agent"), ("min-vertex", "random")])
def test_what_is_left_when_the_time_is_over_is_completed_without_steps(name, by, monkeypatch):
    def step(self):
        raise AssertionError("the time is over")

    monkeypatch.setattr(SideBySide, "step", step)
    answer = lagco.solve(problem_class(name).generate(40), by=by, seconds=1e-6)
    assert answer.valid
    assert answer.by.endswith(", finished by greedy")


@pytest.mark.parametrize("name", ["tsp", "min-vertex"])
def test_states_are_completed_as_greedy_would(name):
    cls = problem_class(name)
    env = cls(cls.generate(30))
    for steps in (0, 7):
        episode = Episode(env, seed=1).run(plain_policy("random"), steps) if steps else None
        if episode is None:
            env.reset(seed=1)
        solution, before = env.completed(), env.solution()
        assert set(before.tolist()) <= set(solution.tolist())
        while not env.is_complete():
            actions = env.valid_actions()
            env.step(actions[env.preview(actions).argmax()])  # the first one of equals
        assert cls.evaluate_solution(env.instance, solution) == pytest.approx(env.objective())


def test_a_problem_without_a_completion_of_its_own_is_finished_by_steps_that_cost_least():
    made = []

    class Listed(Cover):
        completed = Problem.completed

        def _load(self, instance):
            made.append(self.features)
            super()._load(instance)

    class Blind(Listed):
        preview = None  # says that there is none

    instance = replace(generate_instance("min-vertex", size=12), problem="cover")
    for cls, policy in ((Listed, "greedy"), (Blind, "random")):
        answer = lagco.solve(instance, problem=cls, by="random", seconds=1e-6)
        assert answer.valid
        assert answer.by == ("random" if policy == "random" else "random, finished by greedy")
        assert made[-1] == "paper"


def test_nothing_is_begun_after_the_search(monkeypatch):
    cls = problem_class("placement")
    instance = generate_instance("placement", size=8, references=("sweeps",), sweeps=20)
    reset, over = Problem.reset, []

    def counted(self, **options):
        assert not over
        return reset(self, **options)

    monkeypatch.setattr(Problem, "reset", counted)
    monkeypatch.setattr(
        instance_module, "run", lambda *given: (run_members(*given), over.append(1))
    )
    answer = lagco.solve(instance, problem=cls, turns=2)
    assert answer.score is not None


def test_the_bound_on_covers_has_a_small_budget(monkeypatch):
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    solve, work = cp_model.CpSolver.solve, []

    def noted(self, model):
        work.append(self.parameters.max_deterministic_time)
        return solve(self, model)

    monkeypatch.setattr(cp_model.CpSolver, "solve", noted)
    cls = problem_class("min-vertex")
    lagco.solve(cls.generate(20), turns=2, by="solver")
    assert work == [1.0]
    dense = np.array(np.triu_indices(260, 1), dtype=np.int32)
    complete = Instance("min-vertex", "complete", 260, {"edges": dense})
    assert cls.bound(complete, 1.5) == 130.0
    assert len(work) == 1  # its model alone would take too long
    assert cls.bound(complete, 2.0) >= 130.0
    assert len(work) == 2


def test_the_solver_answers_first_however_short_the_time():
    answer = lagco.solve(problem_class("tsp").generate(30), seconds=1e-6)
    assert answer.valid
    assert list(answer.shares) == ["solver"]
    assert answer.episodes == 0


def test_more_turns_are_not_worse_and_turns_decide_alone():
    instance = problem_class("tsp").generate(40)
    few, many, again = (lagco.solve(instance, by="greedy", turns=n) for n in (50, 400, 400))
    assert many.episodes > few.episodes
    assert many.objective <= few.objective
    assert again.solution.tolist() == many.solution.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_improving_is_never_worse_and_does_not_change_what_it_is_given(name):
    cls = problem_class(name)
    instance = generate_instance(name, size=12, references=["sweeps"], sweeps=20)
    if name == "cyber-path":
        first = cls.improve(instance, None, 0, 0.0)[:2]
    else:
        first = lagco.solve(instance, by="random", turns=60).solution
    kept = first.copy()
    better = cls.improve(instance, first, 1, 1 / 256)
    assert (first == kept).all()
    values = [cls.evaluate_solution(instance, s) for s in (first, better)]
    assert improvement(values[1], values[0], maximise=cls.maximise) >= -1e-12
    assert (cls.improve(instance, first, 1, 1 / 256) == better).all()
    if name in ("tsp", "max-cut", "cyber-path", "ospf"):
        assert values[0] != values[1]


@pytest.mark.parametrize("name", NAMES)
def test_no_solution_beats_the_bound(name):
    cls = problem_class(name)
    instance = generate_instance(name, size=10, references=["sweeps"], sweeps=20)
    bound = cls.bound(instance)
    if name in ("max-cut", "placement"):
        assert bound is None
        return
    best = cls.evaluate_solution(instance, cls.improve(instance, None, 0, 1 / 16))
    gap = measures.gap(best, bound, maximise=cls.maximise)
    assert -1e-9 <= gap < 60.0


def test_the_bound_on_tours_of_five_cities_is_below_the_best_and_near():
    instance = problem_class("tsp").generate(7)
    tours = ((0, *rest) for rest in itertools.permutations(range(1, 7)))
    best = min(problem_class("tsp").evaluate_solution(instance, np.array(t)) for t in tours)
    assert 0.95 * best <= tour_bound(instance) <= best + 1e-9


def test_the_smallest_cover_of_a_small_graph_is_found():
    for index in range(3):
        instance = problem_class("min-vertex").generate(12, index=index)
        edges = instance.array("edges").T
        least = min(
            len(chosen)
            for size in range(13)
            for chosen in itertools.combinations(range(12), size)
            if all(u in chosen or v in chosen for u, v in edges.tolist())
        )
        cover = problem_class("min-vertex").improve(instance, np.arange(12), 0, 1e-4)
        assert len(cover) == least


def test_a_portfolio_says_who_found_what_when_and_stops_at_the_bound(tmp_path):
    seen = []
    instance = problem_class("cyber-path").generate(10)
    answer = lagco.solve(instance, turns=30, on_improvement=seen.append)
    assert answer.bound_gap == 0.0
    assert tuple(seen) == answer.curve
    assert answer.curve[-1].objective == answer.objective
    assert answer.by == answer.curve[-1].by == "solver"
    assert sum(answer.shares.values()) < 30
    answer.write_curve(tmp_path / "curve.csv")
    rows = (tmp_path / "curve.csv").read_text().splitlines()
    assert len(rows) == 1 + len(seen)
    assert rows[0] == "seconds,objective,by,gap"


def test_a_portfolio_is_no_worse_than_its_members():
    instance = problem_class("tsp").generate(60)
    agent = default_agent("tsp")
    answer = lagco.solve(instance, agent=agent, turns=200)
    assert {name.split()[0] for name in answer.shares} >= {"solver", agent.name}
    alone = lagco.solve(instance, by="agent", agent=agent, turns=60)
    first = problem_class("tsp").improve(instance, None, 43, 0.0)
    assert answer.objective <= alone.objective
    assert answer.objective <= problem_class("tsp").evaluate_solution(instance, first)


def worked_on(instance, **limit):
    cls = problem_class(instance.problem)
    limit = Limit(**limit)
    return Task(cls, instance, Record(cls, limit), limit, 0)


@pytest.mark.parametrize("by", ["greedy", "portfolio", "solver"])
def test_no_turn_goes_to_a_bound_where_there_is_none(by):
    class Unbounded(problem_class("tsp")):
        bound = Problem.bound
        relaxed = Problem.relaxed

    instance = problem_class("tsp").generate(6)
    limit = Limit(turns=1)
    task = Task(Unbounded, instance, Record(Unbounded, limit), limit, 0)
    names = [member.name for member in Request(SolveOptions(by=by)).members(task)]
    assert names
    assert "bound" not in names


def test_a_local_search_waits_for_solutions_to_begin_from_and_takes_no_time_meanwhile():
    task = worked_on(problem_class("tsp").generate(10), turns=30)
    source = Solutions()
    waiting = FollowingSearch(task, "after others", source)
    run_members([LocalSearch(task), waiting], task)
    assert waiting.used == 0.0
    assert task.record.shares == {"solver": 30.0}
    source.found.append(task.record.best)
    assert waiting.ready()
    assert waiting.turn()
    assert waiting.ready()
    assert not source.found


def test_a_portfolio_ends_where_only_a_search_is_left_that_waits_for_others():
    task = worked_on(problem_class("tsp").generate(10), turns=3)
    turns = []

    def between():
        turns.append(task.limit.taken)
        assert len(turns) < 5

    run_members([FollowingSearch(task, "after others", Solutions())], task, between)
    assert task.record.best is None
    assert not turns


def test_the_agent_answers_where_the_solver_gave_up_and_its_part_of_the_time_was_too_short(
    monkeypatch,
):
    cls = problem_class("tsp")

    def improve(own, instance, solution, seed, effort):
        raise InstanceError("too large")

    monkeypatch.setattr(cls, "improve", classmethod(improve))
    monkeypatch.setattr(Episodes, "_fits", lambda *_: False)
    answer = lagco.solve(cls.generate(12), turns=8)
    assert answer.valid
    assert answer.as_dict()["notes"] == ["too large"]


class Solutions:
    """Brings what it is given."""

    def __init__(self):
        self.found = []

    def brings(self):
        return bool(self.found)

    def take(self):
        return self.found.pop() if self.found else None


@pytest.mark.parametrize("agent", [None, "default"])
def test_an_agent_waits_until_the_solver_finds_nothing_better(agent):
    now = [0.0]
    instance = problem_class("tsp").generate(10)
    task = worked_on(instance, seconds=1e9, clock=lambda: now[0])
    solver, episodes, improving, _bound = request(agent=agent).members(task)
    assert not episodes.ready()
    assert not improving.ready()
    assert not solver.stagnates()
    for _ in range(20):
        solver.turn()
    assert not solver.stagnates()  # many turns, but hardly any of the time
    now[0] = 0.25e9
    assert solver.stagnates()
    assert episodes.ready()


def test_a_portfolio_goes_on_from_the_rounded_relaxation(monkeypatch):
    cls = problem_class("traffic")
    instance = cls.generate(14)
    bound, rounded = cls.relaxed(instance)
    assert bound == cls.bound(instance)
    assert cls.evaluate_solution(instance, rounded) >= bound * (1.0 - 1e-9)
    task = worked_on(instance, turns=40)
    following, bounding = request().members(task)[-2:]
    assert not following.ready()
    bounding.turn()
    assert task.record.bound == bound
    assert task.record.best.by == following.name
    assert following.ready()
    assert following.leads()
    assert following.turn()
    assert not bounding.brings()
    monkeypatch.setattr(cls, "relaxed", classmethod(lambda *_: pytest.fail("asked for")))
    assert len(request(by="solver").members(task)) == 2
    run_members(request(by="solver").members(task), task)


@pytest.mark.parametrize("name", ["traffic", "ospf"])
def test_an_agent_without_the_time_for_an_episode_is_helped_by_greedy(name):
    now = [0.0]

    def clock():
        now[0] += 0.01
        return now[0]

    cls = problem_class(name)
    instance = cls.generate(12)
    task = worked_on(instance, seconds=3.0, clock=clock)
    (episodes,) = [m for m in request(by="agent").members(task) if isinstance(m, Episodes)]
    run_members([episodes], task)
    assert episodes.name.endswith(", with steps of greedy")
    start = cls(instance, start="default")
    start.reset(seed=0)
    assert task.record.best.objective < start.objective()


@pytest.mark.parametrize("seconds", [0.5, 60.0])
def test_a_portfolio_searches_as_the_solver_alone_as_long_as_that_finds_better(
    monkeypatch, seconds
):
    cls, turns, now = problem_class("tsp"), [], [0.0]

    def improve(own, instance, solution, seed, effort):
        turns.append((seed, effort, solution is None))
        now[0] += 1e-3 + 4.0 * effort
        return np.arange(instance.size)

    monkeypatch.setattr(cls, "improve", classmethod(improve))
    monkeypatch.setattr(cls, "bound", classmethod(lambda own, instance, seconds: None))
    monkeypatch.setattr(cls, "evaluate_solution", classmethod(lambda *_: 1e3 - len(turns)))
    runs = []
    for by in ("solver", "portfolio"):
        turns.clear()
        now[0] = 0.0
        task = worked_on(cls.generate(30), seconds=seconds, clock=lambda: now[0])
        run_members(request(by=by).members(task), task)
        runs.append(list(turns))
    assert runs[0] == runs[1]
    assert len(runs[0]) > 5


@pytest.mark.parametrize("name", ["ospf", "traffic", "max-cut"])
def test_with_as_many_turns_of_the_solver_a_portfolio_is_never_worse(name, monkeypatch):
    cls, turns = problem_class(name), []
    turn = LocalSearch.turn

    def noted(self):
        goes_on = turn(self)
        turns.append((self._effort, self._turns.present.objective))
        return goes_on

    monkeypatch.setattr(LocalSearch, "turn", noted)
    for hook in ("bound", "relaxed"):
        monkeypatch.setattr(cls, hook, classmethod(lambda *_: None))
    instance = cls.generate(12)
    together = lagco.solve(instance, agent="default", turns=80)
    shares, beside = dict(together.shares), list(turns)
    assert sum(shares.values()) - shares["solver"] > 3
    turns.clear()
    task = worked_on(instance, turns=int(shares["solver"]))
    run_members([LocalSearch(task.seeded(42))], task)
    assert turns == beside
    assert task.record.better(together.objective, task.record.best.objective)


@pytest.mark.parametrize(("leads", "least", "most"), [(True, 89.0, 91.0), (False, 49.0, 51.0)])
def test_beside_a_solver_others_have_a_tenth_of_the_time_or_half_of_it(leads, least, most):
    now = [0.0]
    task = worked_on(problem_class("tsp").generate(10), seconds=100.0, clock=lambda: now[0])

    class Slow:
        used = 0.0

        def __init__(self, name, seconds):
            self.name, self.seconds = name, seconds

        def ready(self):
            return True

        def leads(self):
            return leads and self.name == "solver"

        def turn(self):
            now[0] += self.seconds
            if self.name == "solver":
                task.record.offer(Found(1e3 - now[0], np.arange(10), self.name))
            return True

    run_members([Slow("solver", 0.7), Slow("agent", 0.2), Slow("agent + search", 0.3)], task)
    assert least <= task.record.shares["solver"] <= most


def test_a_search_from_what_others_found_stays_within_its_part_of_the_time(monkeypatch):
    cls, now, turns = problem_class("tsp"), [0.0], []

    def improve(own, instance, solution, seed, effort):
        turns.append(effort)
        now[0] += effort
        return np.arange(instance.size)

    monkeypatch.setattr(cls, "improve", classmethod(improve))
    task = worked_on(cls.generate(10), seconds=10.0, clock=lambda: now[0])
    source = Solutions()
    source.found.append(Found(1.0, np.arange(10), "agent"))
    task.record.offer(Found(0.0, np.arange(10), "solver"))
    search = FollowingSearch(task, "after others", source)
    while not task.limit.over():
        search.turn()
    assert max(turns) <= FOLLOWING * 10.0


def test_runs_of_a_seed_take_the_same_turns_and_differ_only_in_how_far_they_get(monkeypatch):
    cls, turns, now, slow = problem_class("tsp"), [], [0.0], [0.0]
    improve = cls.improve.__func__

    def timed(own, instance, solution, seed, effort):
        turns.append((seed, effort, solution is None))
        now[0] += 1e-3 + slow[0] * effort
        return improve(own, instance, solution, seed, min(effort, 1e-3))

    monkeypatch.setattr(cls, "improve", classmethod(timed))
    runs = []
    for slow[0] in (10.0, 11.0, 12.5, 14.0):
        turns.clear()
        now[0] = 0.0
        task = worked_on(cls.generate(30), seconds=1.0, clock=lambda: now[0])
        run_members([LocalSearch(task)], task)
        assert 0.9 < now[0] < 1.1
        runs.append(list(turns))
    assert all(math.log2(effort).is_integer() for _, effort, _ in runs[0])
    for run in runs[1:]:
        pairs = zip(runs[0], run, strict=False)
        alike = [turn for turn, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)]
        assert sum(turn[1] for turn in alike) > 0.4 * sum(turn[1] for turn in run)


def test_a_search_that_finds_better_has_most_of_the_time_whoever_holds_the_best():
    task = worked_on(problem_class("tsp").generate(10), turns=100)

    class Steady:
        used = 0.0

        def __init__(self, name, leads):
            self.name, self.leads = name, lambda: leads

        def ready(self):
            return True

        def turn(self):
            task.record.offer(Found(2.0 if self.leads() else 1.0, np.arange(10), self.name))
            return True

    run_members([Steady("solver", True), Steady("agent", False)], task)
    assert task.record.best.by == "agent"
    assert task.record.shares["solver"] >= 90.0


def test_a_default_agent_that_cannot_be_loaded_is_noted_and_one_that_was_asked_for_is_not(
    monkeypatch,
):
    def broken(name, instance):
        raise LagcoError("the bundle is damaged")

    monkeypatch.setattr("lagco.agents.shipped.default_agent", broken)
    instance = problem_class("max-cut").generate(12)
    answer = lagco.solve(instance, turns=12)
    assert answer.valid
    assert answer.as_dict()["notes"] == ["the bundle is damaged"]
    with pytest.raises(LagcoError, match="the bundle is damaged"):
        lagco.solve(instance, turns=12, agent="default")


def test_the_wanted_gap_stops_the_search():
    instance = problem_class("tsp").generate(30)
    loose = lagco.solve(instance, by="solver", turns=50, until=100.0)
    assert sum(loose.shares.values()) < 10
    assert loose.gap <= 100.0


def test_an_interruption_returns_the_best_so_far():
    def stop(found):
        raise KeyboardInterrupt

    instance = problem_class("max-cut").generate(20)
    answer = lagco.solve(instance, by="solver", turns=50, on_improvement=stop)
    assert answer.interrupted
    assert answer.valid


def test_an_interrupted_command_writes_the_answer_and_exits_with_130(tmp_path, monkeypatch):
    solve = lagco.solve

    def stopped(*arguments, **options):
        return replace(solve(*arguments, **options), interrupted=True)

    monkeypatch.setattr(lagco, "solve", stopped)
    out = tmp_path / "towns.tour"
    found = CliRunner().invoke(
        app, ["solve", str(DATA / "towns.tsp"), "--turns", "3", "--out", str(out)]
    )
    assert found.exit_code == 130
    assert out.exists()


def test_episodes_improved_by_local_search_are_shorter():
    instance = problem_class("tsp").generate(40)
    plain = lagco.solve(instance, by="random", turns=120)
    better = lagco.solve(instance, by="random", turns=120, improve=True)
    assert better.valid
    assert better.by == "random + local search"
    assert better.objective < 0.8 * plain.objective


def test_a_part_of_the_best_tour_is_decided_again():
    env = problem_class("tsp")(problem_class("tsp").generate(20))
    env.reset(seed=0)
    tour = np.random.default_rng(1).permutation(20)
    part = env.reopened(tour, 0.25, np.random.default_rng(0))
    assert len(part) == 15
    doubled = [*tour.tolist(), *tour.tolist()]
    assert any(doubled[i : i + 15] == part.tolist() for i in range(20))


def test_a_part_of_the_best_cover_is_decided_again():
    cls = problem_class("min-vertex")
    env = cls(cls.generate(20))
    env.reset(seed=0)
    cover = cls.improve(env.instance, None, 0)
    outside = set(range(20)) - set(cover.tolist())
    for share, seed in itertools.product((0.05, 0.5, 1.0), range(5)):
        kept = set(env.reopened(cover, share, np.random.default_rng(seed)).tolist())
        added = kept & outside
        assert len(added) == max(1, round(share * len(outside)))
        neighbours = [set() for _ in range(20)]
        for u, v in env.instance.array("edges").T.tolist():
            neighbours[u].add(v)
            neighbours[v].add(u)
        assert kept - added == {v for v in cover.tolist() if not neighbours[v] & outside <= added}
    assert env.reopened(np.arange(20), 0.5, np.random.default_rng(0)) is None


@pytest.mark.parametrize("name", ["tsp", "min-vertex"])
@pytest.mark.parametrize("features", ["full", "paper"])
def test_a_start_with_decisions_is_the_state_that_these_decisions_lead_to(name, features):
    cls = problem_class(name)
    instance = cls.generate(20)
    stepped, begun = cls(instance, features=features), cls(instance, features=features)
    decided = np.random.default_rng(3).permutation(20)[:12]
    stepped.reset(seed=0, options={"start": [int(decided[0])] if name == "tsp" else []})
    for action in decided[1:] if name == "tsp" else decided:
        stepped.step(action)
    begun.reset(seed=0, options={"start": decided})
    assert begun.objective() == stepped.objective()
    assert np.array_equal(begun.action_mask(), stepped.action_mask())
    for ours, theirs in zip(
        begun.get_graphs().values(), stepped.get_graphs().values(), strict=True
    ):
        for columns, others in (
            (ours.nodes, theirs.nodes),
            (ours.edge_attributes, theirs.edge_attributes),
        ):
            assert columns.keys() == others.keys()
            for key, column in columns.items():
                assert np.array_equal(column, others[key]), key


@pytest.mark.parametrize("search", ["sample", "reconstruct", "auto"])
def test_every_search_of_a_policy_answers(search, monkeypatch):
    monkeypatch.setattr(problem_class("tsp"), "bound", classmethod(lambda *_: None))
    instance = problem_class("tsp").generate(15)
    answer = lagco.solve(instance, by="greedy", search=search, turns=400)
    assert answer.valid
    assert answer.episodes > 16


def test_a_folder_is_solved_into_a_table_and_gone_on_with(tmp_path):
    folder, out = tmp_path / "files", tmp_path / "results.csv"
    folder.mkdir()
    packed = gzip.compress((DATA / "towns.tsp").read_bytes())
    (folder / "towns.tsp.gz").write_bytes(packed)
    (folder / "notes.txt").write_text("nothing to solve")
    first = list(solve_folder(folder, out, by="solver", turns=2))
    assert [row["file"] for row in first] == ["notes.txt", "towns.tsp.gz"]
    assert "unknown format" in first[0]["error"]
    assert float(first[1]["objective"]) > 0
    again = list(solve_folder(folder, out, by="solver", turns=2))
    assert [row["file"] for row in again] == ["notes.txt"]  # it could have been mended
    (folder / "notes.txt").unlink()
    assert list(solve_folder(folder, out, by="solver", turns=2)) == []
    (folder / "ring.rud").write_bytes((DATA / "ring.rud").read_bytes())
    command = ["solve", str(folder), "--out", str(out), "--by", "solver", "--turns", "2"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0
    assert found.stdout.splitlines()[0].startswith("ring.rud: ")
    assert len(out.read_text().splitlines()) == 3
    out.write_text("something else")
    with pytest.raises(LagcoError, match="not a table of answers"):
        list(solve_folder(folder, out))


@pytest.mark.parametrize(
    ("name", "size", "objective"),
    [("towns.tsp", "cities", "length of the tour"), ("ring.rud", "nodes", "weight between")],
)
def test_sizes_and_values_say_what_they_count(name, size, objective):
    found = CliRunner().invoke(app, ["solve", str(DATA / name), "--by", "solver", "--turns", "1"])
    lines = dict(line.split(None, 1) for line in found.stdout.splitlines())
    assert re.fullmatch(rf"\d+ {size}", lines["size"].strip())
    assert re.match(rf"[\d.]+ \({objective}", lines["objective"])


def test_a_generated_data_set_is_solved_without_what_describes_it(tmp_path):
    lagco.generate("tsp", 2, sizes=6, out=tmp_path / "data", references=(), workers=1)
    rows = list(solve_folder(tmp_path / "data", tmp_path / "t.csv", by="greedy", turns=6))
    assert [row["file"] for row in rows] == ["0000.npz", "0001.npz"]
    assert not any(row["error"] for row in rows)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
def test_a_file_name_that_is_not_text_is_spelled_out(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/a\xff.tsp")).write_text("nothing")
    (row,) = solve_folder(folder, tmp_path / "t.csv")
    assert row["file"] == "a\\xff.tsp"
    assert "a\\xff.tsp" in row["error"]


def test_an_option_of_the_agent_asks_for_the_agent(monkeypatch):
    def broken(name, instance):
        raise LagcoError("the bundle is damaged")

    monkeypatch.setattr("lagco.agents.shipped.default_agent", broken)
    with pytest.raises(LagcoError, match="the bundle is damaged"):
        lagco.solve(problem_class("max-cut").generate(12), turns=3, k=5)


def test_the_default_agent_has_one_name():
    agent = lagco.load("default", problem="tsp")
    assert agent.problem.name == "tsp"
    with pytest.raises(UnknownName, match="give the name of the problem, such as 'tsp'"):
        lagco.load("default")


def test_a_scale_that_solve_made_itself_gives_no_score():
    answer = lagco.solve(generate_instance("placement", size=8), turns=2)
    assert answer.score is None


def test_an_agent_may_stop_at_a_proven_optimum():
    instance = problem_class("cyber-path").generate(6)
    answer = lagco.solve(instance, by="random", turns=2)
    assert next(iter(answer.shares)) == "bound"
    assert answer.bound is not None


def test_failures_in_a_folder_are_counted_and_named(tmp_path):
    folder, out = tmp_path / "files", tmp_path / "results.csv"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("nothing to solve")
    (folder / "towns.tsp").write_bytes((DATA / "towns.tsp").read_bytes())
    command = ["solve", str(folder), "--out", str(out), "--by", "solver", "--turns", "2"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 1
    assert "2 of 3 files could not be solved: a.txt, b.txt;" in str(found.exception)
    assert f"table written to {out}" in found.stdout
    assert len(out.read_text().splitlines()) == 4  # those after the failures are solved, too
    for name in ("a.txt", "b.txt"):
        (folder / name).unlink()
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0 and "nothing to do" in found.stdout


@pytest.mark.parametrize("option", ["--out", "--plot", "--trace"])
def test_a_file_that_cannot_be_written_is_noticed_before_the_search(tmp_path, monkeypatch, option):
    (tmp_path / "taken").write_text("")
    monkeypatch.setattr(lagco, "solve", lambda *_, **__: pytest.fail("it searched"))
    for path in (tmp_path / "taken" / "deeper" / "x.png", tmp_path):
        found = CliRunner().invoke(app, ["solve", str(DATA / "towns.tsp"), option, str(path)])
        assert isinstance(found.exception, LagcoError) and str(path) in str(found.exception)


def test_a_table_that_cannot_be_written_is_noticed_before_the_search(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "towns.tsp").write_bytes((DATA / "towns.tsp").read_bytes())
    searched = []
    monkeypatch.setattr("lagco.solving.folder.solve", lambda *given, **_: searched.append(given))
    with pytest.raises(WriteError, match="cannot be written"):
        list(solve_folder(tmp_path / "files", tmp_path / "taken" / "x.csv"))
    assert not searched


def test_fixed_edges_of_a_file_are_in_every_answer(tmp_path):
    text = (DATA / "towns.tsp").read_text().replace("EOF", "")
    (tmp_path / "fixed.tsp").write_text(f"{text}\nFIXED_EDGES_SECTION\n1 2\n-1\nEOF\n")
    for by in ("solver", "greedy", "agent"):
        answer = lagco.solve(tmp_path / "fixed.tsp", by=by, turns=4, progress=False)
        place = np.argsort(answer.solution)
        assert abs(place[0] - place[1]) in (1, len(place) - 1)


def test_the_picture_shows_the_state_that_was_answered(tmp_path):
    for name in ("min-vertex", "max-cut"):
        answer = lagco.solve(problem_class(name).generate(12), by="greedy", turns=20)
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
    assert lagco.solve(given, by="greedy", turns=20, start="default").valid


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "greedy", "agent": "default"}, "not both"),
        ({"by": "greddy"}, "did you mean 'greedy'"),
        ({"by": "greedy", "seconds": 0.0}, "seconds=0.0"),
        ({"by": "greedy", "turns": 0}, "turns=0"),
        ({"by": "greedy", "until": -1.0}, "until=-1.0"),
        ({"search": "sideways"}, "sideways"),
        ({"gap_to": "optimum"}, "optimum"),
        ({"by": "greedy", "decoder": "preview"}, "does not decode points"),
        ({"by": "greedy", "start": "sideways"}, "sideways"),
        ({"start": "w.csv"}, "w.csv"),
        ({"decoder": "foo"}, "unknown decoding 'foo'"),
        ({"decoder": "rule:nowhere:chosen"}, "no module 'nowhere'"),
        ({"k": -3}, "k=-3"),
        ({"seconds": 1.0, "turns": 3}, "seconds=1.0 or turns=3, not both"),
        ({"by": "solver", "start": "default"}, "the solver takes no such option"),
        ({"by": "solver", "k": 3}, "the solver takes no such option"),
        ({"gap_to": "reference"}, "brings no reference"),
        ({"agent": "nowhere"}, "no such folder"),
        ({"wokers": 2}, "did you mean 'workers'"),
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
    answer = lagco.solve(berlin, by="agent", turns=600)
    assert answer.valid
    assert answer.objective <= 1.15 * 7542


def test_a_real_map_is_solved_and_proven():
    answer = lagco.solve(shared_instance("tsplib/berlin52.tsp"), turns=60)
    assert (answer.objective, answer.bound, answer.bound_gap) == (7542.0, 7542.0, 0.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("max-cut", ["nearest", "preview", "nearest"]), ("tsp", ["nearest"] * 3)],
)
def test_every_other_member_looks_ahead_where_states_are_improved(name, expected):
    agent = default_agent(name).with_decoder("nearest")
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


def test_a_problem_without_search_of_its_own_is_searched_by_its_rules():
    plain = type("Plain", (Cover,), {name: getattr(Problem, name) for name in ("improve", "solve")})
    hidden = type("Hidden", (plain,), {"preview": None})
    instance = replace(generate_instance("min-vertex", size=12), problem="cover")
    assert lagco.solve(instance, problem=plain, turns=4).by == "search"
    assert lagco.solve(instance, problem=hidden, turns=4).by == "search"


@pytest.mark.parametrize("cls", [Cover, TinyCover])
def test_a_problem_of_ones_own(cls, tmp_path):
    instance = replace(generate_instance("min-vertex", size=12), problem="cover")
    answer = lagco.solve(instance, problem=cls, by="greedy", turns=40)
    assert answer.valid
    answer.draw(tmp_path / "cover.png")
    assert (tmp_path / "cover.png").stat().st_size > 1000


def test_machines_too_many_to_sweep(tmp_path):
    cloud = draw_cloud(np.random.default_rng(0), 40, MATRIX_LIMIT + 10, 3)
    answer = lagco.solve(cloud, by="random", turns=10)
    assert answer.valid
    assert answer.reference is None
    with pytest.raises(LagcoError, match="without sweeps and solver"):
        lagco.solve(cloud, by="solver", turns=3)


@pytest.mark.parametrize("problem", NAMES)
def test_a_solvers_answer_can_be_drawn(problem, tmp_path):
    answer = lagco.solve(generate_instance(problem, size=10), by="solver", turns=4)
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
    monkeypatch.setattr(problem_class("tsp"), "bound", classmethod(lambda *_: None))
    finished = []
    step = SideBySide.step

    def noted(self):
        ended = step(self)
        finished.extend(ended)
        return ended

    monkeypatch.setattr(SideBySide, "step", noted)
    lagco.solve(generate_instance("tsp", size=8), by="greedy", search="sample", turns=60)
    modes = [episode for episode in finished if not episode.explore]
    assert sorted(episode.start for episode in modes) == list(range(8))
    assert {len(episode.actions) for episode in modes} == {7}


@pytest.mark.parametrize("option", ["--out", "--trace"])
def test_an_instance_is_not_written_over_by_its_answer(option, tmp_path):
    path = tmp_path / "towns.tsp"
    path.write_bytes((DATA / "towns.tsp").read_bytes())
    command = ["solve", str(path), "--by", "solver", "--turns", "1", option, str(path)]
    found = CliRunner().invoke(app, command)
    assert isinstance(found.exception, LagcoError)
    assert f"{option} {path}: is the file of the instance" in str(found.exception)
    assert path.read_bytes() == (DATA / "towns.tsp").read_bytes()


def test_two_results_are_not_written_to_one_file(tmp_path):
    out = str(tmp_path / "answer.csv")
    command = ["solve", str(DATA / "ring.rud"), "--turns", "1", "--out", out, "--trace", out]
    found = CliRunner().invoke(app, command)
    assert "is the file of --out; name another file" in str(found.exception)
