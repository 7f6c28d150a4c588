"""Events: what happens to an instance, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lagco.errors import InstanceError
from lagco.store import shown

#: fields of a line of a timeline that are none of the event's own
KIND, TIME = "event", "time"


class Event:
    """Something that happens to an instance, by the names of its file.

    >>> Event("demand", source="Berlin", target="Bremen", volume=3.5)

    Args:
        kind: name of the event, as the problem declares it.
        fields: JSON values by name.

    Attributes:
        kind: likewise.
        fields: likewise.
    """

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, /, **fields: Any) -> None:
        self.kind = kind
        self.fields: Mapping[str, Any] = fields

    @classmethod
    def of(cls, given: Event | Mapping[str, Any]) -> Event:
        """The event that a mapping describes, as a line of a timeline does: without its time."""
        if isinstance(given, Event):
            return given
        kind = given.get(KIND)
        if not isinstance(kind, str):
            raise InstanceError(f"an event has {KIND!r}: {shown(kind)}; give the name of its kind")
        found = cls(kind)
        found.fields = {name: value for name, value in given.items() if name not in (KIND, TIME)}
        return found

    def as_dict(self) -> dict[str, Any]:
        """The inverse of :meth:`of`."""
        return {KIND: self.kind, **self.fields}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        listed = [repr(self.kind), *(f"{name}={shown(v)}" for name, v in self.fields.items())]
        return f"Event({', '.join(listed)})"
