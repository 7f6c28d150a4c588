"""One agent that decides in several environments at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.agents.method import Actor


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
        protos = chosen[0].network(np.stack([actor.look() for actor in chosen]))
        return [
            actor.decide(proto, rng, trying)
            for (actor, rng, trying), proto in zip(decisions, protos, strict=True)
        ]
