"""Paths that demands may choose among within limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES, same
from lagco.instances import Instance
from lagco.problems.traffic.limits import forbidden_arcs
from lagco.problems.traffic.routing import checked_paths, default_paths, limits_of, paths_network
from lagco.problems.traffic.searching.state import Scenarios, scenarios_of
from lagco.problems.traffic.sweeps import path_options


class Choice(NamedTuple):
    """What paths may be chosen.

    Attributes:
        first: (D + 1,) options of demand d are ``first[d]`` to ``first[d + 1]``
        rows: (N, 1 + T) demand and path as node ids; the first of every demand is the present one
        arcs: (N, T - 1) padded with -1
        before: (D,) options that are in force
        start: (D,) the same away from forbidden links, as far as the changes suffice
        most: changes, -1 for any number
    """

    first: Array
    rows: Array
    arcs: Array
    before: Array
    start: Array
    most: int


class Prepared(NamedTuple):
    """An instance as the search takes it."""

    scenarios: Scenarios
    choice: Choice


def prepare(instance: Instance) -> Prepared:
    """Scenarios and choice of an instance."""
    network = paths_network(instance)
    limits = limits_of(instance, network)
    present = instance.arrays.get("paths")
    given = default_paths(network, limits) if present is None else present
    paths, used = checked_paths(given, instance, network, limits)
    options = path_options(network, limits)
    flags = forbidden_arcs(instance, network)
    fixed = instance.arrays.get(FIXED, np.zeros(len(paths))).astype(bool)
    demand = options.rows[:, 0]
    kept = same(options.rows[:, 1:], paths[demand]) | _takes(options.arcs, flags)
    allowed = np.flatnonzero(~(kept | fixed[demand]))
    demands = np.arange(len(paths))
    order = np.argsort(np.concatenate([demands, demand[allowed]]), kind="stable")
    own = np.column_stack([demands, paths])
    rows = np.concatenate([own, options.rows[allowed]])[order]
    arcs = np.concatenate([used, options.arcs[allowed]])[order]
    first = np.searchsorted(rows[:, 0], np.arange(len(paths) + 1))
    most = instance.params.get(MAX_CHANGES)
    most = -1 if most is None or present is None else int(most)
    start = first[:-1].copy()
    outside = np.flatnonzero(_takes(used, flags) & (np.diff(first) > 1))
    start[outside[: None if most < 0 else most]] += 1
    choice = Choice(first, np.ascontiguousarray(rows), arcs, first[:-1].copy(), start, most)
    return Prepared(scenarios_of(instance), choice)


def _takes(arcs: Array, flags: Array) -> Array:
    """Which paths, as arcs (k, any) padded with -1, use one of the arcs that are flagged: (k,)."""
    return np.asarray((flags[arcs] & (arcs >= 0)).any(axis=1))


def options_of(choice: Choice, paths: Array | None) -> Array:
    """Options (D,) that paths (D, T) are; the start where one of them is none."""
    found = choice.start.copy()
    if paths is None or paths.shape[1] != choice.rows.shape[1] - 1:
        return found
    equal = np.flatnonzero(same(choice.rows[:, 1:], paths[choice.rows[:, 0]]))
    found[choice.rows[equal, 0]] = equal
    changed = int((found != choice.before).sum())
    return found if choice.most < 0 or changed <= choice.most else choice.start.copy()
