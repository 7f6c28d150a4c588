"""Answers, references and teachers for problems that are only declared."""

import numpy as np
import pytest

import lagco
from examples.colouring import Colouring
from examples.facility import Facility
from examples.independent_set import IndependentSet
from examples.steiner import Steiner
from lagco.agents.teaching.teachers import SearchTeacher
from lagco.commands.generate import generate_instance
from lagco.heuristics import Search, rules_search
from lagco.problems import problem_class
from lagco.rollout import Episode

PROBLEMS = [Colouring, IndependentSet, Steiner]


@pytest.mark.parametrize("cls", PROBLEMS)
def test_declared_problems_pass_the_check(cls):
    assert lagco.check(cls) == []


@pytest.mark.parametrize("cls", PROBLEMS)
def test_solve_searches_by_the_rules(cls):
    instance = cls.generate(12, seed=3)
    answer = lagco.solve(instance, problem=cls, turns=4, progress=False)
    assert answer.valid
    assert answer.by == "search"
    assert answer.objective == cls.evaluate_solution(instance, answer.solution)
    again = lagco.solve(instance, problem=cls, turns=4, progress=False)
    np.testing.assert_array_equal(again.solution, answer.solution)


@pytest.mark.parametrize("cls", [*PROBLEMS, problem_class(Facility)])
def test_the_portfolio_is_at_least_as_good_as_each_of_its_members_alone(cls):
    for index in range(3):
        instance = cls.generate(16, seed=8, index=index)
        found = {
            by: lagco.solve(instance, problem=cls, by=by, turns=12, progress=False).objective
            for by in ("portfolio", "solver", "greedy", "random")
        }
        best = max(found.values()) if cls.maximise else min(found.values())
        assert found["portfolio"] == pytest.approx(best), found


def test_the_best_independent_set_is_found():
    instance = IndependentSet.generate(14, seed=3)
    weights, (u, v) = instance.array("weights"), instance.array("edges")
    chosen = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
    independent = ~(chosen[:, u] & chosen[:, v]).any(axis=1)
    best = (chosen[independent] @ weights).max()
    assert rules_search(IndependentSet, instance, 1).run(3000).objective == best


def test_generated_instances_have_it_as_reference():
    instance = generate_instance(Colouring, size=12, references="solver")
    known = instance.references.solver
    assert (known.solver, known.status) == ("search", "best-known")
    assert known.value == Colouring.evaluate_solution(instance, known.solution)


@pytest.mark.parametrize("cls", PROBLEMS)
def test_the_teacher_leads_to_what_its_search_finds(cls):
    teacher = SearchTeacher()
    env = cls(cls.generate(12, seed=3))
    env.reset(seed=1)
    teacher.begin(env, 1)
    while not env.is_complete():
        (action,) = teacher.actions(env)
        env.step(action)
    greedy = Episode(cls(env.instance), 1, explore=False).run(lagco.policies.GreedyPolicy())
    assert (env.objective() >= greedy.env.objective()) == cls.maximise or (
        env.objective() == greedy.env.objective()
    )


def test_the_teacher_goes_on_from_where_the_learner_is():
    teacher = SearchTeacher()
    env = Steiner(Steiner.generate(20, seed=3))
    env.reset(seed=1)
    for _ in range(3):
        env.step(env.valid_actions()[-1])
    taken = env.solution()
    assert teacher.take_over(env, 5)
    while not env.is_complete():
        (action,) = teacher.actions(env)
        env.step(action)
    assert (env.solution() >= taken).all()


def test_searches_of_the_teacher_go_on_in_later_episodes():
    teacher = SearchTeacher()
    env = IndependentSet(IndependentSet.generate(16, seed=3))
    env.reset(seed=1)
    teacher.begin(env, 1)
    ((_, search),) = teacher._searches.values()
    moves = search.moves
    env.reset(seed=2)
    teacher.begin(env, 2)
    assert search.moves > moves
    assert isinstance(search, Search)
