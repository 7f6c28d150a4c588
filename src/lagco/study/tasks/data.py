"""Data sets: instances of a problem with their references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.commands.generate import REFERENCES, generate
from lagco.errors import UsageError
from lagco.instances import DataSet, Instance
from lagco.problems import problem_class
from lagco.study.records.ledger import Ledger, Record
from lagco.study.running.code import code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task

#: seed of instances and splits, as in the paper
DATA_SEED = 42


def data_task(
    problem: str,
    n: int,
    *,
    sizes: str | None = None,
    sweeps: int | None = None,
    options: Mapping[str, Any] | None = None,
    references: Sequence[str] = REFERENCES,
    seed: int = DATA_SEED,
) -> Task:
    """Task of generating a data set, with those of the references that the problem can make.

    Args:
        problem: as the user typed it.
        n: number of instances.
        sizes: as in ``lagco generate``.
        sweeps: number of sweeps; the paper's by default.
        options: of the problem's generator.
        references: which to compute.
        seed: of the instances.
    """
    cls = problem_class(problem)
    if cls.stochastic:
        raise UsageError(
            f"{problem} is stochastic, and studies compare the best of several episodes, which "
            "would be luck; compare policies by evaluate, whose means are over fresh draws"
        )
    if not cls.defines("sweep"):  # every problem has a solver, if only search by its rules
        references = [name for name in references if name != "sweeps"]
    spec: dict[str, Any] = {
        "problem": problem,
        "n": n,
        "seed": seed,
        "sizes": sizes,
        "sweeps": sweeps,
        "references": list(references),
        "code": code_version(problem, ("lagco.commands.generate",)),
    }
    if options:
        spec["options"] = dict(options)
    return Task("data", f"{problem}-{n}", spec)


def used_data(ledger: Ledger, task: Task) -> tuple[dict[str, Any], Record | None]:
    """Entries of a specification that name a data set, and its record once it is made."""
    record = ledger.get(task)
    checksum = None if record is None else record.result["checksum"]
    return {"data": task.key, "data_checksum": checksum}, record


def do(context: Context) -> Outcome:
    """Generate the instances and their references."""
    spec = context.spec
    data = generate(
        spec["problem"],
        spec["n"],
        seed=spec["seed"],
        out=context.folder,
        sizes=spec["sizes"],
        references=spec["references"],
        sweeps=spec["sweeps"],
        options=spec.get("options"),
        workers=1,
        progress=False,
    )
    return {
        "checksum": data.checksum,
        "instances": [_described(index, data) for index in range(len(data))],
    }, {}


def _described(index: int, data: DataSet) -> dict[str, Any]:
    entry, solver = data.entries[index], data[index].references.solver
    return {
        "index": index,
        "name": entry.name,
        "size": entry.size,
        "checksum": entry.checksum,
        "extents": dict(entry.extents),
        "solver_status": None if solver is None else solver.status,
    }


def chosen(data: DataSet, indices: Sequence[int]) -> list[Instance]:
    """Some instances of a data set."""
    return [data[index] for index in indices]
