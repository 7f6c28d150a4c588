"""Solutions of problems of one's own: JSON without further work, or a form of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import lagco
from examples.depots import Depots
from examples.facility import Facility
from lagco.cli import app
from lagco.core.adapter import adapted
from lagco.errors import InstanceError
from lagco.instances import SolutionForm, detect, read, read_solution, write_solution


@pytest.fixture(scope="module")
def depots():
    return Depots.generate(12)


@pytest.mark.parametrize(
    "solution",
    [
        np.array([3, 1, 2]),
        np.array([[0, 1], [4, 2]], dtype=np.int8),
        np.array([0.1, 1e-300, -2.5]),
        np.array([[1, 2.5], [3, 4]]),
        np.array([True, False]),
        np.array(["north", "süd"]),
        np.zeros(0, dtype=np.int64),
        [[1, 2], [3, 4]],
    ],
    ids=lambda s: f"{np.asarray(s).dtype}{np.shape(s)}",
)
@pytest.mark.parametrize("name", ["solution.json", "solution.json.gz"])
def test_any_array_is_read_as_it_was_written(tmp_path, depots, solution, name):
    write_solution(depots, solution, tmp_path / name, objective=2.5)
    assert detect(tmp_path / name) == "solution"
    again = read_solution(depots, tmp_path / name)
    np.testing.assert_array_equal(again, np.asarray(solution))
    assert again.dtype.kind == np.asarray(solution).dtype.kind
    with pytest.raises(InstanceError, match="it is a solution: read it with read_solution"):
        read(tmp_path / name)


def test_the_file_says_what_it_solves(tmp_path, depots):
    write_solution(depots, [3, 5], tmp_path / "s.json", objective=7)
    assert json.loads((tmp_path / "s.json").read_text()) == {
        "format": "lagco-solution",
        "version": 1,
        "problem": "depots",
        "instance": "depots-42-0000",
        "checksum": depots.checksum,
        "objective": 7.0,
        "solution": [3, 5],
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"checksum": "0" * 64}, "checksum: it solves 'depots-42-0000' of 'depots', not this"),
        ({"problem": "colouring"}, "problem: it solves 'depots-42-0000' of 'colouring', not this"),
        ({"solution": [[1, 2], [3]]}, r"solution\[1\]: is 1 entries, the others have 2"),
        ({"solution": [1, [2]]}, r"solution\[1\]: is \[2\], not a number"),
        ({"solution": [[1], 2]}, r"solution\[1\]: is 2, the others have 1 entries"),
        ({"solution": [1, "two"]}, "solution: mixes int and str"),
        ({"solution": [1, None]}, r"solution\[1\]: is None, not a number"),
        ({"solution": [1, 10**20]}, r"solution\[1\]: is 1000"),
        ({"solution": 3}, "solution: is 3, it must be an array"),
        ({"version": 2}, "version: is 2, this lagco reads 1"),
        ({"extra": 1}, "'extra'"),
    ],
)
def test_damaged_files_are_refused_by_place(tmp_path, depots, change, reason):
    write_solution(depots, [1, 2], tmp_path / "s.json")
    content = json.loads((tmp_path / "s.json").read_text()) | change
    (tmp_path / "s.json").write_text(json.dumps(content))
    with pytest.raises(InstanceError, match=rf"s\.json: .*{reason}"):
        read_solution(depots, tmp_path / "s.json")


def test_what_is_no_such_file_is_refused(tmp_path, depots):
    (tmp_path / "s.json").write_text('{"format": "other"}')
    with pytest.raises(InstanceError, match="lagco-solution"):
        read_solution(depots, tmp_path / "s.json")


@pytest.mark.parametrize("solution", [[[1, 2], [3]], [1.0, np.nan], [{"a": 1}], [None]])
def test_what_no_file_can_hold_is_said_and_leaves_no_file(tmp_path, depots, solution):
    with pytest.raises(InstanceError, match="a solution of 'depots-42-0000' has"):
        write_solution(depots, solution, tmp_path / "s.json")
    assert not list(tmp_path.iterdir())


def _read(source, instance):
    found = [source.integer(text, "a depot", line) for line, text in source.lines()]
    return np.array(found)


class Listed(Depots):
    """With a file form of its own: a depot per line."""

    solution_form = SolutionForm(
        read=_read, write=lambda instance, solution: "\n".join(map(str, solution.tolist())) + "\n"
    )


def test_a_form_of_ones_own_is_used(tmp_path, depots):
    answer = lagco.solve(depots, problem=Listed, by="greedy", turns=20, progress=False)
    answer.write_solution(tmp_path / "s.txt")
    text = (tmp_path / "s.txt").read_text()
    assert [int(line) for line in text.split()] == answer.solution.tolist()
    again = read_solution(depots, tmp_path / "s.txt", form=Listed.solution_form)
    np.testing.assert_array_equal(again, answer.solution)
    (tmp_path / "s.txt").write_text("1\ntwo\n")
    with pytest.raises(InstanceError, match=r"s\.txt, line 2: a depot is 'two'"):
        read_solution(depots, tmp_path / "s.txt", form=Listed.solution_form)


def test_the_command_writes_the_solution_of_an_environment(tmp_path):
    instance = adapted(Facility).instance_of(3, {"clients": 5})
    lagco.instances.write(instance, tmp_path / "0.npz")
    found = CliRunner().invoke(
        app,
        [
            *("solve", str(tmp_path / "0.npz"), "--problem", "examples.facility:Facility"),
            *("--by", "random", "--turns", "30", "--out", str(tmp_path / "s.json")),
        ],
    )
    assert found.exit_code == 0, found.output
    actions = read_solution(instance, tmp_path / "s.json")
    noted = json.loads((tmp_path / "s.json").read_text())["objective"]
    env, total = Facility(), 0.0
    env.reset(seed=3, options={"clients": 5})
    for action in actions:
        total += env.step(action)[1]
    assert total == pytest.approx(noted)


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_search(tmp_path, monkeypatch, depots):
    lagco.instances.write(depots, tmp_path / "0.npz")
    monkeypatch.setattr("lagco.solving.instance._search", None)  # would fail if it were begun
    found = CliRunner().invoke(
        app,
        [
            *("solve", str(tmp_path / "0.npz"), "--problem", "tests.mistaken:Undrawn"),
            *("--out", str(tmp_path / "s.json"), "--plot", str(tmp_path / "s.png")),
        ],
    )
    assert found.exit_code != 0
    assert "Undrawn has no viewer; define draw_on(axes)" in str(found.exception or found.output)
    assert not (tmp_path / "s.json").exists()


def test_an_answer_without_evaluate_solution_is_checked_by_taking_its_steps(depots):
    class Plain(Depots):
        evaluate_solution = lagco.Problem.evaluate_solution

    answer = lagco.solve(depots, problem=Plain, by="greedy", turns=20, progress=False)
    assert answer.valid
    assert answer.objective == Depots.evaluate_solution(depots, answer.solution)
