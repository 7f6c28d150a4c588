"""The benchmark problems by name, and the classes of users by ``module:Class``.

``lagco.problems()`` lists them.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from lagco.core.problem import Problem
from lagco.errors import LagcoError, UnknownName, UsageError, suggest
from lagco.registration import ENTRIES, ProblemEntry


def list_problems() -> list[ProblemEntry]:
    """Every registered problem."""
    return list(ENTRIES.values())


def problem_class(problem: str | type[Problem]) -> type[Problem]:
    """The class of a problem given by name, as ``module:Class``, or as the class itself.

    A ``module:Class`` is imported, so pass on only what the user typed, never what a file says.
    """
    if isinstance(problem, type):
        if not issubclass(problem, Problem):
            raise UsageError(f"{problem.__name__} is not a lagco.Problem; derive it from one")
        return problem
    if problem in ENTRIES:
        loaded: object = ENTRIES[problem].load()
    elif ":" in problem:
        loaded = load_object(problem)
    else:
        message = suggest("problem", problem, ENTRIES)
        raise UnknownName(f"{message}; a class of your own is given as module:Class")
    if not (isinstance(loaded, type) and issubclass(loaded, Problem)):
        raise UsageError(f"{problem} is not a lagco.Problem; derive the class from lagco.Problem")
    return loaded


def registered_class(name: str, source: str) -> type[Problem]:
    """The class of a problem that a file names: registered ones only, so nothing is imported."""
    if name not in ENTRIES:
        raise LagcoError(
            f"{source} is for the problem {name!r}, which is not one of lagco's; "
            "say which class it is with problem='module:Class'"
        )
    return problem_class(name)


def load_object(path: str) -> object:
    """Import what ``module:name`` says."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise UnknownName(f"{path!r}: cannot import the module {module!r} ({error})") from error
    except AttributeError:
        raise UnknownName(f"{path!r}: the module {module!r} has no {name!r}") from None


class _Problems(ModuleType):
    """Lets the command ``lagco problems`` be ``lagco.problems()`` in Python."""

    def __call__(self) -> list[ProblemEntry]:
        return list_problems()


sys.modules[__name__].__class__ = _Problems
