"""Instances with the scenarios that the options ask for: demand matrices, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.core.scenarios import has_scenarios, with_scenarios
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.instances.formats import read
from lagco.instances.formats.networks.matrices import joined_matrices
from lagco.solving.options import SolveOptions

#: name of the variant in which nothing has failed
_WHOLE = "all up"


def read_matrices(
    source: str | Path, problem: str | None, options: SolveOptions
) -> tuple[Instance, dict[str, Array]]:
    """An instance from a file, and by name the volumes (D,) of its matrices, if it has several."""
    files = options.matrices
    if len(files) < 2:
        names = ("hosts", "columns", "catalogue", "reachability")
        tables = {name: getattr(options, name) for name in names}
        return read(source, problem, demands=files[0] if files else None, **tables), {}
    instance, volumes = joined_matrices([read(source, problem, demands=file) for file in files])
    return instance, dict(zip(_names(files), volumes, strict=True))


def spanned(
    cls: type[Problem],
    instance: Instance,
    matrices: Mapping[str, Array],
    options: SolveOptions,
) -> Instance:
    """The instance with a variant for every matrix, and for every failure under each of them."""
    failures: Mapping[str, Mapping[str, Array]] = {}
    if options.failures is not None:
        failures = cls.scenario_failures(instance, options.failures)
    if not failures and not matrices:
        return instance
    if has_scenarios(instance):
        raise UsageError(f"failures={options.failures}: {instance.name!r} has scenarios already")
    changed = {name: array for failure in failures.values() for name, array in failure.items()}
    usual = {
        name: instance.arrays.get(name, np.zeros_like(array)) for name, array in changed.items()
    }
    states = {_WHOLE: usual} | {f"without {name}": arrays for name, arrays in failures.items()}
    names: list[str] = []
    variants: list[dict[str, Array]] = []
    by_matrix: Mapping[str, Array | None] = matrices or {"": None}
    for matrix, volumes in by_matrix.items():
        for state, arrays in states.items():
            names.append(", ".join(filter(None, (matrix, state if failures else ""))))
            more = {} if volumes is None else {"volumes": volumes}
            variants.append({**usual, **arrays, **more})
    stacked = {name: np.stack([v[name] for v in variants]) for name in variants[0]}
    shares = None
    if options.matrix_shares:
        if len(options.matrix_shares) != max(len(matrices), 1):
            raise UsageError(
                f"shares={options.shares!r}: give a number for each of the {len(matrices)} matrices"
            )
        shares = np.repeat(np.array(options.matrix_shares), len(states))
    return with_scenarios(instance, names, stacked, by=options.scenarios, shares=shares)


def _names(files: Sequence[str | Path]) -> list[str]:
    """Names of matrices: of their files, with numbers where these are equal."""
    stems = [Path(file).name.partition(".")[0] for file in files]
    if len(set(stems)) < len(stems):
        stems = [Path(file).name for file in files]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{number} {stem}" for number, stem in enumerate(stems, start=1)]
