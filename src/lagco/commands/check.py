"""Checks of a problem's declaration and rules: the command `check`."""

from __future__ import annotations

from typing import Any, cast

import gymnasium as gym
import numpy as np

from lagco.core.adapter import made
from lagco.core.checker import Finding, check_rules
from lagco.core.checker.finding import shown
from lagco.core.checker.names import check_names
from lagco.core.env import ContinuousEnv
from lagco.errors import CheckError, LagcoError, MissingExtra
from lagco.problem_table import ENTRIES
from lagco.problems import AnyProblem, described, load_object, problem_class

_ENCODED_STEPS = 5


def check(
    problem: AnyProblem | gym.Env[Any, Any],
    *,
    seed: int = 42,
    episodes: int = 2,
    max_steps: int = 200,
) -> list[Finding]:
    """Check a problem given by name, as ``module:Class``, as a class or as an environment.

    Returns the findings; see :func:`lagco.check_problem` for what is checked.
    """
    if isinstance(problem, str):
        own = problem not in ENTRIES and ":" in problem
        target: Any = load_object(problem) if own else problem_class(problem)
    else:
        target = problem
    if isinstance(target, type) and issubclass(target, ContinuousEnv):
        hidden = list(check_names(target))
        if hidden:  # it may not even be made
            return hidden
    if callable(target) and not isinstance(target, gym.Env):
        target = made(target)
    return check_problem(target, seed=seed, episodes=episodes, max_steps=max_steps, raises=False)


def check_problem(
    env: gym.Env[Any, Any],
    *,
    seed: int = 42,
    episodes: int = 2,
    max_steps: int = 200,
    raises: bool = True,
) -> list[Finding]:
    """Check that an environment is a well-declared problem.

    Gymnasium's own ``check_env``; determinism under a seed; sampled actions are valid and stay
    within what is declared; attributes have the declared type, range and shape in every state;
    change tracking misses nothing; the validity hooks agree; rewards add up to the score plus the
    declared terms; ``preview`` changes nothing and ranks rightly; own poolings are finite and of
    one width; the action space holds what may be chosen. Of a :class:`~lagco.Problem` also
    ``draw``, ``sweep``, ``solve`` and ``evaluate_solution``. What passes all that is encoded,
    observed and decoded for a few steps, so that it can be trained.

    Args:
        env: the environment, wrapped or not.
        seed: of everything random in the check.
        episodes: how many episodes to follow.
        max_steps: steps per episode at most.
        raises: whether findings raise a :class:`~lagco.errors.CheckError`, or are just returned.

    Returns:
        The findings, empty for a sound problem.
    """
    findings = check_rules(env, seed=seed, episodes=episodes, max_steps=max_steps)
    if not findings:
        findings = _check_encoding(cast("ContinuousEnv", env.unwrapped), seed)
    if findings and raises:
        lines = "\n".join(f"- {finding}" for finding in findings)
        name = type(env.unwrapped).__name__
        raise CheckError(f"{name} fails {len(findings)} check(s):\n{lines}")
    return findings


def _check_encoding(env: ContinuousEnv, seed: int) -> list[Finding]:
    """Encode, observe and decode a few states with an encoder that is hardly trained."""
    from lagco.embedding.config import PretrainConfig
    from lagco.embedding.pretraining.pretrain import pretrain_on
    from lagco.latent.wrapper import wrap

    step = 0
    try:
        encoder = pretrain_on([env], training=PretrainConfig(max_steps=1, states=8), seed=seed)
        latent = wrap(env, encoder, seed=seed)
        observation, _ = latent.reset(seed=seed)
        latent.action_space.seed(seed)
        ended = False
        while np.isfinite(observation).all() and not ended and step < _ENCODED_STEPS:
            step += 1
            space = env.action_space
            observation, _, terminated, truncated, info = latent.step(latent.action_space.sample())
            ended = terminated or truncated
            action = info.get("action")
            if action is not None and not space.contains(action):
                seen = f"gives {shown(action)} for a declared action, which is not in {space}"
                remedy = "let action_space hold every declared action: a path of h hops has h + 1"
                return [Finding("action", "actions_from_parts()", seen, f"{remedy} nodes", step)]
    except MissingExtra:
        return []  # what is missing is said when it is asked for
    except LagcoError as error:
        return [Finding("encoding", "encoding a state", str(error), "", step)]
    except Exception as error:
        remedy = "mend the declaration or method that it came from"
        return [Finding("encoding", "encoding a state", described(error), remedy, step)]
    wrong = np.flatnonzero(~np.isfinite(observation))
    if wrong.size:
        seen = f"number {wrong[0]} is {observation[wrong[0]]}"
        remedy = "keep attributes, functions and poolings finite"
        return [Finding("encoding", "the latent observation", seen, remedy, step)]
    return []
