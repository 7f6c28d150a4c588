"""Small networks with scenarios."""

from dataclasses import replace

import numpy as np

from lagco.core.scenarios import with_scenarios
from lagco.problems.networks.events.failures import failures_of


def with_present(cls, size, seed, highest=5):
    """A drawn network with a configuration in force."""
    drawn = cls.generate(size, seed=seed)
    links = drawn.array("edges").shape[1]
    if cls.name == "ospf":
        drawn = replace(drawn, params={**drawn.params, "max_weight": highest})
        return cls.with_present(drawn, np.ones(links, dtype=np.int64))
    env = cls(drawn, start="default")
    env.reset(seed=seed)
    return cls.with_present(drawn, env.solution())


def spanned(instance, seed=0, by="worst", shares=None, matrices=2, failures="links"):
    """The same under several matrices and failures of links."""
    rng = np.random.default_rng(seed)
    volumes = instance.array("volumes")
    drawn = [volumes, *(volumes * rng.uniform(0.2, 2.0, len(volumes)) for _ in range(matrices - 1))]
    none = np.zeros(instance.array("edges").shape[1], dtype=np.int8)
    failed = [none]
    if failures:
        failed += [arrays["failed"] for arrays in failures_of(instance, failures).values()]
    cases = [(v, f) for v in drawn for f in failed]
    names = [f"case {number}" for number in range(len(cases))]
    arrays = {
        "volumes": np.array([v for v, _ in cases]),
        "failed": np.array([f for _, f in cases]),
    }
    return with_scenarios(instance, names, arrays, by=by, shares=shares)
