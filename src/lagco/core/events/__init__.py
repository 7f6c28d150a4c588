"""Events that change an instance while decisions are made on it."""

from lagco.core.events.changing import Changed
from lagco.core.events.declaring import EventType, checked_event, events_schema
from lagco.core.events.draft import Draft
from lagco.core.events.fields import Field, listed, number, rows, text, whole
from lagco.instances.timelines.event import Event

__all__ = [
    "Changed",
    "Draft",
    "Event",
    "EventType",
    "Field",
    "checked_event",
    "events_schema",
    "listed",
    "number",
    "rows",
    "text",
    "whole",
]
