"""Solutions in the field's own form: readable, and read again as they were."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import detect, read, read_solution, write_solution
from lagco.problems import problem_class
from tests.instances.formats.samples import sample, written

FORMS = {
    "tsp": "tsplib-tour",
    "min-vertex": "cover",
    "max-cut": "sides",
    "ospf": "weights",
    "traffic": "paths",
    "placement": "allocation",
    "cyber-path": "attack-steps",
}


@pytest.mark.parametrize("problem", FORMS)
def test_a_solution_is_read_as_it_was_written(tmp_path, problem):
    cls = problem_class(problem)
    instance = generate_instance(problem, size=9, seed=3)
    env = cls(instance)
    env.reset(seed=1)
    ended = False
    while not ended:
        *_, terminated, truncated, _ = env.step(env.sample_valid_action())
        ended = terminated or truncated
    solution = env.solution()
    path = tmp_path / "solution"
    write_solution(instance, solution, path)
    assert detect(path) == FORMS[problem]
    again = read_solution(instance, path)
    assert cls.evaluate_solution(instance, again) == cls.evaluate_solution(instance, solution)
    if problem == "traffic":
        solution = solution[:, : again.shape[1]]
    np.testing.assert_array_equal(again, solution)
    with pytest.raises(
        InstanceError, match=r"it is a solution: read it with read_solution\(instance, path\)"
    ):
        read(path)


@pytest.mark.parametrize(
    ("name", "problem", "solution", "text"),
    [
        ("kite.gr", "min-vertex", [4, 1, 2, 5], "s vc 7 4\n2\n3\n5\n6\n"),
        ("ring.rud", "max-cut", [0, 1, 0, 1, 1, 0], "node,side\n1,0\n2,1\n3,0\n4,1\n5,1\n6,0\n"),
        (
            "islands.txt",
            "ospf",
            [1, 2, 3, 4, 5],
            "source,target,weight\nNorth,East,1\nEast,South,2\nSouth,West,3\nNorth,West,4\n"
            "North,South,5\n",
        ),
        (
            "islands.txt",
            "traffic",
            [[0, 1, 2, 4], [2, 0, 4, 4], [1, 0, 3, 4], [3, 2, 1, 4]],
            "path\nNorth,East,South\nSouth,North\nEast,North,West\nWest,South,East\n",
        ),
        (
            "cluster.json",
            "placement",
            [1, 1, 0, 2],
            "vm,pm\nweb,rack2\nstore,rack2\nmail,rack1\nbatch,rack3\n",
        ),
    ],
)
def test_what_the_files_look_like(tmp_path, name, problem, solution, text):
    instance = read(sample(name), problem)
    write_solution(instance, np.array(solution), tmp_path / "solution")
    assert (tmp_path / "solution").read_text() == text


def test_attack_steps_are_readable(tmp_path):
    from lagco.instances.catalogue import load_catalogue

    instance = read(sample("office.json"))
    place = load_catalogue().vulnerability_index
    steps = [[0, 0, place["ssh-known-hosts-readable"]], [0, 2, place["ssh-password-guessing"]]]
    write_solution(instance, steps, tmp_path / "steps.csv")
    assert (tmp_path / "steps.csv").read_text() == (
        "step,source,target,vulnerability\n"
        "1,desk,desk,ssh-known-hosts-readable\n"
        "2,desk,login,ssh-password-guessing\n"
    )
    assert read_solution(instance, tmp_path / "steps.csv").tolist() == steps
    write_solution(instance, np.zeros((0, 3), dtype=int), tmp_path / "none.csv")
    assert read_solution(instance, tmp_path / "none.csv").shape == (0, 3)


@pytest.mark.parametrize(
    ("name", "problem", "text", "message"),
    [
        ("kite.gr", "min-vertex", "s vc 8 1\n1\n", "line 1: 8 nodes, but 'kite' has 7"),
        ("kite.gr", "min-vertex", "s vc 7 2\n1\n", "line 1: declares 2 nodes, but lists 1"),
        ("kite.gr", "min-vertex", "s vc 7 1\n8\n", "line 2: a node is 8, it must be 1 to 7"),
        ("kite.gr", "min-vertex", "s vc 7 2\n1\n1\n", "line 3: the node 1 stands there twice"),
        ("kite.gr", "min-vertex", "1\n", "line 1: there is no line 's vc nodes size' before"),
        ("ring.rud", "max-cut", "node,side\n1,0\n", "nothing is said about '2'"),
        ("ring.rud", "max-cut", "node,side\n1,2\n", "line 2: a side is 2, it must be 0 to 1"),
        ("ring.rud", "max-cut", "1,0\n", "line 1: the first line must be node,side"),
        (
            "islands.txt", "ospf", "source,target,weight\nEast,West,1\n",
            "line 2: there is no link between 'East' and 'West'",
        ),
        (
            "islands.txt", "ospf", "source,target,weight\nEast,North,1\nNorth,East,1\n",
            "line 3: the link 'North-East' stands there twice",
        ),
        ("islands.txt", "ospf", "source,target,weight\nEast,North,0\n", "a weight is 0, it must be 1"),
        ("islands.txt", "traffic", "path\nNorth,West\n", "line 2: no demand from 'North' to 'West'"),
        ("islands.txt", "traffic", "path\nNorth,East,East,South\n", "comes to a node twice"),
        (
            "islands.txt", "traffic", "path\nNorth,South\nNorth,South\n",
            "line 3: the demand 'North-South' stands there twice",
        ),
        ("islands.txt", "traffic", "path\nNorth,South\n", "no path from 'South' to 'North'"),
        (
            "cluster.json", "placement", "vm,pm\nweb,rack9\n",
            "line 2: the instance has no 'rack9'; did you mean 'rack",
        ),
        (
            "office.json", "cyber-path", "step,source,target,vulnerability\n2,desk,desk,x\n",
            "line 2: this should be step 1",
        ),
        (
            "office.json", "cyber-path", "step,source,target,vulnerability\n1,desk,desk,x\n",
            "line 2: the catalogue has no 'x'",
        ),
    ],
)  # fmt: skip
def test_wrong_solutions_are_named(tmp_path, name, problem, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as caught:
        read_solution(read(sample(name), problem), path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem", "solution", "message"),
    [
        ("towns.tsp", "tsp", [0, 1, 2], "must be all cities in order"),
        ("ring.rud", "max-cut", [0, 1, 2, 0, 1, 0], "must be 0 or 1 per node"),
        ("kite.gr", "min-vertex", [9], "must be nodes"),
        ("islands.txt", "ospf", [0.5, 1, 1, 1, 1], "must be a weight per link"),
        ("islands.txt", "traffic", [[9]], "must be a path per demand"),
        ("cluster.json", "placement", [0, 0, 0, 7], "must be a host per virtual machine"),
        ("office.json", "cyber-path", [[0, 9, 0]], "must be source, target and vulnerability"),
    ],
)
def test_what_is_no_solution_is_not_written(tmp_path, name, problem, solution, message):
    with pytest.raises(InstanceError, match=message):
        write_solution(read(sample(name), problem), solution, tmp_path / "x")
    assert not (tmp_path / "x").exists()
