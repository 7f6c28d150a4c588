"""Compiled loops behind observations and action sets."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from lagco.embedding.features.kernels import memory_from, place_of
from lagco.embedding.inference.row_sums import pool_columns, write_standardised
from lagco.runtime.bound_arguments import opened
from lagco.search.listed_kernels import COSINE, L2, least, least_tuples, score_rows, score_tuples
from lagco.search.products.kernels import cosines

MEAN, MAX, MIN, SUM, ROOT_SUM = range(5)
#: which nodes a part pools
ALL_OF_THEM, CHOSEN, MEETING = range(3)
#: weights of rows that all count the same
EQUAL = np.zeros(0)
#: no action is known to be invalid
ALL = np.zeros(0, dtype=np.bool_)
#: no rows in particular
NONE = np.zeros(0, dtype=np.int64)
#: tables and weights of no component, and arguments of `pool_actions` where there is no path
NOTHING = (np.zeros((0, 0), dtype=np.float32),)
NO_WEIGHTS = (EQUAL,)
NO_VALUES = (NONE,)
NO_PATH = (
    NOTHING[0],
    np.zeros((0, 0)),
    np.zeros(0, dtype=np.float32),
    np.zeros(0, dtype=np.float32),
    0,
)


#: how the vectors of a component are written
GIVEN, NODES, EDGES, ATTACHED = range(4)
NO_TABLE = NOTHING[0]
NO_EDGES = np.zeros((2, 0), dtype=np.int64)
NO_VALUES_3D = np.zeros((0, 0, 0), dtype=np.float32)
_NO_FLOATS = np.zeros(0, dtype=np.float32)
#: arguments of `write_vectors` for a component whose vectors are given: what mostly stays the same
#: from state to state, and what changes
NO_JOB = (GIVEN, NO_TABLE, NO_EDGES, NO_TABLE, NONE, _NO_FLOATS, _NO_FLOATS, NO_VALUES_3D)
NO_ROWS = (NONE, NO_TABLE, NONE)

#: types of arguments that are not bound: vectors of a component and numbers of elements; rows that
#: `write_vectors` reads, and numbers such as their weights
VECTORS, INDICES = types.Array(types.float32, 2, "C"), types.Array(types.int64, 1, "C")
ROWS, WEIGHTS = types.Tuple([INDICES, VECTORS, INDICES]), types.Array(types.float64, 1, "C")
#: and, behind the vectors, those of a search: query, metric, which actions count, how many to find
ASKED = WEIGHTS, types.int64, types.Array(types.boolean, 1, "C"), types.int64


@njit(cache=True)
def write_vectors(job, rows, out):  # type: ignore[no-untyped-def]
    """Vectors of one component, by its kind.

    Args:
        job: kind, embeddings, edges, features, columns of these, mean, factor, attached values.
        rows: elements, or owners of objects, then vectors and positions of these.
        out: written.
    """
    kind, z, edges, features, columns, mean, scale, values = job
    elements, objects, positions = rows
    if kind == NODES:
        node_vectors(z, features, columns, elements, mean, scale, out)
    elif kind == EDGES:
        edge_vectors(z, edges, features, columns, elements, mean, scale, out)
    elif kind == ATTACHED:
        attached_values(objects, values, elements, positions, mean, scale, out)


@njit(cache=True)
def read_state(arguments, vectors, rows, weights, chosen, size):  # type: ignore[no-untyped-def]
    """The vectors of all components of an action, and an observation, but for its functions.

    Args:
        arguments: bound; per component the job of `write_vectors`; arguments of `write_pooled`; of
            `pool_actions` and `write_summary`, and where the summary begins; the observation.
        vectors: of the components, written unless given.
        rows: per component those of `write_vectors`.
        weights: of `pool_actions`.
        chosen: nodes of each part that pools embeddings.
        size: number of actions.
    """
    jobs, pooled, actions, out = opened(arguments)
    for c in range(len(jobs)):
        write_vectors(jobs[c], rows[c], vectors[c])
    tables, which, counts, conditions, poolings, starts = pooled
    if which.shape[0]:
        write_pooled(tables, chosen, which, counts, conditions, poolings, starts, out)
    first, positions, found, codes, behind = actions
    if codes.shape[0]:
        pool_actions(vectors, weights, first, *positions, found)  # type: ignore[call-arg]
        write_summary(found, codes, size, out[behind:])


@njit(cache=True)
def attached_values(objects, column, owners, positions, mean, factor, out):  # type: ignore[no-untyped-def]
    """Vectors of objects (k, w), and behind them ``column[owners, positions]`` standardised."""
    known = start = objects.shape[1]
    listed = column.shape[1]
    rows = column.reshape(column.shape[0] * listed, column.shape[2])
    for i in range(owners.shape[0]):
        for c in range(known):
            out[i, c] = objects[i, c]
        row = owners[i] * listed + positions[i]
        write_standardised(out, i, start, rows, row, mean, factor, start)


@njit(cache=True)
def pool_rows(rows, weights, elements, start, out):  # type: ignore[no-untyped-def]
    """Mean, max, min and sum of `rows` (k, d) into the columns of `out` (4, ·) from `start` on.

    weights: (k,), how often each row counts, rows of weight 0 not at all; `EQUAL` for once each.
    elements: (m,) the rows that count, once each; `NONE` for all of them.
    Zeros where no row counts.
    """
    count = elements.shape[0] if elements.shape[0] else rows.shape[0]
    total = float(count)
    if weights.shape[0]:
        total = 0.0
        for i in range(count):
            total += max(weights[i], 0.0)
    stop = start + rows.shape[1]
    if total > 0.0:
        pool_columns(rows, weights, elements, count, start, out[SUM], out[MAX], out[MIN])
        for at in range(start, stop):
            out[MEAN, at] = out[SUM, at] / total
    else:
        out[:, start:stop] = 0.0


@njit(cache=True)
def pool_positions(z, counts, mean, scale, start, out):  # type: ignore[no-untyped-def]
    """`pool_rows` for every position of a path: node vectors standardised for that position.

    counts: (positions, n), how often a node counts there; mean, scale: (positions · p,).
    """
    n, width = z.shape
    rows = np.empty((n, width), dtype=np.float32)
    for t in range(counts.shape[0]):
        for i in range(n):
            write_standardised(rows, i, 0, z, i, mean, scale, t * width)
        pool_rows(rows, counts[t], NONE, start + t * width, out)


@njit(cache=True)
def _select(conditions, part, out):  # type: ignore[no-untyped-def]
    """Write to `out` (n,) the nodes that meet the conditions of a part; return how many do."""
    anchor = conditions.reshape(conditions.size).view(np.int8)
    signed, unsigned = memory_from(anchor), memory_from(anchor.view(np.uint8))
    count = 0
    for i in range(out.shape[0]):
        meets = True
        for c in range(conditions.shape[0]):
            if conditions[c, 0] == part:
                at = place_of(conditions[c, 1] + i * conditions[c, 3], anchor)
                value = np.int64(signed[at] if conditions[c, 2] else unsigned[at])
                meets = meets and value == conditions[c, 4]
        if meets:
            out[count] = i
            count += 1
    return count


@njit(cache=True)
def write_pooled(tables, chosen, which, counts, conditions, poolings, starts, out):  # type: ignore[no-untyped-def]
    """Poolings of embeddings, part by part, one pooling after the other.

    Args:
        tables: per part embeddings (≥ n, p) of its view, and `chosen` the nodes (k,) that count,
            where `which` (parts,) says so; else all of them, or those that meet its conditions.
        counts: (parts,), n of each.
        conditions: (·, 5), each of a part that counts nodes by it: an attribute's address, whether
            its bytes are signed, its stride, and the value that nodes must have.
        poolings: per part its codes, and `starts` (parts,) its first place in `out`.
    """
    found = np.empty((4, tables[0].shape[1]), dtype=np.float32)
    for part in range(len(tables)):
        rows, codes, count = tables[part][: counts[part]], poolings[part], counts[part]
        width = rows.shape[1]
        elements = chosen[part]
        if which[part] == MEETING:
            elements = np.empty(count, dtype=np.int64)
            elements = elements[: _select(conditions, part, elements)]
        if which[part] != ALL_OF_THEM:
            count = elements.shape[0]
        if count:
            pool_rows(rows, EQUAL, elements, 0, found)
        else:
            found[:] = 0.0
        root = np.float32(np.sqrt(max(count, 1)))
        for k in range(codes.shape[0]):
            at = starts[part] + k * width
            for c in range(width):
                if codes[k] == ROOT_SUM:
                    out[at + c] = found[SUM, c] / root
                else:
                    out[at + c] = found[codes[k], c]


@njit(cache=True)
def pool_actions(  # type: ignore[no-untyped-def]
    tables, weights, starts, z, counts, mean, scale, path_start, out
):
    """`pool_rows` for the tables of all components, and `pool_positions` for a path.

    Args:
        tables: per component its vectors (k, d), `weights` of the rows, and `starts` in `out`.
        counts: (positions, n) and what follows: of a path; (0, 0) without one.
        out: (4, ·), written; zeros in the columns of nothing.
    """
    out[:] = 0.0
    for t in range(len(tables)):
        pool_rows(tables[t], weights[t], NONE, starts[t], out)
    if counts.shape[0]:
        pool_positions(z, counts, mean, scale, path_start, out)


@njit(cache=True)
def write_summary(found, poolings, size, out):  # type: ignore[no-untyped-def]
    """The same from the mean, max and min (≥ 3, d) over a set of `size` vectors."""
    width = found.shape[1]
    for k in range(poolings.shape[0]):
        for c in range(width):
            if poolings[k] == SUM:
                out[k * width + c] = found[MEAN, c] * np.float32(size)
            elif poolings[k] == ROOT_SUM:
                out[k * width + c] = found[MEAN, c] * np.float32(np.sqrt(size))
            else:
                out[k * width + c] = found[poolings[k], c]


@njit(cache=True)
def standardise(arguments):  # type: ignore[no-untyped-def]
    """out = (values - mean) · factor, cut off at ± `cut`.

    arguments: bound; values, mean, factor (w,), the cut, and out (w,).
    """
    values, mean, factor, cut, out = opened(arguments)
    for c in range(values.shape[0]):
        value = (values[c] - mean[c]) * factor[c]
        out[c] = min(max(value, -cut), cut)


@njit(cache=True)
def node_vectors(z, features, columns, elements, mean, scale, out):  # type: ignore[no-untyped-def]
    """Vectors (k, p + a) of nodes: embedding and chosen rows of `features`, standardised."""
    width, extra = z.shape[1], columns.shape[0]
    for i in range(elements.shape[0]):
        node = elements[i]
        write_standardised(out, i, 0, z, node, mean, scale, 0)
        for c in range(extra):
            out[i, width + c] = (features[columns[c], node] - mean[width + c]) * scale[width + c]


@njit(cache=True)
def edge_vectors(z, edges, features, columns, elements, mean, scale, out):  # type: ignore[no-untyped-def]
    """Vectors (k, 2 p + a) of edges: both ends and chosen rows of `features`, standardised."""
    width, extra = z.shape[1], columns.shape[0]
    for i in range(elements.shape[0]):
        edge = elements[i]
        u, v = edges[0, edge], edges[1, edge]
        write_standardised(out, i, 0, z, u, mean, scale, 0)
        write_standardised(out, i, width, z, v, mean, scale, width)
        for c in range(extra):
            at = 2 * width + c
            out[i, at] = (features[columns[c], edge] - mean[at]) * scale[at]


@njit(cache=True)
def position_vectors(z, mean, scale, slots, out):  # type: ignore[no-untyped-def]
    """Node vectors standardised for each of the first `slots` positions of `out` (T, n, p)."""
    n, width = z.shape
    out[slots:] = 0.0
    for t in range(slots):
        for i in range(n):
            write_standardised(out[t], i, 0, z, i, mean, scale, t * width)


@njit(cache=True)
def admissible_counts(hops, sources, targets, limits, positions):  # type: ignore[no-untyped-def]
    """For how many demands a node may stand at a position of a path: (positions, n)."""
    nodes = hops.shape[0]
    counts = np.zeros((positions, nodes))
    for e in range(sources.shape[0]):
        for v in range(nodes):
            latest = limits[e] - hops[v, targets[e]]
            for t in range(hops[sources[e], v], min(latest + 1, positions)):
                counts[t, v] += 1.0
    return counts


@njit(cache=True)
def part_values(rows, values, order):  # type: ignore[no-untyped-def]
    """Values (k, m) of search rows (k, m), columns in the order declared.

    values: per component, in the order of the search, what its rows stand for. order: (components,)
    place of each in `values`; -1 for a path, whose nodes are the last columns of a row.
    """
    parts = np.empty_like(rows)
    at = 0
    for place in order:
        if place >= 0:
            for r in range(rows.shape[0]):
                parts[r, at] = values[place][rows[r, place]]
            at += 1
        else:
            for c in range(order.shape[0] - 1, rows.shape[1]):
                parts[:, at] = rows[:, c]
                at += 1
    return parts


@njit(cache=True)
def _scores(asked, linear, norms, metric):  # type: ignore[no-untyped-def]
    """Result of a search over actions: scores (k,), and the squared length of the query."""
    square = 0.0
    for value in asked:
        square += value * value
    if metric == COSINE:
        return cosines(linear, norms, np.sqrt(square)), square
    return (linear if metric == L2 else -linear), square


@njit(cache=True)
def nearest_parts(arguments, tables, query, metric, known, count):  # type: ignore[no-untyped-def]
    """The `count` actions of a product nearest to `query`, best first.

    Args:
        arguments: bound; starts and axes as for `score_tuples`, values and order as for
            `part_values`.
        tables: as for `score_tuples`, and `known` likewise.
        query: float64 (d,).

    Returns:
        Search rows (k, m), values (k, m), scores (k,), and whether all vectors are finite.
    """
    starts, axes, values, order = opened(arguments)
    axis_of, members, merged = axes
    scored, check = score_tuples(tables, starts, axis_of, members, merged, query, metric, known)
    rows, linear, norms, _ = least_tuples(scored, axis_of, members, merged, count)
    scores, square = _scores(query, linear, norms, metric)
    return rows, part_values(rows, values, order), scores, np.isfinite(check + square)


@njit(cache=True)
def nearest_paths(arguments, demands, tables, query, metric, known, count):  # type: ignore[no-untyped-def]
    """The same for paths, with `demands` and `tables` as for `score_rows`.

    Where paths have more positions than the query has slots nothing is asked of the rest; fewer
    leave what is asked of these out.

    Args:
        arguments: bound; the listed paths (N, 1 + T), columns of the query in the order of the
            search, values and order as for `part_values`.
    """
    listed, columns, values, order = opened(arguments)
    asked = np.zeros(demands.shape[1] + tables.shape[0] * tables.shape[2])
    for c in range(min(len(asked), len(columns))):
        asked[c] = query[columns[c]]
    linear, norms, cost, check = score_rows(listed, demands, tables, asked, metric)
    for r in range(known.shape[0]):
        if not known[r]:
            cost[r] = np.inf
    which = least(cost, count)
    rows = listed[which]
    scores, square = _scores(asked, linear[which], norms[which], metric)
    return rows, part_values(rows, values, order), scores, np.isfinite(check + square)


@njit(cache=True)
def nearest_row(table, query, metric):  # type: ignore[no-untyped-def]
    """Row of `table` (k, d) nearest to `query` (d,) and its score; the first one among equals.

    metric: a code of :data:`lagco.search.metrics.CODES`.
    """
    count, width = table.shape
    best, best_cost, best_score = -1, np.inf, 0.0
    square = 0.0
    for c in range(width):
        square += query[c] * query[c]
    for i in range(count):
        dot = norm = distance = 0.0
        for c in range(width):
            value = np.float64(table[i, c])
            asked = np.float64(query[c])
            dot += value * asked
            norm += value * value
            distance += (value - asked) * (value - asked)
        if metric == 0:
            score = cost = distance
        elif metric == 1:
            score, cost = dot, -dot
        else:
            score = dot / np.sqrt(square * norm) if square * norm > 0.0 else 0.0
            cost = -score
        if cost < best_cost:
            best, best_cost, best_score = i, cost, score
    return best, best_score
