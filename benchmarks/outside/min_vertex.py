"""`min-vertex`: KaMIS and CP-SAT on random graphs, sparse and dense."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outside.cases import SEED, WARM, Case, Comparison
from benchmarks.outside.measuring import as_numbers
from lagco.commands.generate import generate_instance
from lagco.instances import Instance

#: nodes of the sparse graphs and how many there are, and their mean degree
SPARSE, DEGREE = {500: 2, 1000: 1, 2000: 1}, 10
#: nodes of the graph of the paper's densities
DENSE = 500
#: nodes up to which CP-SAT is asked
LARGEST = 500


def cases(folder: Path | None) -> Iterator[Case]:
    """Sparse graphs, then a dense one."""
    for n, graphs in SPARSE.items():
        for index in range(graphs):
            yield _case(f"mean degree {DEGREE}, {n}", index, sparse(n, SEED, index))
    instance = generate_instance("min-vertex", size=DENSE, seed=SEED)
    yield _case(f"density 0.1 to 0.4, {DENSE}", 0, instance)


def sparse(n: int, seed: int, index: int) -> Instance:
    """A graph whose edges are drawn uniformly."""
    rng = np.random.default_rng([seed, n, index])
    u, v = np.triu_indices(n, k=1)
    drawn = np.sort(rng.choice(len(u), n * DEGREE // 2, replace=False))
    edges = np.stack([u[drawn], v[drawn]]).astype(np.int32)
    return Instance(problem="min-vertex", name="", size=n, arrays={"edges": edges}, params={})


def _case(group: str, index: int, instance: Instance) -> Case:
    given = as_numbers(nodes=instance.size, edges=instance.array("edges"))
    skipped = ("CP-SAT",) if instance.size > LARGEST else ()
    return Case(group, str(index), instance, given, skipped)


COMPARISON = Comparison(
    problem="min-vertex",
    script="min_vertex.py",
    limited=("KaMIS redumis", "KaMIS online_mis", "CP-SAT"),
    whole=(),
    cases=cases,
    warm=lambda: sparse(min(SPARSE), WARM, 0),
)
