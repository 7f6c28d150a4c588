"""Candidates as a ranker sees them: the problem's own features, or vectors, previews and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import HINTS, CandidateFeatures, Columns
from lagco.core.changes.observing import BUDGET, COLUMNS, budget_columns
from lagco.core.env import ContinuousEnv, Previews
from lagco.core.problem import Problem
from lagco.errors import UsageError, suggest
from lagco.heuristics.hints import hint_columns, hint_features, suggested_actions
from lagco.latent.space import LatentView
from lagco.search import Neighbours

#: columns that every candidate has
SHARED = Columns(
    score_behind="score of the nearest candidate less its own, on a logarithmic scale",
    score_rank="rank by score, as a share",
)
#: numbers of vectors that differ by less on average are the same
_SAME = np.float32(1e-6)
#: (candidates (k, f), pairs (k, k, g) or None) -> logits (k,)
CandidateLogits: TypeAlias = Callable[[Array, Array | None], Array]


class SeenColumns(NamedTuple):
    """Names of the columns that a ranker sees of candidates, and of pairs of them, in order."""

    each: tuple[str, ...]
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, problem: type[ContinuousEnv], features: str = "full") -> SeenColumns | None:
        """All columns of a problem with a feature set; None of one that does not name them."""
        if problem.candidate_columns is None:
            return None
        pairs = problem.pair_columns.names if problem.pair_columns is not None else ()
        more = COLUMNS.names if features == BUDGET else ()
        own = problem.candidate_columns.names
        return cls(SHARED.names + own + more + hint_columns(problem), pairs)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> SeenColumns | None:
        """The inverse of :meth:`facts`; None of an agent that did not record them."""
        if "candidate_columns" not in facts:
            return None
        return cls(tuple(facts["candidate_columns"]), tuple(facts["pair_columns"]))

    def facts(self) -> dict[str, list[str]]:
        """As an agent records them."""
        return {"candidate_columns": list(self.each), "pair_columns": list(self.pairs)}

    def described(self, problem: type[ContinuousEnv]) -> dict[str, dict[str, str]]:
        """By name what each column says, of candidates and of pairs."""
        each, pairs = problem.candidate_columns, problem.pair_columns
        known = SHARED.meanings | (each.meanings if each else {}) | COLUMNS.meanings
        for hint in problem.hints:
            known = known | HINTS[hint].meanings
        found = {"candidates": {name: known.get(name, "") for name in self.each}}
        if self.pairs and pairs is not None:
            meanings = pairs.meanings
            found["pairs of candidates"] = {name: meanings.get(name, "") for name in self.pairs}
        return found

    def without(self, names: Sequence[str]) -> SeenColumns:
        """The same without these; a pair's column is named ``pair.NAME``."""
        known = [*self.each, *(f"pair.{name}" for name in self.pairs)]
        for name in names:
            if name not in known:
                raise UsageError(f"drop_columns: {suggest('column of candidates', name, known)}")
        each = tuple(name for name in self.each if name not in names)
        if not each:
            raise UsageError("drop_columns: names all columns; leave at least one")
        return SeenColumns(each, tuple(n for n in self.pairs if f"pair.{n}" not in names))

    def picked(self, features: CandidateFeatures, wanted: SeenColumns) -> CandidateFeatures:
        """Those columns of features that have all of these."""
        if wanted == self:
            return features
        each = features.each.take(_places(self.each, wanted.each), axis=1)
        pairs = None
        if features.pairs is not None and wanted.pairs:
            pairs = features.pairs.take(_places(self.pairs, wanted.pairs), axis=2)
        return CandidateFeatures(each, pairs)


def feature_set_of(env: ContinuousEnv) -> str:
    """Feature set of an environment; those that are no problem of lagco's have one alone."""
    return env.feature_set if isinstance(env, Problem) else "full"


@cache
def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> Array:
    """Where names are among others."""
    return np.array([names.index(name) for name in wanted], dtype=np.intp)


