"""Data sets: instances of a problem with their references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lagco.generation import REFERENCES, generate
from lagco.instances import DataSet, Instance
from lagco.problems import problem_class
from lagco.study.code import code_version
from lagco.study.ledger import Ledger, Record
from lagco.study.task import Task
from lagco.study.worker import Context, Outcome

#: seed of instances and splits, as in the paper
DATA_SEED = 42


def data_task(
    problem: str,
    n: int,
    *,
    sizes: str | None = None,
    sweeps: int | None = None,
    references: Sequence[str] = REFERENCES,
    seed: int = DATA_SEED,
) -> Task:
    """Task of generating a data set, with those of the references that the problem can make."""
    cls = problem_class(problem)
    hooks = {"sweeps": "sweep", "solver": "solve"}
    references = [name for name in references if cls.defines(hooks[name])]
    spec = {
        "problem": problem,
        "n": n,
        "seed": seed,
        "sizes": sizes,
        "sweeps": sweeps,
        "references": references,
        "code": code_version(problem, ("lagco.generation",)),
    }
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
