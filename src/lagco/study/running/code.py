"""Version of the code of a task: a hash over the source files that its outcome depends on.

The files are found by following imports from the modules that do the work, so that an edit of a
page, a command, another problem or another method does not make finished runs stale.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from lagco.agents.registry import method_of
from lagco.core.problem import Problem
from lagco.problems import problem_class
from lagco.store.sources import sources
from lagco.version import __version__

#: what training runs and their tests call
TRAINING = ("lagco.agents.training.trainer", "lagco.commands.evaluate")
#: raised when the way in which records are computed changes
PROTOCOL = 3


@functools.cache
def code_version(
    problem: str | type[Problem], modules: tuple[str, ...], method: str | None = None
) -> dict[str, Any]:
    """Version of lagco, the method, and a hash over the code that a task runs.

    It is computed once per process: code that is edited later is not what this process runs.

    Args:
        problem: of the task.
        modules: those that do the work of the task; the problem's and the method's are added.
        method: of the task; None for one that involves no method.
    """
    roots = [problem_class(problem).__module__, *modules]
    if method is not None:
        roots.append(type(method_of(method)).__module__)
    packages = {"lagco", *(module.split(".")[0] for module in roots)}
    digest = hashlib.sha256(str(PROTOCOL).encode())
    for name, content in sources(roots, packages):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return {
        "version": __version__,
        "method": method,
        "modules": list(modules),
        "hash": digest.hexdigest(),
    }
