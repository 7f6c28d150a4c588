"""Compiling ahead, so that the first answer after an installation is as good as later ones.

Compiled code is kept where :mod:`lagco.runtime.compiled_code` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lagco.core.env import Previews
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.solving.instance import solve

#: size of the instances: large enough for every member of a portfolio to have something to do
_SIZE = 8
_TURNS = 30


def warm(problems: Iterable[str] | None = None) -> Iterator[str]:
    """Answer a small instance of each problem (all registered ones by default); names when done."""
    for name in ENTRIES if problems is None else problems:
        cls = problem_class(name)
        if cls.defines("draw"):
            instance = cls.generate(_SIZE)
            for by in ("portfolio", "agent"):
                solve(instance, problem=cls, by=by, agent="default", turns=_TURNS)
            if issubclass(cls, Previews):  # agents may be helped by it
                solve(instance, problem=cls, by="greedy", turns=_TURNS)
        yield name
