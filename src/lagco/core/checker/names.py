"""Names that a class uses for its own attributes though its bases from lagco use them already."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache, cached_property
from textwrap import dedent
from typing import Any

from lagco.core.checker.finding import Finding, shown
from lagco.core.env import ContinuousEnv

#: what authors assign by design
_FREE = frozenset(
    (
        "_node_attributes",
        "_edge_attributes",
        "_observation_type",
        "_action_type",
        "action_space",
        "observation_space",
        "render_mode",
        "metadata",
        "spec",
    )
)
#: values that may well be functions
_CALLABLE = (ast.Lambda, ast.Name, ast.Attribute, ast.Call)
#: characters of a value that a finding shows
_SHOWN = 60


def check_names(env: ContinuousEnv | type) -> Iterator[Finding]:
    """No attribute of an instance hides a method of lagco's classes, or what they keep there."""
    cls = env if isinstance(env, type) else type(env)
    own, bases = _own_and_bases(cls)
    kept = {name: base for base in reversed(bases) for name in _kept_by(base)}
    found: dict[str, str] = {}
    for author in own:
        for name, value in vars(author).items():
            if _calls(bases, name) and not (value is None or callable(value) or _gets(value)):
                found[name] = f"{_what(bases, name)} with {shown(value)[:_SHOWN]}"
        for name, value in _assigned_by(author).items():
            if name in _FREE or any(name in vars(known) for known in own):
                continue
            if _is_method(bases, name) and not isinstance(value, _CALLABLE):
                found[name] = _what(bases, name)
            elif name in kept:
                found[name] = f"is what {kept[name].__name__} keeps under that name"
    if not isinstance(env, type):
        for name, attribute in vars(env).items():
            if _is_method(bases, name) and not callable(attribute):
                found.setdefault(name, f"{_what(bases, name)} with {shown(attribute)[:_SHOWN]}")
    for name, what in sorted(found.items()):
        yield Finding("names", f"self.{name}", what, "rename the attribute")


def _own_and_bases(cls: type) -> tuple[list[type], list[type]]:
    """Classes of the author, and those of lagco and Gymnasium that they derive from."""
    ours = [base for base in cls.__mro__ if base.__module__.split(".")[0] in ("lagco", "gymnasium")]
    own = [base for base in cls.__mro__ if base not in ours and base is not object]
    return own, ours


def _defined(bases: list[type], name: str) -> Any:
    return next((vars(base)[name] for base in bases if name in vars(base)), None)


def _calls(bases: list[type], name: str) -> bool:
    value = _defined(bases, name)
    return callable(value) or isinstance(value, classmethod)


def _is_method(bases: list[type], name: str) -> bool:
    return _calls(bases, name) or isinstance(_defined(bases, name), property | cached_property)


def _gets(value: Any) -> bool:
    """Whether it is a descriptor, which may give a function."""
    return hasattr(type(value), "__get__")


def _what(bases: list[type], name: str) -> str:
    base = next(base for base in bases if name in vars(base))
    return f"hides {base.__name__}.{name}()"


@cache
def _kept_by(cls: type) -> frozenset[str]:
    """Attributes that a class of lagco's core keeps on its instances."""
    return frozenset(_assigned_by(cls)) if cls.__module__.startswith("lagco.core") else frozenset()


def _assigned_by(cls: type) -> dict[str, Any]:
    """Names that methods of a class assign on `self`, with their last values; {} without source."""
    try:
        tree = ast.parse(dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):  # written in a console, or indented oddly
        return {}
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for part in parts:
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self":
                    found[part.attr] = value
    return found
