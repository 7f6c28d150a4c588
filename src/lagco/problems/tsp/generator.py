"""Random `tsp` instances over the paper's ranges."""

from __future__ import annotations

import numpy as np

from lagco.errors import InstanceError
from lagco.instances import Instance

CITIES = (10, 100)
MAX_COORDINATE = (100, 1000)


def draw_cities(rng: np.random.Generator, size: int | None = None) -> Instance:
    """Cities uniform in a square whose side is drawn too."""
    n = int(rng.integers(CITIES[0], CITIES[1], endpoint=True)) if size is None else size
    if n < 2:
        raise InstanceError(f"tsp: size {n} is too small, a tour needs 2 cities")
    side = int(rng.integers(*MAX_COORDINATE, endpoint=True))
    return Instance(
        problem="tsp",
        name="",
        size=n,
        arrays={"coordinates": rng.uniform(0.0, side, size=(n, 2))},
        params={"metric": "euclidean", "max_coord": side},
    )
