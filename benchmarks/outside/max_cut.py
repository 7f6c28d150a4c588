"""`max-cut`: D-Wave's samplers on graphs with weights -1 and 1 as in Gset, and on its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outside.cases import SEED, WARM, Case, Comparison
from benchmarks.outside.measuring import as_numbers
from lagco.instances import Instance
from lagco.instances.formats import read

#: rows and columns of the tori, and how many there are
TORI = {(20, 40): 2, (40, 50): 1, (50, 60): 1}
#: nodes of the random graphs, and their mean degree (G27 to G31 have 20)
RANDOM, DEGREE, GRAPHS = 2000, 20, 1
#: nodes up to which tabu search is asked
LARGEST = 800
#: files of Gset
FILES = ("G1", "G14")


def cases(folder: Path | None) -> Iterator[Case]:
    """Tori, random graphs, files."""
    for shape, graphs in TORI.items():
        for index in range(graphs):
            yield _case(f"torus, {np.prod(shape)}", str(index), torus(shape, SEED, index))
    for index in range(GRAPHS):
        yield _case(f"random, {RANDOM}", str(index), scattered(index))
    for name in FILES if folder else ():
        yield _case(f"{name}, 800", name, read(folder / "gset" / name, "max-cut"))


def torus(shape: tuple[int, int], seed: int, index: int) -> Instance:
    """A grid that is closed in both directions."""
    nodes = np.arange(np.prod(shape)).reshape(shape)
    right, down = np.roll(nodes, -1, axis=1), np.roll(nodes, -1, axis=0)
    ends = np.tile(nodes.ravel(), 2), np.concatenate([right.ravel(), down.ravel()])
    return _signed(np.stack(ends), nodes.size, [seed, nodes.size, index])


def scattered(index: int) -> Instance:
    """A graph whose edges are drawn uniformly."""
    seed = [SEED, RANDOM, DEGREE, index]
    u, v = np.triu_indices(RANDOM, k=1)
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(len(u), RANDOM * DEGREE // 2, replace=False))
    return _signed(np.stack([u[drawn], v[drawn]]), RANDOM, [*seed, 1])


def _signed(edges: np.ndarray, nodes: int, seed: list[int]) -> Instance:
    """With weights of -1 and 1."""
    weights = np.random.default_rng(seed).choice([-1.0, 1.0], edges.shape[1])
    edges = np.sort(edges, axis=0).astype(np.int32)
    arrays = {"edges": edges, "weights": weights}
    return Instance(problem="max-cut", name="", size=nodes, arrays=arrays, params={})


def _case(group: str, name: str, instance: Instance) -> Case:
    arrays = {key: instance.array(key) for key in ("edges", "weights")}
    skipped = ("D-Wave tabu",) if instance.size > LARGEST else ()
    return Case(group, name, instance, as_numbers(nodes=instance.size, **arrays), skipped)


COMPARISON = Comparison(
    problem="max-cut",
    script="max_cut.py",
    limited=("D-Wave tabu", "D-Wave annealing"),
    whole=(),
    cases=cases,
    warm=lambda: torus(min(TORI), WARM, 0),
)
