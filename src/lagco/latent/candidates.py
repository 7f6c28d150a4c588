"""Candidates as a ranker sees them: the problem's own features, or vectors, previews and state."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.latent.space import LatentView
from lagco.search import Neighbours

#: columns that every candidate has: how far it is behind the nearest one, and its rank
_SHARED = 2


def with_suggestions(view: LatentView, proto: Array, found: Neighbours) -> Neighbours:
    """Actions that a search by inner product found, and behind them those the problem suggests.

    These are what ``env.suggested_actions()`` returns, where the environment defines it.
    """
    suggest = getattr(view.env, "suggested_actions", None)
    given = () if suggest is None else suggest()
    if not len(given):
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

    The first two columns are the distance in score to the nearest candidate (on a logarithmic
    scale) and the rank. Then follows what ``env.candidate_features(actions)`` says, where the
    environment defines it; otherwise the action vectors, the preview where there is one (relative
    to the best, and its rank), and the observation.
    """
    raw = view.raw(found.indices)
    count = len(raw)
    shared = np.empty((count, _SHARED), dtype=np.float32)
    shared[:, 0] = np.arcsinh(found.scores[0] - found.scores)
    shared[:, 1] = np.arange(count) / max(count, 1)
    describe = getattr(view.env, "candidate_features", None)
    if describe is not None:
        given = describe(raw)
        return CandidateFeatures(np.concatenate([shared, given.each], axis=1), given.pairs)
    parts = [shared, view.actions().vectors(found.indices).astype(np.float32)]
    preview = getattr(view.env, "preview", None)
    if preview is not None:
        parts.append(_relative(np.asarray(preview(raw), dtype=np.float64)))
    if observation is not None:
        parts.append(np.broadcast_to(observation, (count, len(observation))))
    return CandidateFeatures(np.concatenate(parts, axis=1).astype(np.float32))


def _relative(values: Array) -> Array:
    """Values as how far they are behind the best, in mean distances, and as ranks: (k, 2)."""
    behind = values.max() - values
    unit = behind.mean()
    ranks = np.empty(len(values))
    ranks[np.argsort(behind, kind="stable")] = np.arange(len(values)) / len(values)
    scaled = np.arcsinh(behind / unit) if unit > 0 else behind
    return np.stack([scaled, ranks], axis=1)
