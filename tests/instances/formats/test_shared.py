"""Real files that may lie beside the repository: all of them read, and values are right."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.instances import detect, read
from lagco.instances.formats import FORMATS
from lagco.problems import problem_class
from lagco.problems.ospf import OSPF
from lagco.problems.tsp.solver import solve_tour
from tests.shared_instances import FOLDER, shared_instance

KINDS = {
    "tsplib": "tsplib",
    "gset": "gset",
    "vertex_cover": "pace",
    "sndlib": "sndlib",
    "topology_zoo": "graphml",
}
FILES = sorted(
    str(path.relative_to(FOLDER))
    for kind in KINDS
    for path in (FOLDER / kind).glob("*")
    if path.name not in ("optima.txt", "best_known.txt")
)

pytestmark = pytest.mark.skipif(not FILES, reason="no shared instances")


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_read_and_played(name):
    path = shared_instance(name)
    kind = FORMATS[detect(path)]
    assert kind.name == KINDS[name.split("/")[0]]
    for problem in kind.problems:
        instance = read(path, problem)
        for start in ("default", "current"):
            env = problem_class(problem)(instance, start=start)
            env.reset(seed=0)
            for _ in range(3):
                _, reward, *_ = env.step(env.sample_valid_action())
                assert np.isfinite(reward)
                assert np.isfinite(env.objective())


@pytest.mark.parametrize(
    ("name", "optimum"), [("berlin52", 7542), ("ulysses16", 6859), ("att48", 10628), ("gr17", 2085)]
)
def test_optimal_tours(name, optimum):
    instance = read(shared_instance(f"tsplib/{name}.tsp"))
    assert solve_tour(instance, seed=0).value == optimum


def test_listed_optima_are_never_beaten():
    listed = shared_instance("tsplib/optima.txt").read_text().splitlines()
    for name, optimum in (line.split(":") for line in listed if ":" in line):
        instance = read(shared_instance(f"tsplib/{name.strip()}.tsp"))
        value = solve_tour(instance, seed=1, effort=0.1).value
        assert int(optimum) <= value <= 1.05 * int(optimum)


def test_the_ulysses_tour_that_everybody_knows():
    instance = read(shared_instance("tsplib/ulysses16.tsp"))
    tour = np.array([1, 14, 13, 12, 7, 6, 15, 5, 11, 9, 10, 16, 3, 2, 4, 8]) - 1
    assert problem_class("tsp").evaluate_solution(instance, tour) == 6859


@pytest.mark.parametrize(
    ("name", "nodes", "links", "demands", "capacity"),
    [
        ("abilene", 12, 15, 132, 9920.0),
        ("polska", 12, 18, 66, 622.0),
        ("nobel-us", 14, 21, 91, 800.0),
    ],
)
def test_sndlib_networks(name, nodes, links, demands, capacity):
    instance = read(shared_instance(f"sndlib/{name}.txt"))
    assert instance.params["nodes"] == nodes
    assert instance.arrays["edges"].shape[1] == links
    assert instance.arrays["demands"].shape[1] == demands
    assert instance.arrays["capacities"].max() == capacity
    assert OSPF.evaluate_solution(instance, np.ones(links, dtype=int)) > 0
