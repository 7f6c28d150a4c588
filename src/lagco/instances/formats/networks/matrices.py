"""Several traffic matrices of one network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances.instance import Instance


def joined_matrices(networks: Sequence[Instance]) -> tuple[Instance, Array]:
    """The network with the demands of any of several matrices, and the volumes in each: (M, D).

    Its own volumes are those of the first one. What a matrix does not demand has the volume 0.
    """
    first = networks[0]
    places: dict[tuple[int, ...], int] = {}
    for network in networks:
        if not np.array_equal(network.array("edges"), first.array("edges")):
            raise InstanceError(f"{network.name!r}: its matrices are not of the same network")
        for pair in network.array("demands").T.tolist():
            places.setdefault(tuple(pair), len(places))
    volumes = np.zeros((len(networks), len(places)))
    for m, network in enumerate(networks):
        pairs = [places[tuple(pair)] for pair in network.array("demands").T.tolist()]
        volumes[m, pairs] = network.array("volumes")
    demands = np.array(list(places), dtype=np.int64).T
    arrays = {**first.arrays, "demands": demands, "volumes": volumes[0]}
    notes = [note for network in networks for note in network.origin.get("notes", ())]
    origin = {**first.origin, "notes": list(dict.fromkeys(notes))}
    size = len(places) if first.problem == "traffic" else first.size
    return replace(first, arrays=arrays, size=size, origin=origin), volumes
