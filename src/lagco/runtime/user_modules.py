"""Modules of the user's own, which ``module:Class`` and ``rule:module:function`` name."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

_folder: str | None = None


def look_in(folder: str) -> None:
    """Search a folder for such modules too, after everything that is installed.

    It is put on the path when the first of them is imported, and not before: a file beside the
    user's data must not take the place of a module that lagco or a library needs.
    """
    global _folder
    _folder = folder


def import_user_module(name: str) -> ModuleType:
    """A module that the user has named."""
    if _folder is not None and _folder not in sys.path:
        sys.path.append(_folder)
    return importlib.import_module(name)
