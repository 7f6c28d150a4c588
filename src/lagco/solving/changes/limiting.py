"""Instances with what the options say of the present state and of what may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes import FIXED, MAX_CHANGES, evaluated, incumbent_of
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import Instance
from lagco.instances.formats import read_solution
from lagco.instances.formats.source import Source
from lagco.instances.formats.table import table_of
from lagco.instances.instance import ASKED
from lagco.solving.options import SolveOptions


def limited(cls: type[Problem], instance: Instance, options: SolveOptions) -> Instance:
    """The instance with the incumbent, the limits and the budget that the options give.

    Raises:
        UsageError: the problem has no incumbents, or the incumbent is no solution.
        InstanceError: a file names what the instance does not have.
    """
    given = instance
    if options.incumbent is not None:
        instance = with_incumbent(cls, instance, options.incumbent)
    if options.weights:
        instance = cls.with_aims(instance, options.weights)
    arrays: dict[str, Array] = {}
    if options.fixed is not None:
        if len(cls.element_names(instance)) == 0 and not cls.defines("limits_from"):
            raise UsageError(f"fixed={options.fixed!r}: {missing_incumbent(cls, instance)}")
        arrays.update(limits_from(cls, instance, options.fixed))
    params = dict(instance.params)
    if options.max_changes is not None:
        params[MAX_CHANGES] = options.max_changes
    if not arrays and len(params) == len(instance.params) and options.max_changes is None:
        return _asked(instance, given)
    if incumbent_of(cls, instance) is None and (options.max_changes is not None or FIXED in arrays):
        name = "max_changes" if options.max_changes is not None else "fixed"
        raise UsageError(f"{name}={getattr(options, name)!r}: {missing_incumbent(cls, instance)}")
    found = replace(instance, arrays={**instance.arrays, **arrays}, params=params)
    return _asked(found, given)


def _asked(instance: Instance, given: Instance) -> Instance:
    """What options make of a given instance: its solutions are still solutions of the given one."""
    if instance is given:
        return given
    return replace(instance, origin={**instance.origin, ASKED: given.asked})


def missing_incumbent(cls: type[Problem], instance: Instance) -> str:
    """Why there is nothing to change from, and what to do about it."""
    if cls.present is None:
        return (
            f"{cls.name} has no configuration in force; leave it out, or name the array that holds "
            f"one in {cls.__name__}.present"
        )
    return f"{instance.name!r} has no incumbent to change from; give one by incumbent="


def with_incumbent(cls: type[Problem], instance: Instance, given: Any) -> Instance:
    """The instance with a present configuration: an array, or the file of a solution."""
    if cls.present is None:
        raise UsageError(f"incumbent={str(given)!r}: {missing_incumbent(cls, instance)}")
    solution = given
    if isinstance(given, str | Path):
        solution = read_solution(instance, given, form=cls.solution_form)
    solution = np.asarray(solution)
    found = cls.with_present(instance, solution)
    try:
        cls.form.check(found)
        cls.elements(found, solution)
        evaluated(cls, found, solution)
    except LagcoError as error:
        raise UsageError(f"incumbent={shown(given)}: {error}") from None
    return found


def limits_from(
    cls: type[Problem], instance: Instance, given: str | Path | Sequence[str]
) -> Mapping[str, Array]:
    """Arrays of limits from a table, or from the names of elements that may not change.

    A table is a CSV file; what its columns mean the problem says (`Problem.limits_from`), and a
    column ``element`` names elements that may not change in every problem.
    """
    if not isinstance(given, str | Path):
        return cls.limits_from(instance, [{"element": name} for name in given])
    table = table_of(Source.load(given))
    try:
        return cls.limits_from(instance, table)
    except InstanceError as error:
        raise InstanceError(f"{given}: {error}") from None


def shown(given: Any) -> str:
    """An option's value, arrays by their shape."""
    if isinstance(given, np.ndarray | list | tuple):
        return f"array of shape {np.shape(given)}"
    return str(given)
