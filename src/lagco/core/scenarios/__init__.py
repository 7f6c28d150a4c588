"""Several variants of an instance under one solution."""

from lagco.core.scenarios.variants import (
    MEAN,
    WORST,
    has_scenarios,
    joined,
    joins_by_mean,
    scenario_names,
    scenario_shares,
    variant,
    variants,
    with_scenarios,
)

__all__ = [
    "MEAN",
    "WORST",
    "has_scenarios",
    "joined",
    "joins_by_mean",
    "scenario_names",
    "scenario_shares",
    "variant",
    "variants",
    "with_scenarios",
]
