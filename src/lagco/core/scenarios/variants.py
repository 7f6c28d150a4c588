"""Scenarios: variants of an instance under one solution, and their joint objective.

An instance has scenarios where it has the array ``scenario_names`` (S,). An array ``variant_x``
(S, …) holds what the array ``x`` is in each variant. The objective is the worst of all variants, or
with the parameter ``scenarios`` = ``mean`` their mean, weighted by the array ``scenario_shares``.
A single variant is the plain problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, UsageError, suggest
from lagco.instances import Instance

#: arrays of an instance with scenarios
NAMES, SHARES, VARIANT = "scenario_names", "scenario_shares", "variant_"
#: parameter: how their objectives are joined
JOINED_BY = "scenarios"
WORST, MEAN = "worst", "mean"


def has_scenarios(instance: Instance) -> bool:
    """Whether an instance has several variants."""
    return NAMES in instance.arrays


def scenario_names(instance: Instance) -> list[str]:
    """Names of the variants."""
    return [str(name) for name in instance.array(NAMES).tolist()]


def scenario_shares(instance: Instance) -> Array:
    """Share (S,) of each variant in a mean, 1 in all."""
    count = len(instance.array(NAMES))
    shares: Array = np.asarray(instance.arrays.get(SHARES, np.ones(count)), dtype=np.float64)
    if shares.shape != (count,) or shares.min() < 0.0 or not shares.any():
        raise InstanceError(
            f"instance {instance.name!r}: {SHARES} has shape {shares.shape} and the smallest is "
            f"{shares.min():g}; give {count} numbers that are not negative"
        )
    return shares / shares.sum()


def joins_by_mean(instance: Instance) -> bool:
    """Whether the joint objective is the mean instead of the worst."""
    chosen = instance.params.get(JOINED_BY, WORST)
    if chosen not in (WORST, MEAN):
        raise InstanceError(
            f"instance {instance.name!r}: {suggest(JOINED_BY, str(chosen), [WORST, MEAN])}"
        )
    return bool(chosen == MEAN)


def variant(instance: Instance, number: int) -> Instance:
    """One variant, as an instance without scenarios."""
    arrays = {
        name: array
        for name, array in instance.arrays.items()
        if name not in (NAMES, SHARES) and not name.startswith(VARIANT)
    }
    for name, array in instance.arrays.items():
        if name.startswith(VARIANT):
            if len(array) != len(instance.array(NAMES)):
                raise InstanceError(
                    f"instance {instance.name!r}: {name} has {len(array)} rows, and there are "
                    f"{len(instance.array(NAMES))} scenarios"
                )
            arrays[name.removeprefix(VARIANT)] = array[number]
    params = {name: value for name, value in instance.params.items() if name != JOINED_BY}
    return replace(instance, arrays=arrays, params=params)


def variants(instance: Instance) -> list[Instance]:
    """All variants; the instance itself where it has no scenarios."""
    if not has_scenarios(instance):
        return [instance]
    return [variant(instance, number) for number in range(len(instance.array(NAMES)))]


def joined(instance: Instance, values: Array, *, maximise: bool) -> float:
    """The joint objective of the values (S,) of all variants."""
    if joins_by_mean(instance):
        return float(scenario_shares(instance) @ values)
    return float(values.min() if maximise else values.max())


def with_scenarios(
    instance: Instance,
    names: Sequence[str],
    arrays: Mapping[str, Array],
    *,
    by: str = WORST,
    shares: Array | None = None,
) -> Instance:
    """The instance with scenarios.

    Args:
        instance: without scenarios.
        names: of the variants.
        arrays: by name of an array of the instance, what it is in each variant (S, …).
        by: ``worst`` or ``mean``.
        shares: of the variants in a mean (S,); equal ones by default.
    """
    if by not in (WORST, MEAN):
        raise UsageError(suggest(JOINED_BY, by, [WORST, MEAN]))
    own: dict[str, Array] = {NAMES: np.array(list(names))}
    if shares is not None:
        own[SHARES] = np.asarray(shares, dtype=np.float64)
    own |= {VARIANT + name: np.asarray(array) for name, array in arrays.items()}
    params = {**instance.params, JOINED_BY: by}
    return replace(instance, arrays={**instance.arrays, **own}, params=params)
