"""One agent that decides in several environments at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.agents.method import Actor
from lagco.arrays import Array


class Team:
    """Actors of one agent, each in an environment of its own, with one network pass for all.

    Args:
        actors: all of the same agent.
    """

    def __init__(self, actors: Sequence[Actor]) -> None:
        self._actors: list[Any] = list(actors)
        self._together = len(actors) > 1 and hasattr(actors[0], "look")

    def act(
        self, members: Sequence[int], rngs: Sequence[np.random.Generator], explore: Sequence[bool]
    ) -> list[Any]:
        """Raw actions for the present states of some members' environments."""
        chosen = [self._actors[member] for member in members]
        decisions = zip(chosen, rngs, explore, strict=True)
        if not self._together:
            return [actor.act(rng, trying) for actor, rng, trying in decisions]
        return [
            actor.decide(proto, rng, trying)
            for (actor, rng, trying), proto in zip(decisions, _protos(chosen), strict=True)
        ]

    @property
    def rates(self) -> bool:
        """Whether its actors know how likely actions are."""
        return all(hasattr(actor, "likelihoods") for actor in self._actors)

    def rate(self, members: Sequence[int]) -> list[tuple[Array, Array]]:
        """Per member raw actions (k, …), and the logarithms of their probabilities (k,).

        Both are empty where no action is valid.
        """
        chosen = [self._actors[member] for member in members]
        return [
            actor.likelihoods(proto) for actor, proto in zip(chosen, _protos(chosen), strict=True)
        ]


def _protos(actors: Sequence[Any]) -> Array:
    """Proto-actions of actors of one agent for their present states, in one pass: (k, d)."""
    found: Array = actors[0].network(np.stack([actor.look() for actor in actors]))
    return found
