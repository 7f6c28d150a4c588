"""Options that a dataclass declares, as parameters of functions: names, types, defaults, words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

#: metadata of a field: the command takes the option several times
REPEATED = "repeated"


def declare_options(function: Callable[..., Any], options: type) -> None:
    """Give a function that takes the fields of a dataclass as ``**options`` their signature."""
    signature, hints = inspect.signature(function), get_type_hints(options)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    declared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(options)
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, *declared]
    )
    function.__annotations__ |= {name.name: hints[name.name] for name in fields(options)}


def descriptions(options: type) -> dict[str, str]:
    """Descriptions of attributes, from the docstrings of a class and its parents."""
    found: dict[str, str] = {}
    for kind in reversed(options.__mro__):
        _, _, section = (inspect.getdoc(kind) or "").partition("Attributes:\n")
        for name, words in re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.M):
            found[name] = " ".join(words.split())
    return found
