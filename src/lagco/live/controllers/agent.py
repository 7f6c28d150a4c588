"""The controller that lets a trained agent act."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any, Protocol

import numpy as np

from lagco.arrays import Array
from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.live.agents.agent import (
    LiveAgent,
    default_live_agent,
    is_live_agent,
    live_problems,
    load_live_agent,
)
from lagco.live.contract import Situation
from lagco.live.controllers.following import Following
from lagco.live.controllers.greedy import Greedy
from lagco.results.measures import improvement

#: part of the time for greedy actions, and of what is left that one of them may take
_GREEDY, _STEP = 0.3, 0.1
#: what is left of that pace after a decision without them, so that they are tried again at times
_FORGOTTEN = 0.9
#: actions without a better state after which it begins again, and per change that is allowed
_PATIENCE, _PER_CHANGE = 4, 2


class AgentController:
    """A live agent, or episodes of any other, from the configuration in force.

    Args:
        agent: an agent, the folder of one, or None for the one that comes with lagco: the problem's
            live agent, else its default agent.
    """

    name = "agent"

    def __init__(self, agent: Any = None) -> None:
        self._given = agent
        self._player: _Player | None = None

    def decide(self, situation: Situation) -> Array | None:
        """The best that the agent finds in time."""
        if self._player is None:
            self._player = _player(self._given, situation)
        return self._player.decide(situation)


class _Player(Protocol):
    def decide(self, situation: Situation) -> Array | None: ...


class Proposals:
    """A live agent that goes on from greedy actions, too, where there is time for them.

    A greedy action is the best of all single steps, previewed exactly: of small networks that takes
    a part of a millisecond, of large ones longer than all of a deadline.

    Args:
        agent: proposes changes.
    """

    def __init__(self, agent: LiveAgent) -> None:
        self._agent = agent
        self._greedy = Greedy()
        self._pace = 0.0  # processor seconds of a greedy action, when some were last taken

    def decide(self, situation: Situation) -> Array | None:
        """The best that is found in time."""
        first = self._climbed(situation) if issubclass(situation.cls, Previews) else None
        return self._agent.decide(situation, first)

    def _climbed(self, situation: Situation) -> Array | None:
        """Where greedy actions lead in their part of the time; None where one takes too long."""
        limit, climb = situation.limit, self._greedy.climb
        if limit.timed and self._pace > _STEP * limit.left():
            self._pace *= _FORGOTTEN
            return None
        if self._pace == 0.0:  # what the first call takes is no measure of later ones
            climb(situation, limit.part(_GREEDY), 1)
        began = process_time()
        most = None if limit.timed else limit.share_of_turns(_GREEDY)
        found, steps = climb(situation, limit.part(_GREEDY), most)
        self._pace = (process_time() - began) / max(1, steps)
        return found


class Episodes:
    """Episodes of an agent from the configuration in force: its mode, then samples, in time.

    Args:
        agent: takes the steps.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._following = Following(agent.features)
        self._actor: tuple[Problem, Any] | None = None

    def decide(self, situation: Situation) -> Array | None:
        """The best state of the episodes."""
        env, limit = self._env(situation), situation.limit
        assert self._actor is not None
        actor, rng = self._actor[1], np.random.default_rng([situation.seed, situation.number])
        most = situation.max_changes
        patience = _PATIENCE + _PER_CHANGE * (env.instance.size if most is None else most)
        best, level = None, env.objective()
        explore = False
        while not limit.over():
            idle = 0
            while idle < patience and not limit.over():
                limit.taken += 1
                action = actor.act(rng, explore)
                if action is None:
                    break
                _, terminated, truncated, _ = env.advance(action)
                value = env.best_objective
                idle += 1
                if value is not None and improvement(value, level, maximise=env.maximise) > 0:
                    best, level, idle = env.best_solution, value, 0
                    situation.tell(value)
                if terminated or truncated:
                    break
            if limit.over() or (idle == 0 and best is None):
                break
            explore = True
            env.go_on_with(situation.instance)
        return best

    def _env(self, situation: Situation) -> Problem:
        """The environment, in the state in force, with the agent at hand."""
        env = self._following.env(situation)
        if self._actor is None or self._actor[0] is not env:
            self._actor = env, self._agent.actor(env)
        return env


def _player(given: Any, situation: Situation) -> _Player:
    from lagco.agents.agent import Agent
    from lagco.agents.bundle import load
    from lagco.agents.shipped import default_agent

    cls, instance = situation.cls, situation.instance
    if isinstance(given, LiveAgent):
        if given.problem.name != cls.name:
            raise UsageError(f"the agent decides on {given.problem.name!r}, not on {cls.name!r}")
        return Proposals(given)
    if isinstance(given, Agent):
        return Episodes(given)
    if given is None or given == "default":
        if cls.name in live_problems():
            return Proposals(default_live_agent(cls))
        return Episodes(default_agent(cls.name, instance))
    if is_live_agent(Path(given)):
        return Proposals(load_live_agent(given, cls))
    return Episodes(load(given, cls, instance))
