"""The process of a worker: warm, confined, one job after the other, until the server ends."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from lagco.core.events.changing import DAY
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.live.contract import live_instance
from lagco.runtime.one_thread import one_thread
from lagco.runtime.stopping import leave_signals_to_the_parent
from lagco.serve.messages import Line
from lagco.serve.options import ServeOptions
from lagco.serve.working.confining import confine
from lagco.serve.working.instance_state import InstanceState
from lagco.serve.working.jobs import Jobs, NotOpen
from lagco.serve.working.picture import picture_of

#: size of the instances that controllers are made warm on, turns of each decision, and changes
_SIZE, _TURNS, _BUDGET = 8, 2, 2


def warm(problems: Mapping[str, type[Problem]], options: ServeOptions) -> None:
    """Load and compile what decisions need, so that processes forked from here have it."""
    with one_thread():
        for cls in problems.values():
            if cls.defines("draw"):
                _warm(
                    InstanceState(
                        cls, live_instance(cls, cls.generate(_SIZE), None), options.agent
                    ),
                    options,
                )


def _warm(state: InstanceState, options: ServeOptions) -> None:
    """Decide, let an event happen, decide again, with a budget of changes and without."""
    with suppress(UsageError):  # not every problem draws events
        timeline = state.cls.draw_timeline(state.instance, until=DAY)
        state.follow({"events": [next(iter(timeline)).event.as_dict()]})
    for name in options.controller_names:
        for number, most in enumerate((None, _BUDGET, _BUDGET)):
            asked = {"by": name, "turns": _TURNS, "max_changes": most, "seed": 0, "round": number}
            found = state.decide(asked)
        if found["rows"]:
            state.follow(found)
    state.summary()
    picture_of(state)


@one_thread()
def work(address: str, problems: Mapping[str, type[Problem]], options: ServeOptions) -> None:
    """Do jobs until the server ends."""
    leave_signals_to_the_parent()
    confine(options.max_memory)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    line = Line(connection)
    jobs = Jobs(problems, options, lambda objective: line.send({"objective": objective}))
    try:
        line.send({"pid": os.getpid()})
        while True:
            asked, blobs = line.receive()
            try:
                content, results = jobs.do(asked, blobs)
            except NotOpen:
                content, results = {"error": "not-open", "detail": ""}, ()
            line.send({"done": content}, results)
            if content.get("error") == "memory":
                return  # what is left of it in memory is not known
    except EOFError:
        return
    except Exception:
        logging.getLogger("lagco.serve").exception("a worker failed")
        raise
