"""Declarations of events: what a problem says may happen to its instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lagco.core.events.fields import Field
from lagco.errors import InstanceError, suggest
from lagco.instances.timelines.event import KIND, TIME, Event
from lagco.store import Schema


@dataclass(frozen=True)
class EventType:
    """A kind of event.

    Attributes:
        meaning: one sentence about it, with the rule by which the state stays valid.
        change: writes what changes to a :class:`~lagco.core.events.Draft`; called with it and with
            the fields as keywords, those that were left out are None.
        fields: by name.
    """

    meaning: str
    change: Callable[..., None]
    fields: Mapping[str, Field] = field(default_factory=dict)

    def fault(self, event: Event) -> str | None:
        """What is wrong with the fields of an event; None where nothing is."""
        given = event.fields
        for name, known in self.fields.items():
            if name not in given:
                if known.optional:
                    continue
                return f"has no {name!r}: {known.meaning}"
            wrong = known.fault(given[name])
            if wrong is not None:
                return f"{name} {wrong}"
        for name in given:
            if name not in self.fields:
                return suggest("field", name, self.fields)
        return None

    def schema(self, kind: str) -> dict[str, Any]:
        """JSON schema of a line of a timeline with such an event."""
        properties: dict[str, Schema] = {
            TIME: {"type": "number", "description": "seconds since the timeline began"},
            KIND: {"const": kind},
            **{name: known.schema for name, known in self.fields.items()},
        }
        required = [KIND, *(name for name, known in self.fields.items() if not known.optional)]
        return {
            "type": "object",
            "description": self.meaning,
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }


def checked_event(events: Mapping[str, EventType], event: Event, owner: str) -> EventType:
    """The declaration of an event that fits it.

    Args:
        events: declarations by name.
        event: what is to be checked.
        owner: whose events they are, for messages.

    Raises:
        InstanceError: there is no such event, or a field of it is wrong.
    """
    known = events.get(event.kind)
    if known is None:
        if not events:
            raise InstanceError(f"event {event.kind!r}: {owner} declares no events")
        raise InstanceError(suggest(f"event of {owner}", event.kind, events))
    fault = known.fault(event)
    if fault is not None:
        raise InstanceError(f"event {event.kind!r}: {fault}")
    return known


def events_schema(events: Mapping[str, EventType]) -> dict[str, Any]:
    """JSON schema of a line of a timeline with any of these events."""
    return {"oneOf": [known.schema(kind) for kind, known in events.items()]}
