"""All that follows from a new path in `traffic`, compiled, with arguments that are read once."""

from __future__ import annotations

from numba import njit

from lagco.problems.networks.kernels import measure, plain_link_state
from lagco.problems.traffic.kernels import (
    add_loads,
    are_valid,
    draw_action,
    find_action,
    use_path,
    write_full_state,
)
from lagco.runtime.bound_arguments import opened


@njit(cache=True)
def _change_path(row, place, network, limits, routed, history):  # type: ignore[no-untyped-def]
    """Put a demand on another path, the one before is kept at a place of the history."""
    demand = row[0]
    history[place, 0] = demand
    history[place, 1:] = routed.paths[demand]
    use_path(demand, row[1:], network, limits, routed)


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
    network, limits, routed, history, (load, utilisation) = opened(arguments)
    if place >= 0:
        _change_path(row, place, network, limits, routed, history)
    add_loads(routed.used, network.volumes, routed.loads)
    plain_link_state(routed.loads, network.capacities, load, utilisation)
    return measure(routed.loads, network.capacities), 0.0


@njit(cache=True)
def reroute_and_judge(arguments, row, place):  # type: ignore[no-untyped-def]
    """The same with the columns of `full` features, and the level of the network."""
    network, limits, routed, history, (links, demands) = opened(arguments)
    if place >= 0:
        _change_path(row, place, network, limits, routed, history)
    # loads from all paths anew, which takes no longer than correcting them
    return write_full_state(network, limits, routed, links, demands)


@njit(cache=True)
def judge_paths(arguments, actions, largest, out):  # type: ignore[no-untyped-def]
    """`are_valid` with bound arguments."""
    network, limits, routed = opened(arguments)
    are_valid(actions, network, limits, routed, largest, out)


@njit(cache=True)
def find_path(arguments, largest, begin):  # type: ignore[no-untyped-def]
    """`find_action` with bound arguments."""
    network, limits, routed, stream, path = opened(arguments)
    return find_action(network, limits, routed, largest, begin, stream, path)


@njit(cache=True)
def draw_path(arguments, largest, stream, action):  # type: ignore[no-untyped-def]
    """`draw_action` with bound arguments."""
    network, limits, routed, walks = opened(arguments)
    return draw_action(network, limits, routed, largest, walks, stream, action)
