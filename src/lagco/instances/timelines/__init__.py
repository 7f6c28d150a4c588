"""Timelines: an instance, and what happens to it when."""

from lagco.instances.timelines.event import Event
from lagco.instances.timelines.series import HOLES, read_series
from lagco.instances.timelines.timeline import Moment, Timeline, read_timeline, write_timeline
from lagco.instances.timelines.traces import read_vm_trace

__all__ = [
    "HOLES",
    "Event",
    "Moment",
    "Timeline",
    "read_series",
    "read_timeline",
    "read_vm_trace",
    "write_timeline",
]
