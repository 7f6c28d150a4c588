"""Teachers that are chosen, instances that are drawn, and agents compared with other answers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lagco
from examples.depots import Depots
from lagco.agents.teaching.choosing import chosen_teacher
from lagco.agents.training import comparison
from lagco.agents.training.comparison import Comparison, compare, drawn_instances
from lagco.cli import main
from lagco.errors import UsageError
from lagco.policies import GreedyPolicy
from lagco.problems.tsp import TSP


class Poorly(Depots):
    """Depots with a solver that knows no better than to open the first sites."""

    @classmethod
    def solve(cls, instance, seed, effort=1.0):
        first = np.arange(int(instance.params["depots"]))
        value = cls.evaluate_solution(instance, first)
        known = lagco.instances.SolverReference(value, "best-known", "first", first)
        return lagco.instances.References(solver=known)

    def demonstrate(self, solution):
        return solution[self._open[solution] == 0]


def drawn(cls, count=3):
    return [cls.generate(16, seed=1, index=i) for i in range(count)]


def test_the_best_teacher_is_chosen_and_the_reason_is_given():
    choice = chosen_teacher(Poorly, drawn(Poorly), "full")
    assert choice.teacher == "search"
    assert "solver" in choice.why
    assert "greedy" in choice.why


def test_a_good_solver_is_preferred_to_a_search_that_is_no_better():
    class Well(Poorly):
        @classmethod
        def solve(cls, instance, seed, effort=1.0):
            found = lagco.heuristics.rules_search(cls, instance, seed)
            best = found.run(3000)
            known = lagco.instances.SolverReference(
                best.objective, "best-known", "search", best.solution
            )
            return lagco.instances.References(solver=known)

    assert chosen_teacher(Well, drawn(Well), "full").teacher == "solver"


def test_a_problem_that_names_its_teacher_keeps_it():
    assert chosen_teacher(TSP, [], "full") == ("solver", "the problem's own choice")


def test_drawn_instances_follow_from_the_seed_and_are_apart():
    training, validation = drawn_instances(Depots, {"seed": 3})
    again, _ = drawn_instances(Depots, {"seed": 3})
    assert [i.checksum for i in training] == [i.checksum for i in again]
    assert not {i.checksum for i in training} & {i.checksum for i in validation}


def test_problems_that_cannot_draw_ask_for_data(tmp_path):
    class Given(Depots):
        @classmethod
        def draw(cls, rng, size=None):
            raise UsageError("give files")

    with pytest.raises(UsageError, match="there is no data, and none can be drawn: give files"):
        lagco.train(Given, out=tmp_path / "agent", method="soft-projection")


class Greedy(GreedyPolicy):
    problem, features = Depots, "full"


def test_greedy_is_level_with_itself_and_the_same_search_is_never_worse_than_its_start():
    found = compare(Greedy(), drawn(Depots))
    assert found.ahead["greedy"] == (0.0, 0.0, 0.0)
    assert found.means["search"] <= found.means["greedy"] + 1e-9
    assert found.sentences()["against greedy"].startswith("level with it")


def test_verdicts_need_an_interval_without_zero():
    means = {"agent": 1.0, "greedy": 2.0, "search": 0.5}
    ahead = {"greedy": (50.0, 10.0, 80.0), "search": (-50.0, -80.0, -10.0)}
    found = Comparison(3, 0.1, means, ahead).sentences()
    assert found["against greedy"].startswith("ahead of it: 1, greedy 2; +50.00 %")
    assert found["against search"].startswith("behind it")


def test_one_command_teaches_compares_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(comparison, "TRAINING", 4)
    monkeypatch.setattr(comparison, "VALIDATION", 2)
    monkeypatch.chdir(tmp_path)
    command = "train examples.depots:Depots --method taught-projection --steps 128 --no-cache "
    command += "--set rollout=64"
    monkeypatch.setattr(sys, "argv", ["lagco", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    said = " ".join(capsys.readouterr().out.split())
    assert "teacher search" in said
    assert "tested on 2 validation instances" in said
    assert "against greedy" in said
    assert "against search" in said
    assert (tmp_path / "runs" / "depots-taught-projection" / "agent.json").exists()
