"""One agent that decides in several environments at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lagco.agents.method import Actor
from lagco.arrays import Array


@runtime_checkable
class PointActor(Actor, Protocol):
    """An actor whose network predicts proto-actions for many observations in one pass."""

    def network(self, observations: Array) -> Array:
        """Proto-actions (k, d) of observations (k, w)."""
        ...

    def observe(self) -> Array:
        """The observation of the present state: (w,)."""
        ...

    def decide(self, proto: Array, rng: np.random.Generator, explore: bool) -> Any:
        """A raw action for the state last observed, from its proto-action (d,)."""
        ...


@runtime_checkable
class RatingActor(PointActor, Protocol):
    """An actor that also gives probabilities of actions."""

    def likelihoods(self, proto: Array) -> tuple[Array, Array]:
        """Raw actions (k, …) and the logarithms of their probabilities (k,)."""
        ...


class Team:
    """Actors of one agent, each in an environment of its own, with one network pass for all.

    Args:
        actors: all of the same agent.
    """

    def __init__(self, actors: Sequence[Actor]) -> None:
        self._actors = list(actors)
        together = [actor for actor in actors if isinstance(actor, PointActor)]
        self._predicting = together if len(together) == len(actors) > 1 else None
        rating = [actor for actor in together if isinstance(actor, RatingActor)]
        self._rating = rating if len(rating) == len(actors) else None

    def act(
        self, members: Sequence[int], rngs: Sequence[np.random.Generator], explore: Sequence[bool]
    ) -> list[Any]:
        """Raw actions for the present states of some members' environments."""
        decisions = zip(members, rngs, explore, strict=True)
        if self._predicting is None:
            return [self._actors[member].act(rng, trying) for member, rng, trying in decisions]
        protos = _protos([self._predicting[member] for member in members])
        return [
            self._predicting[member].decide(proto, rng, trying)
            for (member, rng, trying), proto in zip(decisions, protos, strict=True)
        ]

    @property
    def rates(self) -> bool:
        """Whether :meth:`rate` is available."""
        return self._rating is not None

    def rate(self, members: Sequence[int]) -> list[tuple[Array, Array]]:
        """Per member raw actions (k, …), and the logarithms of their probabilities (k,).

        Both are empty where no action is valid.
        """
        assert self._rating is not None
        chosen = [self._rating[member] for member in members]
        return [
            actor.likelihoods(proto) for actor, proto in zip(chosen, _protos(chosen), strict=True)
        ]


def _protos(actors: Sequence[PointActor]) -> Array:
    """Proto-actions of actors of one agent for their present states, in one pass: (k, d)."""
    return actors[0].network(np.stack([actor.observe() for actor in actors]))
