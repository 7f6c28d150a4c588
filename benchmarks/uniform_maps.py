"""Maps of cities drawn uniformly in a square, as TSPLIB files.

    python benchmarks/uniform_maps.py FOLDER [--sizes 200,500,1000,2500] [--maps 2]

Larger than the files at hand; `benchmarks/real_instances.py FOLDER --long 30` then answers them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from lagco.store import write_atomically

SIDE = 1_000_000
SEED = 20263


def tsplib(name: str, cities: np.ndarray) -> str:
    """The file of a map."""
    lines = [f"NAME : {name}", "TYPE : TSP", f"DIMENSION : {len(cities)}"]
    lines += ["EDGE_WEIGHT_TYPE : EUC_2D", "NODE_COORD_SECTION"]
    lines += [f"{i} {x} {y}" for i, (x, y) in enumerate(cities.tolist(), start=1)]
    return "\n".join([*lines, "EOF", ""])


def main() -> None:
    """Write the maps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="200,500,1000,2500")
    parser.add_argument("--maps", type=int, default=2)
    arguments = parser.parse_args()
    folder = arguments.folder / "uniform"
    folder.mkdir(parents=True, exist_ok=True)
    for size in map(int, arguments.sizes.split(",")):
        for index in range(arguments.maps):
            name = f"uniform{size}-{index}"
            cities = np.random.default_rng([SEED, size, index]).integers(0, SIDE, (size, 2))
            write_atomically(folder / f"{name}.tsp", tsplib(name, cities).encode())


if __name__ == "__main__":
    main()
