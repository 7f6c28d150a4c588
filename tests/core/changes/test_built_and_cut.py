"""Limits of tours, covers and cuts, compared with the truth by enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.core.changes import judge
from lagco.core.events import Event
from lagco.errors import InstanceError, UsageError
from lagco.problems.max_cut import MaxCut
from lagco.problems.min_vertex import MinVertex
from lagco.problems.tsp import TSP
from tests.core.changes.limited import limited, random_solution

EVERY = {
    TSP: lambda i: map(np.array, itertools.permutations(range(i.size))),
    MinVertex: lambda i: (
        np.flatnonzero(chosen)
        for chosen in itertools.product((0, 1), repeat=i.size)
        if all(chosen[u] or chosen[v] for u, v in i.array("edges").T.tolist())
    ),
    MaxCut: lambda i: map(np.array, itertools.product((0, 1), repeat=i.size)),
}


def case(cls, seed):
    """A random limited instance, and all solutions within its limits."""
    rng = np.random.default_rng([seed, *cls.name.encode()])
    drawn = cls.generate(6 if cls is TSP else 9, seed=seed)
    incumbent = cls.with_present(drawn, random_solution(cls, drawn, rng))
    most = int(rng.integers(0, 6)) if rng.random() < 0.7 else None
    instance = limited(incumbent, rng.random(drawn.size) < rng.choice([0.0, 0.2, 0.4]), most)
    within = [s for s in EVERY[cls](drawn) if not judge(cls, instance, s).refused]
    return instance, within


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cls", EVERY)
def test_the_solver_finds_the_best_within_limits(cls, seed):
    instance, within = case(cls, seed)
    answer = lagco.solve(instance, by="solver", turns=12, progress=False)
    values = [cls.evaluate_solution(instance, solution) for solution in within]
    assert answer.objective == pytest.approx(max(values) if cls.maximise else min(values))


@pytest.mark.parametrize("seed", range(30))
def test_a_city_is_valid_where_a_tour_within_the_limits_goes_on(seed):
    instance, within = case(TSP, seed)
    begun = {tuple(tour[:k].tolist()) for tour in within for k in range(1, instance.size + 1)}
    env = TSP(instance, features="paper", rewards=False)
    env.reset(seed=seed)
    while not env.is_complete():
        path = tuple(env.solution().tolist())
        expected = [(*path, city) in begun for city in range(instance.size)]
        assert env.action_mask().tolist() == expected
        env.carry_out(env.sample_valid_action(np.random.default_rng(len(path))))


def test_tours_have_fixed_edges_without_an_incumbent():
    drawn = TSP.generate(30, seed=2)
    edges = np.array([[0, 9, 4], [9, 17, 21]])
    instance = replace(drawn, arrays={**drawn.arrays, "fixed_edges": edges})
    for by in ("solver", "greedy", "random", "agent"):
        answer = lagco.solve(instance, by=by, turns=4, progress=False)
        assert not answer.faults
        assert TSP.faults(instance, answer.solution) == []
    assert TSP.faults(instance, np.arange(30)) == [
        "the edge 1-10 has to be used",
        "the edge 10-18 has to be used",
        "the edge 5-22 has to be used",
    ]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 0, 0], [1, 2, 3]], "the fixed edge 1-4 is the third at 1"),
        ([[0, 1, 2], [1, 2, 0]], "close a circle"),
        ([[4], [4]], "the fixed edge 5-5 joins a city to itself"),
    ],
)
def test_edges_that_no_tour_can_have_are_refused(edges, message):
    drawn = TSP.generate(8, seed=2)
    with pytest.raises(InstanceError, match=message):
        TSP(replace(drawn, arrays={**drawn.arrays, "fixed_edges": np.array(edges)}))


def test_edges_and_cities_are_fixed_by_name():
    drawn = TSP.generate(20, seed=4)
    tour = np.random.default_rng(0).permutation(20)
    names = [str(city + 1) for city in tour]
    fixed = [f"{names[3]}-{names[2]}", names[9]]
    answer = lagco.solve(drawn, incumbent=tour, fixed=fixed, turns=8, progress=False)
    kept = TSP.elements(answer.instance, answer.solution)
    assert kept[[2, 8, 9]].tolist() == [1, 1, 1]
    assert {change.after for change in answer.changes} == {"given up"}
    with pytest.raises(InstanceError, match="row 1: unknown edge or city '1-x'"):
        lagco.solve(drawn, incumbent=tour, fixed=["1-x"], progress=False)


def test_nodes_are_forced_in_and_out_by_a_table(tmp_path):
    drawn = MinVertex.generate(12, seed=4)
    table = tmp_path / "nodes.csv"
    table.write_text("element,value\n3,in\n7,out\n")
    for by in ("solver", "greedy", "agent"):
        answer = lagco.solve(drawn, fixed=table, by=by, turns=4, progress=False)
        assert 2 in answer.solution
        assert 6 not in answer.solution
    u, v = drawn.array("edges")[:, 0] + 1
    table.write_text(f"element,value\n{u},out\n{v},out\n")
    with pytest.raises(InstanceError, match=f"the edge {u}-{v} has both ends out"):
        lagco.solve(drawn, fixed=table, progress=False)


def test_sides_are_forced_by_a_table(tmp_path):
    table = tmp_path / "sides.csv"
    table.write_text("element,value\n1,1\n2,1\n3,0\n")
    for by in ("solver", "greedy", "agent"):
        answer = lagco.solve(
            MaxCut.generate(12, seed=4), fixed=table, by=by, turns=4, progress=False
        )
        assert answer.solution[:3].tolist() == [1, 1, 0]
        assert not answer.faults


def test_the_same_cut_by_other_names_of_the_sides_is_no_change():
    drawn = MaxCut.generate(12, seed=4)
    best = lagco.solve(drawn, by="solver", turns=20, progress=False)
    poor = best.solution.copy()
    poor[0] = 1 - poor[0]
    answer = lagco.solve(drawn, incumbent=poor, by="solver", turns=20, progress=False)
    assert len(answer.changes) == 1


def test_a_tour_may_not_begin_where_no_tour_within_the_limits_does():
    drawn = TSP.generate(8, seed=2)
    env = TSP(limited(drawn, most=0, tour=np.arange(8)))
    env.reset(options={"start": [3, 4, 5]})
    assert np.flatnonzero(env.action_mask()).tolist() == [6]
    with pytest.raises(UsageError, match="within its limits"):
        env.reset(options={"start": [3, 5, 4]})


def test_limits_of_tours_follow_events():
    drawn = TSP.generate(9, seed=2)
    fixed = np.zeros(9)
    fixed[[1, 6]] = 1
    instance = limited(drawn, fixed, tour=np.arange(9), fixed_edges=np.array([[7], [8]]))
    gone = TSP.after(instance, Event("city-gone", city="3")).instance
    assert gone.array("tour").tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert np.flatnonzero(gone.array("fixed")).tolist() == [5]  # 2-3 went with the city
    assert gone.array("fixed_edges").T.tolist() == [[6, 7]]
    x, y = gone.array("coordinates")[[5, 6]].mean(axis=0).tolist()  # on the fixed edge
    came = TSP.after(gone, Event("city", city="new", x=x, y=y)).instance
    tour = came.array("tour").tolist()
    assert sorted(tour) == list(range(9))
    assert abs(tour.index(5) - tour.index(6)) == 1
    assert TSP.faults(came, came.array("tour")) == []
    TSP(came).reset(seed=0)


def test_a_cover_in_force_stays_one_under_events():
    drawn = MinVertex.generate(10, seed=1)
    cover = random_solution(MinVertex, drawn, np.random.default_rng(0))
    instance = MinVertex.with_present(drawn, cover)
    events = MinVertex.draw_events(instance, np.random.default_rng(5))
    for _, event in itertools.islice(events, 40):
        instance = MinVertex.after(instance, event).instance
        MinVertex.evaluate_solution(instance, instance.array("cover"))
