"""Ranking of patches: what attackers own after each one, by search and by an agent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lagco.core.changes import FIXED
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.patches.defence import Defence
from lagco.problems.cyber_path.patches.patching import (
    PATCHED,
    Patching,
    patch_names,
    patched_network,
)
from lagco.rollout import Planned, SideBySide
from lagco.solving.answer import Fix
from lagco.solving.options import SolveOptions
from lagco.solving.players import load_player
from lagco.solving.portfolio import Limit

#: patches that are ranked, the most useful by search; and those of them that an agent is tried on
_RANKED, _PLAYED = 20, 8
#: courses that an agent plays against every network
_SEEDS = 5


def asked(cls: type[Problem], instance: Instance) -> tuple[type[Problem], Instance]:
    """The question which patches to apply, about a network."""
    if cls.name != CyberPath.name:
        raise UsageError(f"fixes: asks about hosts with vulnerabilities, not about {cls.name!r}")
    return Defence, Defence.of(instance)


def ranked_fixes(
    instance: Instance, chosen: Sequence[int], options: SolveOptions, limit: Limit
) -> tuple[Fix, ...]:
    """No further patch, the chosen ones together, then single patches, the most useful first.

    All are in addition to the patches in force. Those that stop no attack alone and those that may
    not be applied are left out. Agents play courses with equal seeds against all, as many as there
    is time for.

    Args:
        instance: of the question.
        chosen: patches of the answer.
        options: who plays; nobody where the solver answers.
        limit: of the time.
    """
    patching, names = Patching(instance), patch_names(instance)
    in_force = frozenset(np.flatnonzero(instance.array(PATCHED)).tolist())
    fixed = instance.arrays.get(FIXED, np.zeros(patching.count))
    free = [patch for patch in range(patching.count) if patch not in in_force and not fixed[patch]]
    before = patching.attack(in_force)
    useful = [patch for patch in free if patching.attack(in_force | {patch})[:2] < before[:2]]
    useful.sort(key=lambda patch: (*patching.attack(in_force | {patch})[:2], patch))
    sets = [in_force, frozenset(chosen), *(in_force | {patch} for patch in useful[:_RANKED])]
    sets = list(dict.fromkeys(sets))
    owned = [patching.attack(one).owned for one in sets]
    played = _played(instance, [[names[p] for p in one] for one in sets], options, limit)
    vulns = instance.array("vulns")
    found = []
    for one, value, mean in zip(sets, owned, played, strict=True):
        patches = tuple(names[patch] for patch in sorted(one - in_force))
        hosts = int(np.isin(vulns, patches).any(axis=1).sum())
        found.append(Fix(patches, hosts, value, mean))
    return tuple(found)


def _played(
    instance: Instance, sets: Sequence[Sequence[str]], options: SolveOptions, limit: Limit
) -> list[float | None]:
    """Mean of the hosts that the agent owns under each set of patches; None where it did not play.

    A round of courses that the time ends does not count.
    """
    count = min(len(sets), 2 + _PLAYED)
    totals, rounds = np.zeros(count), 0
    if options.by == "solver":
        return [None] * len(sets)
    network = Instance("cyber-path", instance.name, instance.size, instance.arrays, instance.params)
    player = load_player(CyberPath, options, network)
    envs = [
        CyberPath(patched_network(network, patches), features=player.features, start="current")
        for patches in sets[:count]
    ]
    teams = [player.make_team([env]) for env in envs]
    for seed in range(options.seed, options.seed + _SEEDS):
        found = []
        for env, team in zip(envs, teams, strict=True):
            course = SideBySide(
                [env], team, [Planned(seed, "current", explore=seed > options.seed)]
            )
            while course.begin() and not limit.expired():
                course.step()
            found.append(env.objective())
        if limit.expired():
            break
        totals += found
        rounds += 1
    means = (totals / rounds).tolist() if rounds else [math.nan] * count
    return [None if math.isnan(m) else float(m) for m in means] + [None] * (len(sets) - count)
