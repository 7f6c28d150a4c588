"""Exceptions. Every message names the culprit, the value seen and what to do about it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType

#: largest number of known names listed in a message
_LISTED = 20
#: characters of a name that are compared with known names
_COMPARED = 200


class LagcoError(Exception):
    """Base class of every error lagco raises on purpose."""


class SpecError(LagcoError, ValueError):
    """A declaration of a problem (attribute, component, observation) is wrong."""


class UsageError(LagcoError, ValueError):
    """An argument, option or setting is wrong, or does not go with the others."""


class ResetNeeded(LagcoError, RuntimeError):
    """An environment was stepped before its first reset, or after the end of its episode."""


class InstanceError(LagcoError, ValueError):
    """An instance or data set cannot be read, written or used; the message names the file."""


class WriteError(LagcoError, OSError):
    """A file cannot be written (no room, no permission); what was there before is unchanged."""


class CheckError(LagcoError):
    """A problem failed :func:`lagco.check_problem`; the message lists every finding."""


class UnknownName(LagcoError, KeyError):
    """A name that is in no registry; the message suggests close ones."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class MissingExtra(LagcoError, ImportError):
    """A feature needs an optional dependency that is not installed."""


class TooLarge(LagcoError):
    """An instance is larger than what a padded agent was trained for; it is not decided on."""


def close_to(name: object, known: Iterable[str], most: int = 1) -> list[str]:
    """The closest of the `known` names, at most so many, if any is close."""
    # the time of a comparison grows with the product of both lengths
    return difflib.get_close_matches(str(name)[:_COMPARED], list(known), n=most, cutoff=0.5)


def suggest(
    kind: str, name: object, known: Iterable[str], likely: Iterable[str] | None = None
) -> str:
    """Return the message for an unknown `name`, with the closest of the `known` names.

    Args:
        kind: what is named.
        name: the name that is not known.
        known: the names that are.
        likely: those among which the closest is sought; all without.
    """
    names = list(known)
    close = close_to(name, names if likely is None else likely)
    hint = f"did you mean {close[0]!r}? " if close else ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"unknown {kind} {name!r}: {hint}known are {', '.join(names[:_LISTED])}{more}"


def require_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say which extra brings it and how to install that.

    Args:
        module: what to import, for instance ``"ortools.sat.python.cp_model"``.
        extra: the extra of lagco that carries it.
        purpose: what the user asked for, as the subject of the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs {module.split('.')[0]!r}, which the extra {extra!r} brings: "
            f"pip install 'lagco[{extra}]'"
        ) from error


def readable(text: str) -> str:
    """Text that can be written: bytes of file names that are not UTF-8 are spelled out."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
