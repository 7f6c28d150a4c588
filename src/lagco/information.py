"""What a file or folder is, and whether a problem is sound: the commands `info` and `check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.core.checker import check_problem
from lagco.core.finding import Finding
from lagco.errors import InstanceError, UsageError
from lagco.instances import DataSet, Instance, read_instance
from lagco.instances.dataset import TIMES, TIMINGS
from lagco.problems import load_object, problem_class
from lagco.registration import ENTRIES


def info(path: str | Path) -> dict[str, Any]:
    """Describe an instance file, the folder of a data set, or that of a trained agent.

    The data set is verified: every file is there and is what the manifest lists.
    """
    path = Path(path)
    if (path / "agent.json").exists():
        from lagco.agents.bundle import load, read_description

        description = read_description(path)
        if description["problem"] in ENTRIES:  # of another's problem, only the description is read
            load(path, decoder="nearest")  # a rule that it names is not imported
        return {"kind": "agent", **description}
    if path.is_dir():
        return _about_data(DataSet.load(path))
    if not path.exists():
        raise InstanceError(f"{path}: no such file or folder")
    return _about_instance(read_instance(path))


def check(
    problem: str | type[gym.Env[Any, Any]] | gym.Env[Any, Any],
    *,
    seed: int = 0,
    episodes: int = 2,
    max_steps: int = 200,
) -> list[Finding]:
    """Check a problem given by name, as ``module:Class``, as a class or as an environment.

    Returns the findings; see :func:`lagco.check_problem` for what is checked.
    """
    if isinstance(problem, str):
        target: Any = problem_class(problem) if problem in ENTRIES else load_object(problem)
    else:
        target = problem
    if isinstance(target, type):
        if not issubclass(target, gym.Env):
            raise UsageError(f"{problem} is not a Gymnasium environment")
        try:
            target = target()
        except TypeError as error:
            raise UsageError(
                f"{problem} cannot be made without arguments ({error}); give them defaults, or "
                "call lagco.check_problem(env) on one that you made"
            ) from error
    return check_problem(target, seed=seed, episodes=episodes, max_steps=max_steps, raises=False)


def _about_instance(instance: Instance) -> dict[str, Any]:
    return {
        "kind": "instance",
        "problem": instance.problem,
        "name": instance.name,
        "size": instance.size,
        "checksum": instance.checksum,
        "params": dict(instance.params),
        "arrays": {
            name: f"{array.dtype} {list(array.shape)}" for name, array in instance.arrays.items()
        },
        "references": {
            kind: {k: v for k, v in asdict(reference).items() if not isinstance(v, np.ndarray)}
            for kind in ("sweeps", "solver")
            if (reference := getattr(instance.references, kind)) is not None
        },
        "origin": dict(instance.origin),
    }


def _about_data(data: DataSet) -> dict[str, Any]:
    sizes = [entry.size for entry in data.entries]
    statuses: dict[str, int] = {}
    for instance in data:  # reading verifies
        solver = instance.references.solver
        status = "none" if solver is None else f"{solver.solver} ({solver.status})"
        statuses[status] = statuses.get(status, 0) + 1
    described: dict[str, Any] = {
        "kind": "data set",
        "problem": data.problem,
        "instances": len(data),
        "sizes": [min(sizes), int(np.median(sizes)), max(sizes)] if sizes else [],
        "extents": data.extents,
        "solver": statuses,
        "generation": dict(data.generation),
        "checksum": data.checksum,
    }
    timings = data.folder / TIMINGS
    if timings.exists():
        try:
            per_file = TIMES.read(data.folder).measured
            totals: dict[str, float] = {}
            for seconds in per_file.values():
                for kind, value in seconds.items():
                    totals[kind] = totals.get(kind, 0.0) + value
            described["seconds"] = {kind: round(value, 3) for kind, value in totals.items()}
        except (InstanceError, AttributeError, TypeError):
            described["seconds"] = f"{TIMINGS} is damaged (it is not needed)"
    return described
