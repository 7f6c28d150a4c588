"""Nearest (…, connected subgraph) action, without listing the subgraphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from lagco.search import metrics
from lagco.search.errors import TooManyActions
from lagco.search.metrics import Batch, Floats, Ints, Metric, Neighbours
from lagco.search.plan import Plan
from lagco.search.search import none_valid, walk
from lagco.search.subgraphs.connected import SubgraphSet, subgraph_kernels
from lagco.search.validity import Predicate, ask

#: poolings whose values can be bounded while a subgraph grows, by their codes in compiled loops
SubgraphPooling = Literal["sum", "mean", "root-sum", "max", "min"]
POOLINGS: tuple[str, ...] = get_args(SubgraphPooling)

LISTED = 4096  # so few actions are listed once and scored all together
WALK = 4096  # subgraphs tested in order of cost, before all that are no worse than the k-th
WORK = 20_000_000  # most subgraphs that one search looks at
LEADING_CAP = 100_000  # most combinations of the components before the subgraph
_CHUNK = 32_768
_SLACK = 1e-10  # covers rounding in bounds; exact costs decide afterwards


class SubgraphSpace:
    """Actions (leading components ..., connected subgraph), the nodes' vectors pooled.

    subgraphs: which there are. node_vectors: (n, d). pooling: of the chosen nodes' vectors.
    offset: (d,), added to what is pooled. leading: index rows (L, m) and vectors (L, d_l) of all
    combinations of the components before the subgraph.

    Index rows: (leading indices ..., v_0, ..., v_{k-1}), ascending and padded with n. Vector:
    leading vector, pooled vector plus offset.

    The search grows subgraphs node by node and leaves those that cannot grow into one as good as
    the k-th found. Where bounds are loose (Max, Min, many columns) it may look at many of them;
    beyond `WORK` it raises `TooManyActions`.
    """

    def __init__(
        self,
        subgraphs: SubgraphSet,
        node_vectors: ArrayLike,
        pooling: SubgraphPooling = "mean",
        offset: ArrayLike | None = None,
        leading: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        if pooling not in POOLINGS:
            raise ValueError(f"unknown pooling {pooling!r}: one of {', '.join(POOLINGS)}")
        self.subgraphs = subgraphs
        self.table = metrics.as_table(np.asarray(node_vectors, np.float64), "node vectors")
        if len(self.table) != subgraphs.nodes:
            raise ValueError(
                f"node vectors must have shape ({subgraphs.nodes}, d), not {self.table.shape}"
            )
        self.pooling = pooling
        self.offset = np.zeros(self.table.shape[1])
        if offset is not None:
            self.offset = np.ascontiguousarray(offset, np.float64)
        rows, vectors = (
            (np.zeros((1, 0), np.int64), np.zeros((1, 0))) if leading is None else leading
        )
        self.leading_rows = np.asarray(rows, np.int64)
        self.leading_table = metrics.as_table(np.asarray(vectors, np.float64), "leading vectors")
        if len(self.leading_table) > LEADING_CAP:
            raise TooManyActions(
                f"the components beside the subgraph have more than {LEADING_CAP} combinations"
            )
        self.columns = self.leading_rows.shape[1] + subgraphs.max_size
        self.width = self.leading_table.shape[1] + self.table.shape[1]

    def vectors(self, indices: ArrayLike) -> Floats:
        """Vectors (k, width) of index rows (k, m)."""
        rows = np.asarray(indices, np.int64)
        lead = self.leading_rows.shape[1]
        code = POOLINGS.index(self.pooling)
        pooled = self.subgraphs.vectors_of(self.table, self.offset, rows[:, lead:], code)
        if not lead:
            return pooled
        places = {row: place for place, row in enumerate(map(tuple, self.leading_rows.tolist()))}
        which = [places[row] for row in map(tuple, rows[:, :lead].tolist())]
        return np.concatenate([self.leading_table[which], pooled], axis=1)

    def list(self, cap: int = 2_000_000) -> Ints:
        """All index rows (N, m) in lexicographic order, or `TooManyActions`."""
        rows = self.subgraphs.list(cap)
        lead = self.leading_rows
        if len(rows) * len(lead) > cap:
            raise TooManyActions(f"there are more than {cap} actions, the cap for listing")
        return np.column_stack([np.repeat(lead, len(rows), axis=0), np.tile(rows, (len(lead), 1))])

    def sample(self, rng: np.random.Generator, count: int = 1) -> Ints:
        """`count` index rows drawn at random, see :meth:`SubgraphSet.sample`: (count, m)."""
        if not len(self.leading_rows):
            raise none_valid(0)
        rows = self.subgraphs.sample(rng, count)
        return np.column_stack(
            [self.leading_rows[rng.integers(0, len(self.leading_rows), count)], rows]
        )

    @cached_property
    def listed(self) -> Ints | None:
        """All rows of subgraphs where there are few actions, else None."""
        return self.subgraphs.listed(LISTED // max(len(self.leading_rows), 1))

    @cached_property
    def _listed_vectors(self) -> Floats:
        assert self.listed is not None
        code = POOLINGS.index(self.pooling)
        return self.subgraphs.vectors_of(self.table, self.offset, self.listed, code)

    def plan(self, metric: Metric = "cosine") -> Plan:
        """How :meth:`nearest` searches."""
        metrics.check_metric(metric)
        if self.listed is not None:
            count = len(self.listed) * len(self.leading_rows)
            return Plan("listed", count, f"at most {LISTED} actions: listed once, scored together")
        return Plan(
            "subgraph",
            None,
            "connected sets grow node by node, and those that cannot become near are left "
            f"(cap {WORK} sets)",
        )

    def nearest(
        self,
        query: ArrayLike,
        k: int = 1,
        metric: Metric = "cosine",
        valid: Predicate | None = None,
    ) -> Neighbours:
        """The k nearest valid actions to `query` (width,), best first.

        valid: None, or a predicate over index rows (k, m) -> (k,) bool, asked late. Raises
        `NoValidAction`; returns fewer than k where fewer are valid.
        """
        metrics.check_metric(metric)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        vector, square = metrics.as_query(query, self.width)
        search = _Search(self, vector, square, metric)
        if self.listed is not None:
            found, _ = walk(
                search.listed_order(self.listed, self._listed_vectors), k, valid, math.inf
            )
        else:
            found, walked = walk(search.order, k, valid, WALK)
            if walked is not None and valid is not None:
                found = search.sweep(k, valid)
        if not len(found.linear):
            raise none_valid(math.inf)
        return metrics.neighbours(found, metric, square)


class _Search:
    """The actions of a space seen from one query."""

    def __init__(self, space: SubgraphSpace, query: Floats, square: float, metric: str) -> None:
        self.space, self.metric = space, metric
        cut = space.leading_table.shape[1]
        self.lead_linear, self.lead_norms = metrics.score_table(
            space.leading_table, query[:cut], metric, "leading vectors"
        )
        self.query = query[cut:]
        #: whether all actions cost the same, so that their order is that of their rows
        self.alike = square == 0.0 and metric != "l2"
        lead = self.lead_linear, self.lead_norms
        ends = (lead[0].min(initial=np.inf), lead[1].min(initial=np.inf), lead[1].max(initial=0.0))
        dots = -metrics.score_table(space.table, self.query, "inner", "node vectors")[0]
        loops = subgraph_kernels()
        self.asked = loops.Asked(
            np.column_stack([space.table, dots]),
            space.offset,
            self.query,
            tuple(map(float, ends)),
            square * (1 + 1e-9),
            POOLINGS.index(space.pooling),
            metrics.CODES[metric],
        )
        reach = np.abs(space.table).sum(axis=1).max(initial=0.0) * space.subgraphs.max_size
        reach += np.abs(space.offset).sum()
        self.slack = _SLACK * (square + (0.0 if metric == "cosine" else float(reach) ** 2))

    def order(self, count: int) -> tuple[Batch, Floats]:
        """The `count` best actions by (cost, index row), in order, with their costs."""
        return self._best(count, None)

    def sweep(self, k: int, valid: Predicate) -> Batch:
        """The k best valid ones; asks about every action that is no worse than the k-th so far."""
        return self._best(k, valid)[0]

    def _best(self, count: int, valid: Predicate | None) -> tuple[Batch, Floats]:
        space, loops = self.space, subgraph_kernels()
        state = space.subgraphs.walk(self._roots(), self.asked.nodes.shape[1])
        kept, cost = metrics.join([], space.columns), np.zeros(0)
        limit, written = math.inf, 1
        room = max(1, _CHUNK // max(len(space.leading_rows), 1))
        size = min(max(32, count), room)
        while written:
            rows = np.empty((size, space.subgraphs.max_size), np.int64)
            linear, norms = np.empty((2, size))
            written = loops.advance(
                space.subgraphs.network, self.asked, state, limit + self.slack, WORK,
                rows, linear, norms,
            )  # fmt: skip
            batch = self._with_leading(rows[:written], linear[:written], norms[:written])
            costs = metrics.costs(batch.linear, batch.norms, self.metric)
            batch = metrics.take(batch, costs <= limit)
            if valid is not None and len(batch.linear):
                batch = metrics.take(batch, ask(valid, batch.indices))
            kept, cost = metrics.best(
                metrics.join([kept, batch], space.columns), self.metric, count
            )
            limit = float(cost[-1]) if len(cost) >= count else math.inf
            if (
                self.alike
                and len(cost) >= count
                and self._first(kept.indices[-1], state.at[loops.RANK])
            ):
                break
            size = min(2 * size, room)
        if written == 0 and state.at[loops.VISITED] >= WORK:
            raise TooManyActions(
                f"the search among connected subgraphs looked at {WORK}, its cap, and is not "
                "through; lower max_size=, or use fewer attributes, Mean or Sum"
            )
        return kept, cost

    def _first(self, row: Ints, root: int) -> bool:
        """Whether no action that is found later stands before `row`, where all cost the same."""
        lead = self.space.leading_rows
        cut = lead.shape[1]
        return bool(np.array_equal(row[:cut], lead[0]) and row[cut] < root)

    def _roots(self) -> Ints:
        """All nodes, those first that are good by themselves, so that the limit sinks early."""
        if self.alike:
            return np.arange(self.space.subgraphs.nodes)
        single = self.space.table + self.space.offset
        linear, norms = metrics.score_table(single, self.query, self.metric, "node vectors")
        return np.argsort(metrics.costs(linear, norms, self.metric), kind="stable")

    def listed_order(self, rows: Ints, vectors: Floats) -> Callable[[int], tuple[Batch, Floats]]:
        """The same over all subgraphs, listed with their vectors."""
        linear, norms = metrics.score_table(vectors, self.query, self.metric, "node vectors")
        everything = self._with_leading(rows, linear, norms)
        return lambda count: metrics.best(everything, self.metric, count)

    def _with_leading(self, rows: Ints, linear: Floats, norms: Floats) -> Batch:
        """Every combination of the other components with each of these subgraphs."""
        lead, many = self.space.leading_rows, len(rows)
        if lead.shape == (1, 0):
            return Batch(rows, linear, norms)
        first, which = np.repeat(np.arange(len(lead)), many), np.tile(np.arange(many), len(lead))
        return Batch(
            np.column_stack([lead[first], rows[which]]),
            self.lead_linear[first] + linear[which],
            self.lead_norms[first] + norms[which],
        )
