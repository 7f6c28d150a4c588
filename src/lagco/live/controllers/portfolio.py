"""The controller that lets an agent act first, and searches from there in the time that is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lagco.arrays import Array
from lagco.live.contract import Situation
from lagco.live.controllers.agent import AgentController
from lagco.live.controllers.solver import searched
from lagco.solving.portfolio import Limit

#: part of the time, or of the turns, for the agent
_FIRST = 0.4


class PortfolioController:
    """An agent, then the problem's search from what it found.

    Args:
        agent: see :class:`AgentController`.
    """

    name = "portfolio"

    def __init__(self, agent: Any = None) -> None:
        self._agent = AgentController(agent)

    def decide(self, situation: Situation) -> Array | None:
        """The best of both."""
        limit = situation.limit
        first = limit.part(_FIRST) if limit.timed else Limit(turns=limit.share_of_turns(_FIRST))
        found = self._agent.decide(replace(situation, limit=first))
        limit.taken += first.taken
        return searched(situation, found) if not limit.over() else found
