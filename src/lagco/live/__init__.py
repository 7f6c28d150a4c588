"""Deciding again and again while an instance changes: controllers, deadlines, replays.

>>> result = lagco.live("abilene.xml", series="abilene-5min.tgz", problem="ospf", max_changes=3)
>>> result.draw("day.png")
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from lagco.live.command import live
from lagco.live.contract import Controller, Situation
from lagco.live.controllers import CONTROLLERS
from lagco.live.options import LiveOptions
from lagco.live.records import Record
from lagco.live.replay import Decision
from lagco.live.result import LiveResult, Row

__all__ = [
    "CONTROLLERS",
    "Controller",
    "Decision",
    "LiveOptions",
    "LiveResult",
    "Record",
    "Row",
    "Situation",
    "live",
]


class _Live(ModuleType):
    """Lets the command ``lagco live`` be ``lagco.live()`` in Python."""

    def __call__(self, *given: Any, **options: Any) -> LiveResult:
        return live(*given, **options)


sys.modules[__name__].__class__ = _Live
