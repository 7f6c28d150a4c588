"""Plain policies that every result is compared with."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv, Previews, draw_valid_action
from lagco.errors import UnknownName, UsageError, suggest
from lagco.runtime.stopping import stop_flag


class Policy(Protocol):
    """Anything that chooses actions, one of your own too.

    Tables show it by its attribute ``name``, or by the name of its class where it has none.
    """

    def act(self, env: ContinuousEnv, rng: np.random.Generator, explore: bool = True) -> Any:
        """A raw action for the present state of `env`; None if there is none.

        Args:
            env: the environment.
            rng: the policy's own random stream, apart from the environment's.
            explore: False in the episode in which the policy takes its mode.
        """


def policy_name(policy: Policy) -> str:
    """Name of a policy in tables."""
    return str(getattr(policy, "name", type(policy).__name__))


class RandomPolicy:
    """Uniform over the valid actions."""

    name = "random"

    def act(self, env: ContinuousEnv, rng: np.random.Generator, explore: bool = True) -> Any:
        """Any valid action; None if there is none."""
        return draw_valid_action(cast("ContinuousEnv", env.unwrapped), rng)


class GreedyPolicy:
    """The valid action with the best preview; ties are broken at random."""

    name = "greedy"

    def act(self, env: ContinuousEnv, rng: np.random.Generator, explore: bool = True) -> Any:
        """The best action one step ahead; None if there is none.

        Where the time of an answer is over, the best of those that were looked at until then.
        """
        env = cast("ContinuousEnv", env.unwrapped)
        preview = env.preview if isinstance(env, Previews) else None
        if preview is None:
            raise UsageError(
                f"greedy needs {type(env).__name__}.preview(actions), the value by which to rank "
                "actions one step ahead; define it or choose another policy"
            )
        most, over = -np.inf, stop_flag()
        best: list[Array] = []
        for actions in env.valid_chunks():
            if len(actions):
                values = preview(actions)
                if values.max() > most:
                    most, best = values.max(), []
                best.append(actions[values == most])
            if over[0] and best:  # what was looked at has to do
                break
        ties = np.concatenate(best) if best else ()
        return ties[rng.integers(len(ties))] if len(ties) else None


POLICIES: dict[str, type[Policy]] = {"random": RandomPolicy, "greedy": GreedyPolicy}


def plain_policy(name: str) -> Policy:
    """The plain policy of that name."""
    if name not in POLICIES:
        raise UnknownName(suggest("policy", name, POLICIES))
    return POLICIES[name]()
