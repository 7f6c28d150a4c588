"""Tours of many cities that are there at once."""

import numpy as np

from lagco.problems.tsp.curve import along_curve
from lagco.problems.tsp.distances import RULES, neighbour_lists, tour_length
from lagco.problems.tsp.kernels import FEW_LEFT, farthest_completion
from lagco.problems.tsp.solver import FEW, complete_nearest


def test_a_curve_goes_through_every_cell_of_a_grid_in_single_steps():
    grid = np.array([(x, y) for x in range(8) for y in range(8)], dtype=np.float64)
    visited = grid[along_curve(grid)]
    assert (np.abs(np.diff(visited, axis=0)).sum(axis=1) == 1).all()


def test_a_curve_takes_cities_at_one_place_in_their_order():
    assert along_curve(np.zeros((5, 2))).tolist() == [0, 1, 2, 3, 4]


def test_the_nearest_tour_of_many_cities_visits_each_once_and_is_short():
    n = FEW + 2000
    metric = RULES.index("euclidean"), np.random.default_rng(0).random((n, 2)), np.zeros((0, 0))
    path = np.array([7, 3, 9_999])
    tour = complete_nearest(metric, neighbour_lists(metric, 5), path)
    assert tour[:3].tolist() == path.tolist()
    assert sorted(tour.tolist()) == list(range(n))
    assert tour_length(*metric, tour) < 1.4 * 0.7124 * np.sqrt(n)  # about 1.3


def test_a_completion_of_many_cities_ends_when_it_is_asked_to():
    for n, ends in ((FEW_LEFT + 5, True), (50, False)):
        place = np.random.default_rng(1).random((n, 2))
        state = RULES.index("euclidean"), place, np.zeros((0, 0)), 0, 0, np.zeros(n, dtype=np.int8)
        assert (farthest_completion(*state, np.ones(1, dtype=np.uint8)) == 0.0) == ends
