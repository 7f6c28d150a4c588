"""From a proto-action to a valid action: search, then a strategy that picks among the nearest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv, Previews
from lagco.errors import UsageError
from lagco.latent.candidates import CandidateLogits, candidate_features, with_suggestions
from lagco.latent.space import LatentView
from lagco.search import Metric, Neighbours, Ranked, Strategy, make_strategy

#: (observation (w,), action vectors (k, d)) -> values (k,)
ActionValues: TypeAlias = Callable[[Array, Array], Array]


@dataclass
class DecodingContext:
    """Context of a decoding rule: the problem, its latent view, the observation."""

    problem: ContinuousEnv
    view: LatentView
    observation: Array | None


class Decoder:
    """Decodes proto-actions.

    Args:
        spelling: ``nearest``, ``sampled``, ``rule:module:function``, ``scored``, ``preview`` or
            ``ranked``. A rule is a function (candidates, scores, context) -> position with the
            raw actions as candidates (k, …) and a :class:`DecodingContext`.
        k: how many of the nearest actions to choose among.
        metric: of the search.
        values: what ``scored`` ranks by: Q(o, u).
        ranker: what ``ranked`` chooses by: logits from the features of the candidates.
        temperature: of the draws of ``sampled`` and ``ranked``.
    """

    def __init__(
        self,
        spelling: str = "nearest",
        k: int = 10,
        metric: Metric = "cosine",
        values: ActionValues | None = None,
        ranker: CandidateLogits | None = None,
        temperature: float = 1.0,
    ) -> None:
        if k < 1:
            raise UsageError(f"k={k}: a decoder chooses among at least 1 action")
        self.spelling = spelling
        self.metric: Metric = metric
        self.values = values
        self.ranker = ranker
        self._by_rule = spelling.startswith("rule")
        scorer = self._scored if spelling == "scored" else None
        try:
            self._strategy: Strategy = make_strategy(
                spelling,
                k,
                temperature=temperature,
                metric=metric,
                scorer=scorer,
                preview=self._previewed,
                ranker=self._ranked,
            )
        except ValueError as error:
            raise UsageError(f"decoder={spelling!r}, k={k}: {error}") from error

    @property
    def k(self) -> int:
        """Number of neighbours that are searched for."""
        return self._strategy.k

    def choose(
        self,
        view: LatentView,
        proto: Array,
        rng: np.random.Generator,
        observation: Array | None = None,
    ) -> Array:
        """Search row (1, m) of the chosen action.

        Raises:
            NoValidAction: nothing is valid.
        """
        return self.pick(view, self.candidates(view, proto), rng, observation)

    def candidates(self, view: LatentView, proto: Array) -> Neighbours:
        """The actions to choose among, best first: the nearest, and for ``ranked`` suggested ones.

        Raises:
            NoValidAction: nothing is valid.
        """
        found = view.nearest(proto, self._strategy.k, self.metric)
        return with_suggestions(view, proto, found) if self.draws else found

    @property
    def draws(self) -> bool:
        """Whether the decoder itself explores, by drawing among the candidates."""
        return isinstance(self._strategy, Ranked)

    def draw(
        self,
        view: LatentView,
        proto: Array,
        rng: np.random.Generator,
        observation: Array | None = None,
    ) -> Array:
        """Search row (1, m) of an action drawn among the candidates."""
        return self.draw_among(view, self.candidates(view, proto), rng, observation)

    def logits(
        self, view: LatentView, found: Neighbours, observation: Array | None = None
    ) -> Array:
        """Logits (k,) by which it draws among actions that were found, best first."""
        assert isinstance(self._strategy, Ranked)
        context = DecodingContext(view.env, view, observation)
        return self._strategy.logits(found, context) / self._strategy.temperature

    def draw_among(
        self,
        view: LatentView,
        found: Neighbours,
        rng: np.random.Generator,
        observation: Array | None = None,
    ) -> Array:
        """Search row (1, m) of one drawn among actions that were found, best first."""
        assert isinstance(self._strategy, Ranked)
        position = self._strategy.draw(found, DecodingContext(view.env, view, observation), rng)
        return found.indices[position : position + 1]

    def pick(
        self,
        view: LatentView,
        found: Neighbours,
        rng: np.random.Generator,
        observation: Array | None = None,
    ) -> Array:
        """Search row (1, m) of the one chosen among actions that were found, best first."""
        if len(found.scores) == 1:
            return found.indices
        context = DecodingContext(view.env, view, observation)
        candidates = found
        if self._by_rule:  # rules see raw actions, not rows of the search
            candidates = found._replace(indices=view.raw(found.indices))
        position = self._strategy.choose(candidates, context, rng)
        return found.indices[position : position + 1]

    def _ranked(self, found: Neighbours, context: DecodingContext) -> Array:
        if self.ranker is None:
            raise UsageError(
                "the ranked decoder needs a trained ranker; train the agent with a teacher"
            )
        return self.ranker(*candidate_features(context.view, found, context.observation))

    def _previewed(self, rows: Array, context: DecodingContext) -> Array:
        if not isinstance(context.problem, Previews):
            name = type(context.problem).__name__
            raise UsageError(f"the preview decoder needs {name}.preview(actions)")
        return np.asarray(context.problem.preview(context.view.raw(rows)))

    def _scored(self, rows: Array, context: DecodingContext) -> Array:
        if self.values is None or context.observation is None:
            raise UsageError(
                "the scored decoder needs a trained scorer; train the agent with --decoder scored"
            )
        return self.values(context.observation, context.view.actions().vectors(rows))


def plain_action(raw: Any) -> Any:
    """A raw action as environments expect it: an int where it is a single number."""
    return int(raw) if np.ndim(raw) == 0 else raw
