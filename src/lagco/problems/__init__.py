"""The benchmark problems by name, and the classes of users by ``module:Class``.

``lagco.problems()`` lists them.
"""

from __future__ import annotations

import sys
import traceback
from os import sep
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import gymnasium as gym

from lagco.core.adapter import EnvMaker, adapted
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UnknownName, UsageError, suggest
from lagco.problem_table import ENTRIES, ProblemEntry
from lagco.runtime.user_modules import import_user_module

#: a name, ``module:Class``, a class of problems or environments, or what makes an environment
AnyProblem: TypeAlias = str | type[Problem] | EnvMaker


def list_problems() -> list[ProblemEntry]:
    """Every registered problem."""
    return list(ENTRIES.values())


def problem_class(problem: AnyProblem) -> type[Problem]:
    """The class of a problem given by name, as ``module:Class``, or as the class itself.

    Of a :class:`~lagco.ContinuousEnv` that is no :class:`~lagco.Problem`, or a function that makes
    one, it is the class that lets the environment be used as one; see
    :class:`lagco.core.adapter.EnvProblem`. A ``module:Class`` is imported, so pass on only what the
    user typed, never what a file says.
    """
    if isinstance(problem, str):
        if problem in ENTRIES:
            loaded: Any = ENTRIES[problem].load()
        elif ":" in problem:
            loaded = load_object(problem)
        else:
            message = suggest("problem", problem, ENTRIES)
            raise UnknownName(f"{message}; a class of your own is given as module:Class")
    else:
        loaded = problem
    if isinstance(loaded, type) and issubclass(loaded, Problem):
        return loaded
    if isinstance(loaded, gym.Env):
        name = type(loaded.unwrapped).__name__
        raise UsageError(
            f"problem={loaded}: an environment; give its class {name}, or a function that makes "
            f"one, such as lambda: {name}(...)"
        )
    if not callable(loaded):
        raise UsageError(
            f"problem={loaded!r}: give the name of a problem, module:Class, a class derived from "
            "lagco.Problem or lagco.ContinuousEnv, or a function that makes an environment"
        )
    found = adapted(loaded)
    if found.name in ENTRIES:
        raise UsageError(
            f"{found.source.__name__} is called {found.name!r} in files, as one of lagco's "
            "problems; give the class another name= of its own"
        )
    return found


def registered_class(name: str, source: str) -> type[Problem]:
    """The class of a problem that a file names: registered ones only, so nothing is imported."""
    if name not in ENTRIES:
        raise LagcoError(
            f"{source} is for the problem {name!r}, which is not one of lagco's; "
            "say which class it is with problem='module:Class'"
        )
    return problem_class(name)


def load_object(path: str) -> object:
    """Import what ``module:name`` says; an error in the module names its file and line."""
    module, _, name = path.partition(":")
    try:
        loaded = import_user_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in _parents(module):
            raise UnknownName(
                f"{path!r}: there is no module {error.name!r} here; check its spelling, and run "
                "lagco in its folder or install it"
            ) from None
        raise UsageError(
            f"{path!r}: the module {module!r} cannot be imported: {described(error)}; mend it there"
        ) from error
    try:
        return getattr(loaded, name)
    except AttributeError:
        own = {n: v for n, v in vars(loaded).items() if callable(v) and n[0] != "_"}
        defined = [n for n, v in own.items() if getattr(v, "__module__", "") == loaded.__name__]
        names = defined or list(own)  # what the module imports is seldom meant
        raise UnknownName(f"{path!r}: {suggest('name in the module', name, names)}") from None


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def described(error: BaseException) -> str:
    """An exception, with the user's own line that it came from."""
    return user_line(error) or _said(error)


def user_line(error: BaseException) -> str | None:
    """An exception and the user's own line that it came from; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        line = (error.text or "").strip()
        return f"SyntaxError: {error.msg}, in {error.filename}, line {error.lineno}: {line}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(f.filename)]
    if not frames:
        return None
    last = frames[-1]
    return f"{_said(error)}, in {last.filename}, line {last.lineno}: {last.line}"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _is_users(filename: str) -> bool:
    foreign = ("<", "site-packages", f"{sep}lib{sep}python", str(Path(__file__).parent.parent))
    return not any(part in filename for part in foreign)


class _Problems(ModuleType):
    """Lets the command ``lagco problems`` be ``lagco.problems()`` in Python."""

    def __call__(self) -> list[ProblemEntry]:
        return list_problems()


sys.modules[__name__].__class__ = _Problems
