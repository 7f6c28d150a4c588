"""`ospf` and `traffic`: the multi-commodity-flow LP as a bound, and HiGHS choosing among paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.outside.cases import SEED, WARM, Case, Comparison
from benchmarks.outside.measuring import as_numbers
from lagco.commands.generate import generate_instance
from lagco.instances import Instance
from lagco.instances.formats import read
from lagco.problems.networks.network import network_of
from lagco.problems.traffic.paths import hop_limits
from lagco.problems.traffic.routing import MAX_PATH_LEN

#: nodes of the networks that are drawn
SIZES = (20, 40)
NETWORKS = 2
#: files on which no move of ours was chosen, and their demands where these are apart
FILES = {
    "polska": ("sndlib/polska.txt", None),
    "germany50": ("sndlib_dynamic/germany50.xml", None),
    "synth50": ("repetita/synth50_opt_hard.graph", "repetita/synth50_opt_hard.demands"),
}
#: demands up to which paths are listed
MOST_DEMANDS = 1000


def cases(problem: str, folder: Path | None) -> Iterator[Case]:
    """Networks that are drawn, then files."""
    for n in SIZES:
        for index in range(NETWORKS):
            instance = generate_instance(problem, size=n, seed=SEED, index=index)
            yield _case(f"drawn, {n} nodes", str(index), instance)
    for name, (file, demands) in FILES.items() if folder else ():
        options = {} if demands is None else {"demands": folder / demands}
        yield _case(name, name, read(folder / file, problem, **options))


def _case(group: str, name: str, instance: Instance) -> Case:
    network = network_of(instance)
    edges, capacities = instance.array("edges"), instance.array("capacities")
    arcs = edges
    if not network.directed:
        arcs, capacities = np.hstack([edges, edges[::-1]]), np.tile(capacities, 2)
    longest = int(instance.params.get("max_path_len", MAX_PATH_LEN))
    given = as_numbers(
        nodes=network.num_nodes,
        arcs=arcs,
        capacities=capacities,
        demands=instance.array("demands"),
        volumes=instance.array("volumes"),
        hops=hop_limits(network, longest),
    )
    skipped = ("HiGHS on paths",) if network.num_demands > MOST_DEMANDS else ()
    return Case(group, name, instance, given, skipped)


def _comparison(problem: str, limited: tuple[str, ...]) -> Comparison:
    warm: Callable[[], Instance] = partial(generate_instance, problem, size=SIZES[0], seed=WARM)
    return Comparison(
        problem=problem,
        script="networks.py",
        limited=limited,
        whole=("flow LP (bound)",),
        cases=partial(cases, problem),
        warm=warm,
    )


OSPF = _comparison("ospf", ())
TRAFFIC = _comparison("traffic", ("HiGHS on paths",))
