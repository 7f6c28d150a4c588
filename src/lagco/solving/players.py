"""Players of episodes: an agent or a plain policy, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import UnknownName, UsageError
from lagco.instances import Instance
from lagco.policies import POLICIES, plain_policy
from lagco.rollout import PolicyTeam
from lagco.solving.options import SolveOptions


class Player(NamedTuple):
    """Whoever plays the episodes.

    Attributes:
        name: who that is.
        make_team: a team in so many environments.
        features: of the environments.
    """

    name: str
    make_team: Callable[[list[Problem]], Any]
    features: str = "full"


def load_player(
    cls: type[Problem], options: SolveOptions, instance: Instance | None = None
) -> Player:
    """What plays the episodes; `instance` is one of the problem, where there is one at hand."""
    by, agent, decoder, k = options.by, options.agent, options.decoder, options.k
    if by in POLICIES:
        return _plain_player(by)
    from lagco.agents.agent import Agent
    from lagco.agents.bundle import load
    from lagco.agents.shipped import default_agent

    if agent is None or (isinstance(agent, str) and agent == "default"):
        try:
            loaded = default_agent(cls.name, instance)
        except UnknownName:
            if options.names_agent or by == "agent":
                raise
            return _plain_player("greedy" if issubclass(cls, Previews) else "random")
        name = f"{loaded.name} (default agent)"
    else:
        loaded = agent if isinstance(agent, Agent) else load(agent, cls, instance, decoder)
        name = loaded.name
    if loaded.problem.name != cls.name:
        raise UsageError(f"the agent decides on {loaded.problem.name!r}, the file is {cls.name!r}")
    if decoder is not None:
        loaded = loaded.with_decoder(decoder, k)
        name = f"{name}, {decoder} decoder"
    elif loaded.description["config"].get("decoder") == "nearest" and issubclass(cls, Previews):
        mixed = partial(_mixed_team, loaded, loaded.with_decoder("preview", k))
        return Player(name, mixed, loaded.features)
    return Player(name, loaded.team, loaded.features)


def _plain_player(name: str) -> Player:
    """A plain policy, which asks for no features: those that cost least are enough."""
    return Player(name, partial(PolicyTeam, plain_policy(name)), "paper")


def _mixed_team(agent: Any, previewing: Any, envs: Sequence[Problem]) -> Any:
    """Where a state is improved step by step, every other member looks one step ahead."""
    from lagco.agents.team import Team

    if not envs[0].is_feasible():
        return agent.team(envs)
    return Team([(previewing if i % 2 else agent).actor(env) for i, env in enumerate(envs)])
