"""Data arguments of functions: folders, files, data sets, instances, seeds or options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias, cast

from lagco.core.adapter import EnvProblem, Options
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import DataSet, Instance

#: Where instances come from: a folder or file, a data set, instances, or options of ``reset``.
Data: TypeAlias = str | Path | DataSet | Sequence[Instance] | Options | Sequence[Options]


def instances_from(
    problem: type[Problem], data: Data | None, seeds: Iterable[int] | None = None
) -> DataSet | Sequence[Instance]:
    """The instances that `data` and `seeds` mean.

    Args:
        problem: class of the problem.
        data: folder of a data set or file of an instance, a data set, or instances; for
            environments also what ``reset(options=...)`` is given, one mapping or several.
        seeds: for environments, what ``reset(seed=...)`` is given; with every one of the options
            where those are given. Without seeds, option number i is given the seed i.
    """
    if isinstance(data, str | Path):
        if seeds is not None:
            raise UsageError(f"data={str(data)!r} and seeds={seeds!r}: give one of them")
        return checked_instances(problem, DataSet.load(data, problem.name))
    options: list[Any] = [data] if isinstance(data, Mapping) else []
    if isinstance(data, Sequence) and not isinstance(data, DataSet):
        given: list[Any] = list(data)
        options = given if all(isinstance(item, Mapping) for item in given) else []
    if seeds is None and not options:
        return checked_instances(problem, data)
    if not options and data is not None and (not hasattr(data, "__len__") or len(data)):
        raise UsageError("seeds= go with options of reset() in data=, not with instances")
    if not issubclass(problem, EnvProblem):
        raise UsageError(
            f"seeds= and options are for environments; {problem.name!r} has instances: make them "
            "with lagco.generate and give their folder as data="
        )
    if seeds is None:
        pairs = list(enumerate(options))
    else:
        chosen = [int(seeds)] if isinstance(seeds, Integral) else list(seeds)
        pairs = [(seed, option) for option in options or [None] for seed in chosen]
    if not pairs:
        raise UsageError(f"seeds={seeds!r}: give at least one")
    env: EnvProblem | None = None
    found = []
    for seed, option in pairs:
        if env is None:
            env = problem(problem.instance_of(seed, option))
        found.append(problem.instance_of(seed, option, env))
    return found


def checked_instances(problem: type[Problem] | None, data: Any) -> DataSet | Sequence[Instance]:
    """`data`, if it is a data set or a sequence of instances of the problem (None: of any)."""
    ways = "a folder, a data set or instances"
    if problem is not None and issubclass(problem, EnvProblem):
        ways = "seeds=, options of reset(), a folder, a data set or instances"
    if data is None or not hasattr(data, "__len__"):
        seen = "there is no data" if data is None else f"data={data!r}"
        raise UsageError(f"{seen}; give {ways}")
    if not len(data):
        raise UsageError(f"there is no instance in data={data!r}; give {ways}")
    if not isinstance(data, DataSet):
        for number, item in enumerate(data):
            if not isinstance(item, Instance):
                raise UsageError(f"data[{number}] is a {type(item).__name__}; give {ways}")
            if item.problem != data[0].problem:
                raise UsageError(
                    f"data[0] is for {data[0].problem!r} and data[{number}] for {item.problem!r}; "
                    "give instances of one problem"
                )
    first = data.problem if isinstance(data, DataSet) else data[0].problem
    if problem is not None and first != problem.name:
        raise UsageError(
            f"the data is for {first!r}, not for {problem.name!r}; give data of that problem, or "
            "the other problem"
        )
    return cast("DataSet | Sequence[Instance]", data)
