"""What a nearest-action search raises."""

from __future__ import annotations


class NoValidAction(LookupError):
    """No action of the set is valid, so there is no nearest one."""


class TooManyActions(ValueError):
    """The search would have to list the actions, and there are more than the stated cap."""
