"""Generating data sets: instances and their references, in parallel, the same in any order."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from lagco.core.adapter import EnvProblem, Options
from lagco.core.data import instances_from
from lagco.core.problem import Problem
from lagco.core.rewards.references import misplaced_reference
from lagco.errors import InstanceError, SpecError, UsageError, suggest
from lagco.heuristics import solver_reference
from lagco.instances import DataSet, Entry, Instance, read
from lagco.instances.dataset import MANIFEST, TIMES
from lagco.instances.native import SUFFIX, instance_bytes
from lagco.problems import AnyProblem, problem_class
from lagco.runtime.parents import end_with
from lagco.runtime.progress import Progress
from lagco.store import write_atomically

REFERENCES = ("sweeps", "solver")

Sizes = int | str | Sequence[int] | None


def generate(
    problem: AnyProblem,
    n: int | None = None,
    *,
    seed: int = 42,
    out: str | Path,
    sizes: Sizes = None,
    seeds: Iterable[int] | None = None,
    options: Options | Sequence[Options] | None = None,
    references: str | Sequence[str] | None = None,
    sweeps: int | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> DataSet:
    """Generate a data set of `n` instances in the folder `out`.

    Instance i depends on problem, seed, i, sizes and options alone: neither on `n`, nor on the
    number of workers, nor on the order in which they work. A run that was interrupted goes on where
    it was.

    Args:
        problem: name, ``module:Class`` or class.
        n: number of instances; the paper's 101 by default, or as many as `seeds` and `options` say.
        seed: of the whole data set.
        out: folder; a data set made otherwise that is already there is left alone, with an error.
        sizes: one size, several in turn (``"20,50"`` or a list), or a range to draw from
            (``"10-20"``); the paper's range by default.
        seeds: for environments, what ``reset(seed=...)`` is given; drawn by default.
        options: of the problem's generator (keyword arguments of its ``draw``), for instance
            ``{"profile": "open"}`` for `cyber-path`; for environments, what ``reset(options=...)``
            is given: one mapping or several, each with each of the seeds.
        references: which to compute, among ``sweeps`` and ``solver``; by default those that the
            problem has.
        sweeps: number of sweeps; the paper's by default.
        workers: processes; one per core by default.
        progress: whether to show how it goes.
    """
    cls = problem_class(problem)
    given = None
    environment = issubclass(cls, EnvProblem)
    if seeds is not None or (environment and options is not None):
        if n is not None or sizes is not None:
            raise UsageError(f"n={n}, sizes={sizes!r}: seeds= and options= say which instances")
        given = instances_from(cls, options, seeds)
    n = (101 if given is None else len(given)) if n is None else n
    if references is None:
        hooks = {"sweeps": "sweep", "solver": "solve"}
        references = [name for name in REFERENCES if cls.defines(hooks[name])]
    wanted = _checked_references(references)
    if n < 1:
        raise UsageError(f"n={n}: a data set has at least one instance")
    if seed < 0:
        raise UsageError(f"seed={seed}: seeds are not negative")
    if sweeps is not None and sweeps < 1:
        raise UsageError(f"sweeps={sweeps}: at least 1; leave it out for the paper's number")
    folder = Path(out)
    recipe: dict[str, Any] = {
        "problem": cls.name,
        "seed": seed,
        "sizes": _spelled(sizes),
        "references": list(wanted),
        "sweeps": sweeps,
        "options": None,
    }
    if given is not None:
        recipe["resets"] = [dict(instance.params) for instance in given]
    elif options is not None:
        if not isinstance(options, Mapping):
            raise UsageError(f"options={options!r}: give a mapping of names to values")
        cls.check_options(options)
        recipe["options"] = dict(options) or None
    _sizes_of(recipe["sizes"], seed, 0)
    _refuse_other(folder, recipe | {"n": n})
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"out={str(folder)!r}: is a file; name a folder for the data set")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    jobs = min(workers or len(os.sched_getaffinity(0)), n)
    if environment:
        jobs = 1  # a seed is made faster than a process
    made: dict[int, tuple[Entry, dict[str, float]]] = {}
    place = folder.absolute()  # workers outlive this call and know another current folder
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_make)(cls, index, place, recipe, os.getpid()) for index in range(n)
    )
    try:
        with Progress(f"{cls.name} instances", n, show=progress) as shown:
            for index, entry, timings in shown.over(results):
                made[index] = entry, timings
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # it holds finished instances
                folder.rmdir()
        raise
    entries = [made[index][0] for index in range(n)]
    _write_timings(folder, {e.file: made[i][1] for i, e in enumerate(entries)})
    return DataSet.write(folder, cls.name, entries, recipe | {"n": n})


def generate_instance(
    problem: str | type[Problem],
    *,
    seed: int = 42,
    index: int = 0,
    size: int | None = None,
    references: str | Sequence[str] = (),
    sweeps: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Instance:
    """One instance, with the references asked for."""
    cls = problem_class(problem)
    instance = cls.generate(size, seed, index, **(options or {}))
    return add_references(cls, instance, _checked_references(references), sweeps, seed, index)[0]


def add_references(
    cls: type[Problem],
    instance: Instance,
    references: Sequence[str],
    sweeps: int | None = None,
    seed: int = 42,
    index: int = 0,
) -> tuple[Instance, dict[str, float]]:
    """The instance with new references, and the seconds that each took."""
    found = instance.references
    timings: dict[str, float] = {}
    reference_seed = int(np.random.SeedSequence([seed, index, 1]).generate_state(1)[0])
    for reference in references:
        began = time.perf_counter()
        if reference == "sweeps":
            found = replace(found, sweeps=cls.sweep(instance, sweeps, reference_seed).sweeps)
        else:
            known = instance.with_references(found)  # some scales need the sweeps' bounds
            found = replace(found, solver=solver_reference(cls, known, reference_seed))
        timings[reference] = time.perf_counter() - began
    wrong = misplaced_reference(cls, found)
    if wrong is not None:
        raise SpecError(f"instance {instance.name!r}: the reference {wrong[0]}; {wrong[1]}")
    return instance.with_references(found), timings


def _make(
    cls: type[Problem], index: int, folder: Path, recipe: dict[str, Any], parent: int
) -> tuple[int, Entry, dict[str, float]]:
    """Make instance `index` and write its file, unless it is there already.

    In a worker, as long as the process `parent` runs.
    """
    end_with(parent)
    path = folder / f"{index:04d}{SUFFIX}"
    instance = _finished(path, recipe, index)
    timings: dict[str, float] = {}
    if instance is None:
        size = _sizes_of(recipe["sizes"], recipe["seed"], index)
        instance = _drawn(cls, size, index, recipe)
        made = {key: value for key, value in recipe.items() if key != "resets"}
        instance = replace(instance, origin={**instance.origin, **made})
        instance, timings = add_references(
            cls, instance, recipe["references"], recipe["sweeps"], recipe["seed"], index
        )
        write_atomically(path, instance_bytes(instance))
    return index, Entry.of(path, instance, cls.extents(instance)), timings


def _drawn(cls: type[Problem], size: int | None, index: int, recipe: dict[str, Any]) -> Instance:
    if "resets" in recipe:
        assert issubclass(cls, EnvProblem)
        instance = cls.instance_of(**recipe["resets"][index])
        return replace(instance, origin={"index": index})
    return cls.generate(size, recipe["seed"], index, **(recipe["options"] or {}))


def _write_timings(folder: Path, timings: dict[str, dict[str, float]]) -> None:
    """Write what was measured; files that were there already keep what was measured then."""
    known: dict[str, Any] = {}
    with contextlib.suppress(InstanceError):
        known = TIMES.read(folder).measured
    kept = {name: seconds or known.get(name, {}) for name, seconds in timings.items()}
    TIMES.write(folder, {}, measured=kept)


def _finished(path: Path, recipe: dict[str, Any], index: int) -> Instance | None:
    """The instance that an interrupted run left at `path`, if it is the one to be made."""
    if not path.exists():
        return None
    try:
        instance = read(path)
    except InstanceError:
        return None
    made = {key: value for key, value in recipe.items() if key != "resets"}
    same = all(instance.origin.get(key) == value for key, value in made.items())
    if "resets" in recipe:
        same = same and dict(instance.params) == recipe["resets"][index]
    return instance if same and instance.origin.get("index") == index else None


def _refuse_other(folder: Path, recipe: dict[str, Any]) -> None:
    if not (folder / MANIFEST).exists():
        return
    present = DataSet.load(folder).generation
    other = [key for key, value in recipe.items() if key != "n" and present.get(key) != value]
    if recipe.get("n", math.inf) < present.get("n", 0):  # it may grow, but nothing is thrown away
        other.append("n")
    if other:
        differences = ", ".join(
            f"{key} is {present.get(key)!r} there and {recipe[key]!r} here" for key in other
        )
        raise InstanceError(
            f"{folder} holds another data set ({differences}); choose another folder or remove it"
        )


def _checked_references(references: str | Sequence[str]) -> tuple[str, ...]:
    names = references.split(",") if isinstance(references, str) else references
    names = REFERENCES if list(names) == ["both"] else names
    wanted = tuple(name.strip() for name in names if name.strip() and name.strip() != "none")
    for name in wanted:
        if name not in REFERENCES:
            raise UsageError(suggest("reference", name, REFERENCES))
    return tuple(name for name in REFERENCES if name in wanted)


def _spelled(sizes: Sizes) -> str | None:
    if sizes is None or isinstance(sizes, str):
        return sizes
    return str(sizes) if isinstance(sizes, int) else ",".join(str(int(size)) for size in sizes)


def _sizes_of(sizes: str | None, seed: int, index: int) -> int | None:
    """Size of instance `index`: in turn from a list, or drawn from a range."""
    if sizes is None:
        return None
    try:
        if "-" in sizes:
            low, high = (int(part) for part in sizes.split("-"))
            if low > high:
                raise UsageError(
                    f"sizes={sizes!r}: the range is empty; its smaller end comes first"
                )
            rng = np.random.default_rng([seed, index, 2])
            size = int(rng.integers(low, high, endpoint=True))
        else:
            listed = [int(part) for part in sizes.split(",")]
            size = listed[index % len(listed)]
            low = min(listed)
    except UsageError:
        raise
    except ValueError:
        raise UsageError(
            f"sizes={sizes!r}: give one size (20), several (20,50) or a range (10-20)"
        ) from None
    if low < 1:
        raise UsageError(f"sizes={sizes!r}: sizes must be positive")
    return size
