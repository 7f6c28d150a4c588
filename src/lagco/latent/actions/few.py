"""Search among few actions: all are scored in one compiled call, and the nearest asked about."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.latent.actions.action_set import ActionSet
from lagco.latent.kernels import ALL
from lagco.search import Metric, Neighbours
from lagco.search.metrics import CODES

#: times the actions asked about at first, before a search goes on in order
_ASKED = 8
#: and times those that should be enough, if as many are valid as in the search before
_SPARE = 1.2
#: of so many times the actions asked for, all are asked about at once
_ALL_ASKED = 4


class Listing(NamedTuple):
    """What scores all actions at once, the vectors it needs, and what lists the actions."""

    search: Callable[..., Any]
    tables: tuple[Any, ...]
    rows: Callable[[], Array]


class FewActions(ActionSet):
    """A set that scores all its actions at once where they are few, before it searches.

    The search (:meth:`ActionSet.nearest`) would find the same; this has less to set up.
    """

    @abstractmethod
    def _listing(self, metric: Metric) -> Listing | None:
        """How to score all actions; None where they are many."""

    def nearest(
        self, query: Array, k: int = 1, metric: Metric = "cosine", env: ContinuousEnv | None = None
    ) -> Neighbours:
        found = None if env is None else self._nearest_few(query, k, metric, env)
        return super().nearest(query, k, metric, env) if found is None else found

    def _nearest_few(
        self, query: Array, k: int, metric: Metric, env: ContinuousEnv
    ) -> Neighbours | None:
        """The k nearest valid actions of a small set, if the first ones asked about hold them.

        None also where something is wrong, which the search says.
        """
        elements, layout = self._elements, self._layout
        if layout.projection is not None or query.shape != layout.mean.shape or metric not in CODES:
            return None
        listing = self._listing(metric) if k > 0 else None
        if listing is None:
            return None
        search, tables, everything = listing
        asked = np.ascontiguousarray(query, np.float64), CODES[metric]
        if k > 1 and len(everything()) <= _ALL_ASKED * k:
            known = _validity(env, elements.parts(everything(), layout.order))
            if known is None or not known.any():
                return None
            rows, _, scores, finite = search(*tables, *asked, known, k)
            return Neighbours(rows, scores) if finite else None
        least = max(16, k + min(2 * k, 128))
        most = _ASKED * least
        expected = least if k == 1 else int(_SPARE * k / elements.valid_share)
        for count in (min(max(expected, least), most), most):
            rows, parts, scores, finite = search(*tables, *asked, ALL, count)
            valid = _validity(env, parts)
            if not finite or valid is None:
                return None
            chosen: Any
            if k == 1:
                first = int(valid.argmax())
                chosen = slice(first, first + int(valid[first]))
            else:
                places = valid.nonzero()[0]
                elements.valid_share = max(len(places), 1) / max(len(valid), 1)
                chosen = places[:k]
            found = Neighbours(rows[chosen], scores[chosen])
            if len(found.scores) == k or (len(found.scores) > 0 and len(scores) < count):
                return found
        return None


def _validity(env: ContinuousEnv, parts: Array) -> Array | None:
    """Which actions, given by the values of their components, are valid; None if that fails."""
    valid = np.asarray(env.are_valid_actions(env.actions_from_parts(parts)), dtype=bool)
    return valid if valid.shape == (len(parts),) else None
