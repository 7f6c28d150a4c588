"""What agents are compared with: their own shuffled weights, rules, and a single column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lagco
from lagco.agents.agent import Agent
from lagco.arrays import Array
from lagco.heuristics.hints import hint_features, suggested_actions
from lagco.instances import Instance
from lagco.latent.decoder import plain_action

#: arrays of an agent that are no weights: moments of the inputs, and the number of heads
_FIXED = ("mean", "factor", "heads")
#: actions that a rule looks at in addition to those suggested, by their previews
LOOKED_AT = 32
#: columns of candidates that might do as a rule, larger values better but for a minus
COLUMNS: dict[str, tuple[str, ...]] = {
    "tsp": ("-distance", "-by_nearest", "-detour", "-priced_detour", "share", "to_start"),
    "min-vertex": ("degree", "lowest_by_least", "dominates", "-left_out", "own_behind", "votes"),
    "max-cut": ("gain", "chain", "planned", "age"),
    "placement": ("gain", "chain", "emptying_value", "gathering_value", "planned"),
    "ospf": ("near_gain", "near_norm_gain", "far_norm_gain", "relief", "planned"),
    "traffic": ("near_gain", "largest_gain", "far_gain", "relieves", "helps"),
    "cyber-path": ("promise", "owns", "-risk", "unlocks", "shows"),
}


def shuffled(agent: Agent, seed: int) -> Agent:
    """The agent with the entries of each of its learned tensors in random order."""
    rng, weights = np.random.default_rng(seed), {}
    for name, array in sorted(agent.weights.items()):  # files keep no order
        learned = array.dtype.kind == "f" and not name.endswith(_FIXED)
        mixed = rng.permutation(array.reshape(-1)).reshape(array.shape) if learned else array
        weights[name] = mixed
    changed = Agent(agent.problem, agent.method, weights, agent.description, agent.space)
    return changed.configured()


class Rule:
    """The suggested action of the best preview, where any leads to a plan; else the best preview.

    Suggested are actions that lead to the plan of the episode, or that relieve the fullest link.
    """

    name = "rule"

    def act(self, env: Any, rng: np.random.Generator, explore: bool = True) -> Any:
        """The action; ties are broken at random."""
        given = suggested_actions(env)
        if given is None or not len(given):
            given = env.valid_actions()
        return _best(env, np.asarray(given), np.zeros(len(given)), rng)


class OneColumn:
    """The largest value of one column of candidates, then the best preview.

    It looks at the actions that the problem suggests and at those of the best previews.

    Args:
        column: its name, after a minus where small values are better.
    """

    def __init__(self, column: str) -> None:
        self.name = column
        self._sign = -1.0 if column.startswith("-") else 1.0
        self._column = column.removeprefix("-")

    def act(self, env: Any, rng: np.random.Generator, explore: bool = True) -> Any:
        """The action; ties are broken at random."""
        actions = candidates(env)
        if not len(actions):
            return None
        return _best(env, actions, self._sign * self._values(env, actions), rng)

    def _values(self, env: Any, actions: Array) -> Array:
        names = type(env).candidate_columns.names
        if self._column in names:
            given = env.candidate_features(actions)
            values: Array = given.each[:, names.index(self._column)]
            return values
        hinted: Array = hint_features(env, actions, ("plan",))[:, 0]  # the column `planned`
        return hinted


def candidates(env: Any) -> Array:
    """Valid actions of the best previews and those suggested."""
    valid = env.valid_actions()
    if len(valid) > LOOKED_AT:
        valid = valid[np.argsort(-env.preview(valid), kind="stable")[:LOOKED_AT]]
    given = suggested_actions(env)
    if given is None or not len(given):
        return np.asarray(valid)
    return np.unique(np.concatenate([valid, given]), axis=0)


def _best(env: Any, actions: Array, values: Array, rng: np.random.Generator) -> Any:
    best = np.flatnonzero(values >= values.max() - 1e-9) if len(values) else ()
    if not len(best):
        return None
    previews = np.asarray(env.preview(actions[best]))
    ties = best[previews == previews.max()]
    return plain_action(actions[rng.choice(ties)])


def best_column(problem: str, instances: Sequence[Instance], measure: str) -> OneColumn:
    """The column by which the first episodes on validation instances end best."""
    sign = -1.0 if measure == "gap" else 1.0
    found: dict[str, float] = {}
    for column in COLUMNS[problem]:
        result = lagco.evaluate(OneColumn(column), list(instances), episodes=1, progress=False)
        found[column] = sign * float(np.mean(result.values(measure, "first")))
    return OneColumn(max(found, key=lambda name: found[name]))
