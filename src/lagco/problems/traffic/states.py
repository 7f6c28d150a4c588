"""All that follows from a new path in `traffic`, compiled, with arguments that are read once."""

from __future__ import annotations

from numba import njit

from lagco.bound_arguments import opened
from lagco.problems.networks.kernels import measure, plain_link_state
from lagco.problems.traffic.kernels import (
    add_loads,
    are_valid,
    find_action,
    use_path,
    write_full_state,
)


@njit(cache=True)
def _change_path(row, place, lookup, ends, paths, used, history):  # type: ignore[no-untyped-def]
    """Put a demand on another path, the one before is kept at a place of the history."""
    demand = row[0]
    history[place, 0] = demand
    history[place, 1:] = paths[demand]
    use_path(demand, row[1:], *lookup, *ends, paths, used)  # type: ignore[call-arg]


@njit(cache=True)
def reroute(arguments, row, place):  # type: ignore[no-untyped-def]
    """Paths, loads and the columns of `paper` features, as the problem names them.

    Args:
        arguments: bound; see the problem.
        row: demand and path to take (1 + T,).
        place: of the history, where the path before is kept; -1 to change no path.

    Returns:
        What `measure` finds, and 0.
    """
    lookup, _, ends, amounts, routed, history, columns = opened(arguments)
    volumes, capacities = amounts
    paths, used, loads = routed
    if place >= 0:
        _change_path(row, place, lookup, ends, paths, used, history)
    add_loads(used, volumes, loads)
    plain_link_state(loads, capacities, *columns)
    return measure(loads, capacities), 0.0


@njit(cache=True)
def reroute_and_judge(arguments, row, place):  # type: ignore[no-untyped-def]
    """The same with the columns of `full` features, and the level of the network."""
    lookup, graph, ends, amounts, routed, history, columns = opened(arguments)
    paths, used, loads = routed
    if place >= 0:
        _change_path(row, place, lookup, ends, paths, used, history)
    # loads from all paths anew, which takes no longer than correcting them
    return write_full_state(*graph, *ends, *amounts, used, loads, *columns)  # type: ignore[call-arg]


@njit(cache=True)
def judge_paths(arguments, actions, largest, out):  # type: ignore[no-untyped-def]
    """`are_valid` with bound arguments."""
    lookup, ends, amounts, routed = opened(arguments)
    are_valid(actions, *lookup, *ends, *amounts, *routed, largest, out)  # type: ignore[call-arg]


@njit(cache=True)
def find_path(arguments, largest, begin):  # type: ignore[no-untyped-def]
    """`find_action` with bound arguments."""
    graph, hops, ends, amounts, routed, stream, path = opened(arguments)
    return find_action(*graph, hops, *ends, *amounts, *routed, largest, begin, stream, path)  # type: ignore[call-arg]
