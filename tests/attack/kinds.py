"""Kinds of files that are attacked, and where their originals are made."""

from __future__ import annotations

import functools
import importlib

_MODULES = {
    "instance_kinds": ("instance-text", "instance-native", "demands", "solution", "data-set"),
    "trained_kinds": ("agent", "encoder", "space", "checkpoint", "run", "demonstrations"),
    "study_kinds": ("record", "archive", "failure", "claim", "study", "config"),
}
KINDS = {kind: module for module, kinds in _MODULES.items() for kind in kinds}


@functools.cache
def variants(kind):
    """The originals of a kind, made once; other kinds are not even imported."""
    module = importlib.import_module(f"tests.attack.{KINDS[kind]}")
    return tuple(getattr(module, kind.replace("-", "_"))())
