"""Command-line options from the fields of a dataclass; None stands for what was not given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from lagco.cli.options import whole_number
from lagco.runtime.declared import REPEATED, descriptions

#: a parameter's annotation and default
Declared = tuple[Any, Any]


def declared_options(cls: type) -> dict[str, Declared]:
    """Annotation and default of an option for every field that text can give."""
    about, hints = descriptions(cls), get_type_hints(cls)
    return {
        field.name: _option(field, hints[field.name], about.get(field.name, ""))
        for field in fields(cls)
        if not str(field.type).startswith("Mapping")
    }


def declare_command(function: Callable[..., None], cls: type) -> None:
    """Give a command that takes ``**given`` the options of a dataclass, after its arguments."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    arguments = [p.name for p in own if p.default is inspect.Parameter.empty]
    named = {p.name: (hints[p.name], p.default) for p in own}
    first = {name: named.pop(name) for name in arguments}
    set_parameters(function, first | declared_options(cls) | named)


def set_parameters(function: Callable[..., None], parameters: Mapping[str, Declared]) -> None:
    """Make a command of a function that takes its parameters by name."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter(name, keyword, default=default, annotation=hint)
            for name, (hint, default) in parameters.items()
        ]
    )
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {name: hint for name, (hint, _) in parameters.items()}


def _option(field: Field[Any], hint: Any, about: str) -> Declared:
    about = about[:1].upper() + about[1:]
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    shown = ", ".join(map(str, default)) if isinstance(default, tuple) else default
    if shown is not None:
        about = f"{about} [default: {shown}]".replace("[default", r"\[default")
    several = field.metadata.get(REPEATED, False)
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    name = f"--{field.name.replace('_', '-')}"
    if kinds == [bool]:
        return Annotated[bool | None, typer.Option(f"{name}/--no-{name[2:]}", help=about)], None
    if kinds == [int]:
        whole = typer.Option(name, help=about, parser=whole_number, metavar="<int>")
        return Annotated[int | None, whole], None
    kind: Any = float if kinds == [float] else Path if Path in kinds else str
    if several:
        kind = list[kind]
    return Annotated[kind | None, typer.Option(name, help=about)], None
