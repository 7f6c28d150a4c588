"""The `tsp` solver reference against LKH, on random instances.

    pip install elkai && python benchmarks/solver_against_lkh.py

The package `elkai` carries LKH; it is needed here only, and is no dependency of lagco.
"""

from __future__ import annotations

import elkai
import numpy as np

from lagco.commands.generate import generate_instance
from lagco.problems.tsp.distances import distance_matrix, metric_of, tour_length
from lagco.problems.tsp.solver import solve_tour

INSTANCES, RUNS = 12, 10


def main() -> None:
    """Print the largest and the mean excess over LKH's tour, in percent, per size."""
    for size in (20, 50, 75, 100):
        excess = []
        for index in range(INSTANCES):
            instance = generate_instance("tsp", size=size, seed=7, index=index)
            metric = metric_of(instance)
            table = (1000 * distance_matrix(*metric)).round().astype(int).tolist()
            tour = elkai.DistanceMatrix(table).solve_tsp(runs=RUNS)[:-1]
            lkh = tour_length(*metric, np.array(tour))
            excess.append(100 * (solve_tour(instance, seed=0).value / lkh - 1))
        print(f"{size:4} cities: at most {max(excess):.4f} %, mean {np.mean(excess):.4f} %")


if __name__ == "__main__":
    main()
