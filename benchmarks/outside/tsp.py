"""`tsp`: LKH, fast-tsp and OR-Tools on uniform and on clustered maps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outside.cases import SEED, WARM, Case, Comparison
from lagco.commands.generate import generate_instance
from lagco.instances import Instance

#: cities, and maps of so many
SIZES = {200: 2, 500: 2, 1000: 2, 2000: 1}
#: cities up to which some are asked
LARGEST = {"OR-Tools": 500, "LKH": 1000}
#: cities of the clustered maps, and the spread of a cluster in parts of the square
CLUSTERED, CLUSTERS, SPREAD = 1000, 10, 0.03


def cases(folder: Path | None) -> Iterator[Case]:
    """Uniform maps of several sizes, then clustered ones."""
    for n, maps in SIZES.items():
        for index in range(maps):
            instance = generate_instance("tsp", size=n, seed=SEED, index=index)
            yield _case(f"uniform, {n}", index, instance)
    yield _case(f"clustered, {CLUSTERED}", 0, clustered(0))


def clustered(index: int) -> Instance:
    """Cities around a few centres, a kind of map that no search of ours was chosen on."""
    rng = np.random.default_rng([SEED, index])
    centres = rng.uniform(0.0, 1.0, (CLUSTERS, 2))[rng.integers(CLUSTERS, size=CLUSTERED)]
    coordinates = 1000.0 * (centres + SPREAD * rng.standard_normal((CLUSTERED, 2)))
    return Instance(
        problem="tsp",
        name="",
        size=CLUSTERED,
        arrays={"coordinates": coordinates},
        params={"metric": "euclidean"},
    )


def _case(group: str, index: int, instance: Instance) -> Case:
    skipped = tuple(who for who, largest in LARGEST.items() if instance.size > largest)
    given = {"coordinates": instance.array("coordinates")}
    return Case(group, str(index), instance, given, skipped)


COMPARISON = Comparison(
    problem="tsp",
    script="tsp.py",
    limited=("fast-tsp", "OR-Tools"),
    whole=("LKH",),
    cases=cases,
    warm=lambda: generate_instance("tsp", size=300, seed=WARM),
)
