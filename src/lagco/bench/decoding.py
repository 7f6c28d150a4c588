"""Build and query times of the search and of a flat FAISS index, in one run on one thread.

Embeddings change at every step, so a flat index has to be filled anew for every query: its build
is gathering the actions' vectors (from index rows that are given) and adding them. Ours has no
build; making the space counts in its time. Both ask the same validity predicates lazily.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagco.bench.flat_index import FlatIndex, flat_bytes
from lagco.bench.timing import median_us, timed
from lagco.errors import UnknownName, UsageError, suggest
from lagco.search import metrics as scoring
from lagco.search.metrics import METRICS, Floats, Ints
from lagco.search.paths.graph_paths import PathSet
from lagco.search.paths.search import PathSpace
from lagco.search.products.search import ProductSpace
from lagco.search.validity import Predicate

STRUCTURES = ("pairs", "triples", "paths")
VALIDITIES = ("all", "random", "blocks")
SIZES: dict[str, tuple[int, ...]] = {
    "pairs": tuple(10**e for e in range(2, 9)),
    "triples": (*(10**e for e in range(2, 10)), 10**12),
    "paths": tuple(10**e for e in range(2, 9)),
}
_BLOCKS = 8
_CHECKED = 10**8  # largest set that is checked against all actions, in chunks


@dataclass(frozen=True)
class Case:
    """One set of actions: how to make its space, its size, and its index rows in chunks."""

    structure: str
    actions: int
    make: Callable[[], ProductSpace | PathSpace]
    rows: Callable[[], Iterator[Ints]]
    width: int


def bench_decode(
    structures: Sequence[str] = STRUCTURES,
    actions: Sequence[int] | None = None,
    metrics: Sequence[str] = scoring.METRICS,
    validities: Sequence[str] = VALIDITIES,
    *,
    dimension: int = 16,
    repeats: int = 7,
    seconds: float = 1.0,
    flat_gb: float = 3.0,
    check: bool = True,
    seed: int = 42,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """One record per case: structure, actions, metric, validity, ours_us, flat_build_us,
    flat_query_us (null where the index does not fit in memory) and agree.

    actions: sizes to run, all of `SIZES` by default. dimension: width of a component's vectors.
    repeats, seconds: queries per case, fewer once their time exceeds `seconds`. flat_gb: memory
    a flat index may take. check: compare with all actions, up to 10^8, where FAISS does not fit.
    report: called with every record as it comes.

    agree: our answer is the flat index's, or as good to single precision; without one, no valid
    action is better by a scan of all actions; null where neither was done.
    """
    for kind, names, known in (
        ("structure", structures, STRUCTURES),
        ("metric", metrics, METRICS),
        ("validity", validities, VALIDITIES),
    ):
        for name in names:
            if name not in known:
                raise UnknownName(suggest(kind, name, known))
    if repeats < 1:
        raise UsageError(f"repeats={repeats}: at least 1")
    records = []
    for structure in structures:
        for size in SIZES[structure] if actions is None else actions:
            case = make_case(structure, size, dimension, seed)
            for metric in metrics:
                for validity in validities:
                    record = _measure(
                        case, metric, validity, repeats, seconds, flat_gb, check, seed
                    )
                    records.append(record)
                    if report is not None:
                        report(record)
    return records


def make_case(structure: str, size: int, dimension: int, seed: int) -> Case:
    """A random set of about `size` actions."""
    rng = np.random.default_rng([seed, size, STRUCTURES.index(structure)])
    if structure == "paths":
        return _path_case(size, dimension, rng)
    m = 2 if structure == "pairs" else 3
    n = round(size ** (1 / m))
    tables = [rng.standard_normal((n, dimension)).astype(np.float32) for _ in range(m)]
    space = ProductSpace(tables)
    return Case(structure, n**m, lambda: ProductSpace(tables), space.chunks, m * dimension)


# Nodes, neighbours a node, most hops: graphs on which demands add up to about that many paths.
_GRAPHS = {
    2: (8, 3, 3),
    3: (12, 3, 4),
    4: (20, 4, 5),
    5: (30, 4, 6),
    6: (40, 5, 7),
    7: (60, 5, 8),
    8: (80, 6, 9),
}


def _path_case(size: int, dimension: int, rng: np.random.Generator) -> Case:
    nodes, degree, hops = _GRAPHS[min(max(round(math.log10(size)), 2), 8)]
    heads = np.concatenate([rng.choice(nodes - 1, degree, replace=False) + 1 for _ in range(nodes)])
    tails = np.repeat(np.arange(nodes), degree)
    edges = np.stack([tails, (tails + heads) % nodes])
    pairs = rng.permutation([(s, t) for s in range(nodes) for t in range(nodes) if s != t])
    some = PathSet(edges, nodes, hops, pairs[:20, 0], pairs[:20, 1])
    per_demand = max(some.count() / len(some.sources), 1.0)
    pairs = pairs[: max(1, round(size / per_demand))]
    paths = PathSet(edges, nodes, hops, pairs[:, 0], pairs[:, 1])
    demands = rng.standard_normal((len(pairs), dimension)).astype(np.float32)
    tables = rng.standard_normal((nodes, dimension)).astype(np.float32)
    width = dimension * (paths.positions + 1)
    return Case(
        "paths", paths.count(), lambda: PathSpace(paths, tables, demands), paths.chunks, width
    )


def _half_at_random(indices: Ints) -> NDArray[np.bool_]:
    """A hash of the index tuple: about half of the actions, without order."""
    mixed = indices[:, 0].astype(np.uint64)
    for c in range(1, indices.shape[1]):
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed += indices[:, c].astype(np.uint64)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(63)).astype(np.bool_)


def _half_in_blocks(space: ProductSpace | PathSpace, query: Floats, metric: str) -> Predicate:
    """A chequerboard over ranges of each component's elements by nearness to the query.

    The block that holds the nearest action, and all near ones, is invalid: the worst case for
    walking in order. For paths: ranges of the demand and of the second node.
    """
    if isinstance(space, ProductSpace):
        parts = np.split(query, len(space.tables))
        blocks = [_blocks(t, q, metric) for t, q in zip(space.tables, parts, strict=True)]
        columns = range(len(blocks))
    else:
        width = space.node_width
        assert space.demand_table is not None
        blocks = [
            _blocks(space.demand_table, query[:width], metric),
            np.append(_blocks(space.tables, query[2 * width : 3 * width], metric), 0),
        ]
        columns = range(0, 3, 2)

    def valid(indices: Ints) -> NDArray[np.bool_]:
        total = blocks[0][indices[:, 0]]
        for block, column in zip(blocks[1:], columns[1:], strict=True):
            total = total + block[indices[:, column]]
        odd: NDArray[np.bool_] = total % 2 == 1
        return odd

    return valid


def _blocks(table: NDArray[Any], query: Floats, metric: str) -> NDArray[np.int8]:
    linear, norms = scoring.score_table(table, np.ascontiguousarray(query), metric)
    order = np.argsort(scoring.costs(linear, norms, metric), kind="stable")
    block = np.empty(len(order), np.int8)
    block[order] = np.arange(len(order)) * _BLOCKS // len(order)
    return block


def _measure(
    case: Case,
    metric: str,
    validity: str,
    repeats: int,
    seconds: float,
    flat_gb: float,
    check: bool,
    seed: int,
) -> dict[str, Any]:
    rng = np.random.default_rng([seed, case.actions])
    queries = rng.standard_normal((repeats, case.width))
    space: Any = case.make()
    tests: list[Predicate | None] = []
    for query in queries:
        if validity == "blocks":
            tests.append(_half_in_blocks(space, query, metric))
        else:
            tests.append(_half_at_random if validity == "random" else None)

    def ours(q: int) -> Any:
        return case.make().nearest(queries[q], 1, metric, tests[q])  # type: ignore[arg-type]

    ours(0)  # compiles
    answers, times = timed(ours, repeats, seconds)
    build_us = query_us = None
    agree: bool | None = None
    if flat_bytes(case.actions, case.width) <= flat_gb * 1e9:
        rows = np.concatenate(list(case.rows()))
        index, builds = timed(lambda q: FlatIndex(space, rows, metric), repeats, seconds)
        flat = index[-1]
        found, asked = timed(lambda q: flat.nearest(queries[q], tests[q]), len(answers), seconds)
        build_us, query_us = round(median_us(builds), 1), round(median_us(asked), 1)
        agree = all(
            flat.as_good(queries[q], answers[q].indices[0], other) for q, other in enumerate(found)
        )
    elif check and case.actions <= _CHECKED:
        agree = _nothing_better(space, queries[0], metric, tests[0], answers[0], case.rows)
    return {
        "structure": case.structure,
        "actions": case.actions,
        "metric": metric,
        "validity": validity,
        "ours_us": round(median_us(times), 1),
        "flat_build_us": build_us,
        "flat_query_us": query_us,
        "agree": agree,
    }


def _nothing_better(
    space: Any,
    query: Floats,
    metric: str,
    valid: Predicate | None,
    answer: scoring.Neighbours,
    rows: Callable[[], Iterator[Ints]],
) -> bool:
    """Whether the answer is valid and no valid action is better, by scoring every action."""
    if valid is not None and not valid(answer.indices)[0]:
        return False
    own = answer.scores[0]
    square = float(query @ query)
    scored = space._score(query, square, metric)
    for part in rows():
        if isinstance(space, PathSpace):
            linear, norms = scored.batch(part)[1:]
        else:
            linear = sum(scored.linear[c][part[:, c]] for c in range(part.shape[1]))
            norms = sum(scored.norms[c][part[:, c]] for c in range(part.shape[1]))
        value = scoring.scores(linear, norms, metric, square)
        better = value < own if metric == "l2" else value > own
        if better.any() and (valid is None or valid(part[better]).any()):
            return False
    return True
