"""Version of the code of a task: a hash over the source files that its outcome depends on.

The files are found by following imports from the modules that do the work, so that an edit of a
page, a command, another problem or another method does not make finished runs stale.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import lagco
from lagco.agents.registry import method_of
from lagco.core.problem import Problem
from lagco.problems import problem_class
from lagco.store.sources import sources

#: what every task may call; the modules of its problem and method are added to it
ROOTS = (
    "lagco.agents.bench",
    "lagco.agents.throughput",
    "lagco.agents.training",
    "lagco.evaluation",
    "lagco.generation",
    "lagco.pretraining",
)
#: raised when the way in which records are computed changes
PROTOCOL = 2


@functools.cache
def code_version(
    problem: str | type[Problem], method: str | None = None, modules: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Version of lagco, the method, and a hash over the code that a task runs.

    It is computed once per process: code that is edited later is not what this process runs.

    Args:
        problem: of the task.
        method: of the task; None for one that involves no method.
        modules: others that the task depends on.
    """
    roots = [problem_class(problem).__module__, *modules]
    if method is not None:
        roots.append(type(method_of(method)).__module__)
    packages = {"lagco", *(module.split(".")[0] for module in roots)}
    digest = hashlib.sha256(str(PROTOCOL).encode())
    for name, content in sources([*ROOTS, *roots], packages):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    found = {"version": lagco.__version__, "method": method, "hash": digest.hexdigest()}
    return found | ({"modules": list(modules)} if modules else {})
