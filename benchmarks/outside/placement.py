"""`placement`: few machines, with optima that HiGHS proves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outside.cases import SEED, WARM, Case, Comparison
from benchmarks.outside.measuring import as_numbers
from lagco.commands.generate import add_references
from lagco.instances import Instance
from lagco.problems import problem_class
from lagco.problems.placement.cloud import cloud_of, links_of
from lagco.problems.placement.generator import draw_cloud
from lagco.problems.placement.latency import Latencies
from lagco.problems.placement.terms import bounds_of

#: VMs and hosts
SIZES = ((8, 5), (12, 6))
CLOUDS = 2
#: sweeps that the bounds of the terms are from
SWEEPS = 200


def drawn(vms: int, pms: int, seed: int, index: int) -> Instance:
    """A cloud with the bounds of its terms."""
    instance = draw_cloud(np.random.default_rng([seed, vms, pms, index]), vms, pms)
    cls = problem_class("placement")
    return add_references(cls, instance, ["sweeps"], SWEEPS, seed, index)[0]


def cases(folder: Path | None) -> Iterator[Case]:
    """Small clouds."""
    for vms, pms in SIZES:
        for index in range(CLOUDS):
            instance = drawn(vms, pms, SEED, index)
            cloud, latencies = cloud_of(instance), Latencies(links_of(instance))
            given = as_numbers(
                demands=cloud.demands,
                capacities=cloud.capacities,
                tenants=cloud.tenants,
                vulnerability=cloud.vulnerability,
                escape=cloud.escape,
                idle=cloud.idle,
                peak=cloud.peak,
                pairs=instance.array("traffic_pairs"),
                traffic=instance.array("traffic"),
                links=instance.array("latency_links"),
                latencies=instance.array("latencies"),
                bounds=bounds_of(instance, cloud, latencies),
            )
            yield Case(f"{vms} VMs, {pms} hosts", str(index), instance, given)


COMPARISON = Comparison(
    problem="placement",
    script="placement.py",
    limited=(),
    whole=("HiGHS (proven)",),
    cases=cases,
    warm=lambda: drawn(*SIZES[0], WARM, 0),
)