def ranker_on(
    ranker: CandidateLogits,
    problem: type[ContinuousEnv],
    wanted: SeenColumns | None,
    features: str = "full",
) -> CandidateLogits:
    """A ranker that was trained on some columns, as one that is given all of a problem's.

    Raises:
        UsageError: the problem does not have a column that the ranker was trained on.
    """
    offered = SeenColumns.of(problem, features)
    if wanted is None or offered == wanted:
        return ranker
    all_columns = offered or SeenColumns(SHARED.names, ())
    missing = [name for name in wanted.each if name not in all_columns.each]
    missing += [f"pair.{name}" for name in wanted.pairs if name not in all_columns.pairs]
    if missing:
        raise UsageError(
            "the ranker of this agent was trained on columns of candidates that "
            f"{problem.__name__} does not have: {', '.join(missing)}; train it again, or decide "
            "with decoder='nearest'"
        )
    return lambda each, pairs: ranker(*all_columns.picked(CandidateFeatures(each, pairs), wanted))


def with_suggestions(view: LatentView, proto: Array, found: Neighbours) -> Neighbours:
    """Actions that a search by inner product found, and behind them those the problem suggests.

    These are what ``env.suggested_actions()`` returns, or else those of its hints.
    """
    given = suggested_actions(view.env)
    if given is None or not len(given):
        return found
    actions = view.actions()
    known = set(map(tuple, found.indices.tolist()))
    rows = actions.rows(view.env.parts_from_actions(np.asarray(given)))
    rows = rows[[tuple(row) not in known for row in rows.tolist()]]
    scores = actions.vectors(rows) @ proto
    order = np.argsort(-scores, kind="stable")
    return Neighbours(
        np.concatenate([found.indices, rows[order].astype(found.indices.dtype)]),
        np.concatenate([found.scores, scores[order].astype(found.scores.dtype)]),
    )


def candidate_features(
    view: LatentView, found: Neighbours, observation: Array | None
) -> CandidateFeatures:
    """Features of the actions that a search found, best first.

    The first columns are `SHARED`. Then follows what ``env.candidate_features(actions)`` says,
    where the environment defines it, otherwise the action vectors; the columns of its hints come
    last. Where it has hints, vectors count relative to those of the other candidates; where it has
    neither hints nor features of its own, preview and observation follow. With the feature set
    `budget` what is left of a budget comes in addition.
    """
    env, raw = view.env, view.raw(found.indices)
    count = len(raw)
    shared = np.empty((count, len(SHARED)), dtype=np.float32)
    shared[:, 0] = np.arcsinh(found.scores[0] - found.scores)
    shared[:, 1] = np.arange(count) / max(count, 1)
    given, hints = env.candidate_features(raw), env.hints
    more = []
    if isinstance(env, Problem) and feature_set_of(env) == BUDGET:
        more = [budget_columns(env, raw)]
    hinted = [hint_features(env, raw, hints)] if hints else []
    if given is not None:
        each = np.concatenate([shared, given.each, *more, *hinted], axis=1)
        return CandidateFeatures(each, given.pairs)
    vectors = view.actions().vectors(found.indices).astype(np.float32)
    if hints:
        return CandidateFeatures(np.concatenate([shared, *more, _among(vectors), *hinted], axis=1))
    parts = [shared, *more, vectors]
    if isinstance(env, Previews):
        parts.append(hint_features(env, raw, ("preview",)))
    if observation is not None:
        parts.append(np.broadcast_to(observation, (count, len(observation))))
    return CandidateFeatures(np.concatenate(parts, axis=1).astype(np.float32))


def _among(vectors: Array) -> Array:
    """Vectors (k, d) as differences to their mean, in mean differences: alike at every size."""
    apart = vectors - vectors.mean(axis=0)
    unit = np.abs(apart).mean(axis=0)
    return np.where(unit > _SAME, apart / np.maximum(unit, _SAME), np.float32(0.0))
