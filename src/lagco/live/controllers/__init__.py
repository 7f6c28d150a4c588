"""Controllers by name; others are given as objects, or as ``module:Class``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lagco.errors import UsageError, suggest
from lagco.live.contract import Controller
from lagco.live.controllers.agent import AgentController
from lagco.live.controllers.greedy import Greedy
from lagco.live.controllers.hold import Hold
from lagco.live.controllers.portfolio import PortfolioController
from lagco.live.controllers.solver import SolverController
from lagco.problems import load_object

#: by name; each is called with the agent, where the user gives one
CONTROLLERS: Mapping[str, Callable[[Any], Controller]] = {
    "hold": lambda agent: Hold(),
    "greedy": lambda agent: Greedy(),
    "solver": lambda agent: SolverController(),
    "agent": AgentController,
    "portfolio": PortfolioController,
}


def controller_of(given: Any, agent: Any = None) -> Controller:
    """A controller by its name, by ``module:Class``, or as it is.

    Args:
        given: name, text or object.
        agent: that the controllers `agent` and `portfolio` take; the default one without.
    """
    if isinstance(given, str):
        if given in CONTROLLERS:
            return CONTROLLERS[given](agent)
        if ":" not in given:
            raise UsageError(
                suggest("controller", given, CONTROLLERS) + "; one of your own is module:Class"
            )
        given = load_object(given)
    found = given() if isinstance(given, type) else given
    if not isinstance(found, Controller):
        raise UsageError(f"controllers: {given!r} has no name and decide(situation)")
    return found


__all__ = ["CONTROLLERS", "controller_of"]
