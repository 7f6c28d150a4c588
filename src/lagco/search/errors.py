"""Errors of the nearest-action search."""

from __future__ import annotations

from lagco.errors import LagcoError


class NoValidAction(LagcoError, LookupError):
    """No action of the set is valid, so there is no nearest one."""


class TooManyActions(LagcoError, ValueError):
    """The search would have to list the actions, and there are more than the stated cap."""
