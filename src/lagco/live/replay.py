"""Replays of a timeline: every controller decides after every event, from its own last state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.core.changes import MAX_CHANGES, incumbent_of
from lagco.core.problem import Problem
from lagco.errors import InstanceError, UsageError
from lagco.instances import Instance
from lagco.instances.timelines import Event, Timeline
from lagco.live.contract import Controller, ControllerSession, Update, followed, live_instance
from lagco.live.controllers import controller_of
from lagco.live.options import LiveOptions, spelled_duration
from lagco.live.outcome import weighed
from lagco.live.records import Log, Record
from lagco.live.remote import RemoteRunner
from lagco.live.result import HINDSIGHT, LiveResult
from lagco.live.runners import InlineRunner, ProcessRunner, Reply, Runner
from lagco.runtime.progress import Progress
from lagco.solving.changes.limiting import with_incumbent

#: sets the seeds of decisions apart
_STRIDE = 7919
#: turns of the search in hindsight for each turn of a decision
_HINDSIGHT_TURNS = 8


@dataclass(frozen=True)
class Decision:
    """A decision that was made, for callbacks.

    Attributes:
        record: what came of it.
        seconds: that it took.
        instance: as it is after it.
    """

    record: Record
    seconds: float
    instance: Instance


class Participant:
    """A controller with its own course of the instance.

    Args:
        name: of the participant: controller and deadline.
        controller: decides.
        cls: class of the problem.
        instance: at the beginning.
        seconds: the deadline; None where turns are counted.
        turns: instead of seconds.
        server: URL of the service that it is at; None for this machine.
        clock: what the deadline is counted in.
    """

    def __init__(
        self,
        name: str,
        controller: Controller,
        cls: type[Problem],
        instance: Instance,
        seconds: float | None,
        turns: int | None,
        server: str | None = None,
        clock: str = "real",
    ) -> None:
        self.name = name
        self.instance = instance
        self._cls = cls
        self._controller = controller
        self._limits = seconds, turns
        self._server, self._clock = server, clock
        self._runner: Runner | None = None
        self._pending: list[Event] = []  # since the last decision
        self._applied: Array | None = None

    def follow(self, events: tuple[Event, ...]) -> None:
        """Let events happen."""
        update = Update(0, None, events, 0)
        self.instance = followed(self._cls, self.instance, update)
        self._pending += events

    def put_in_force(self, solution: Array) -> None:
        """Go on with another configuration."""
        self.instance = followed(self._cls, self.instance, Update(0, solution, (), 0))
        self._applied = solution

    def sit_down(self) -> None:
        """Begin to be asked, on the instance as it is now."""
        seconds, turns = self._limits
        self._pending, self._applied = [], None
        if self._server is not None:
            limit = {"turns": turns} if seconds is None else {"deadline_ms": 1000.0 * seconds}
            by = self._controller.name
            self._runner = RemoteRunner(self._server, by, self._cls, self.instance, limit)
        elif turns is not None:
            self._runner = InlineRunner(
                ControllerSession(self._controller, self._cls, self.instance), turns
            )
        else:
            assert seconds is not None
            of = self._controller, self._cls, self.instance
            self._runner = ProcessRunner(*of, seconds, self._clock)

    @property
    def sits(self) -> bool:
        """Whether it is asked already."""
        return self._runner is not None

    def decide(self, number: int, seed: int) -> Reply:
        """Ask the controller about the present state."""
        assert self._runner is not None
        update = Update(number, self._applied, tuple(self._pending), seed + _STRIDE * number)
        self._pending, self._applied = [], None
        return self._runner.ask(update)

    def close(self) -> None:
        """End the controller."""
        if self._runner is not None:
            with suppress(OSError):
                self._runner.close()


def replay(
    cls: type[Problem],
    timeline: Timeline,
    options: LiveOptions,
    on_decision: Callable[[Decision], Any] | None,
    progress: bool,
) -> LiveResult:
    """See :func:`lagco.live.live`."""
    instance = timeline.instance
    if options.incumbent is not None:
        instance = with_incumbent(cls, instance, options.incumbent)
    instance = live_instance(cls, instance, options.max_changes)
    participants = _participants(cls, instance, options)
    folder = None if options.out is None else Path(options.out)
    settings = _settings(cls, timeline, instance, options, [each.name for each in participants])
    log = Log(folder, settings)
    known = log.known()
    shown = Progress(f"{cls.name}, decisions", show=progress)
    try:
        with shown:
            for number, time, events, where in rounds_of(timeline, options.rounds):
                for each in participants:
                    record = known.get((number, each.name))
                    _follow(each, events, where)
                    if record is not None:
                        _check_time(record, time, folder)
                        assert each.instance is not None
                        incumbent = incumbent_of(cls, each.instance)
                        assert incumbent is not None
                        if record.rows:
                            each.put_in_force(record.apply_to(incumbent))
                        continue
                    if not each.sits:
                        each.sit_down()
                    record, seconds = _decided(cls, each, number, time, options.seed)
                    log.add(record, seconds)
                    if on_decision is not None:
                        on_decision(Decision(record, seconds, each.instance))
                shown.update(number + 1, text=f"at {time:g} s")
    finally:
        for each in participants:
            each.close()
        log.close()
    return LiveResult(settings, log.records, log.seconds, list(timeline.notes))


def _participants(
    cls: type[Problem], instance: Instance, options: LiveOptions
) -> list[Participant]:
    found = []
    limits: list[tuple[float | None, int | None]] = [(s, None) for s in options.seconds]
    if options.turns is not None:
        limits = [(None, options.turns)]
    for seconds, turns in limits:
        for given in options.names:
            controller = controller_of(given, options.agent)
            name = controller.name
            if seconds is not None and len(limits) > 1:
                name = f"{name} {spelled_duration(seconds)}"
            where, clock = options.server, options.clock
            limit = seconds, turns, where, clock
            found.append(Participant(name, controller, cls, instance, *limit))
    if options.hindsight is not None:
        seconds, turns = options.hindsight_seconds, None
        if options.turns is not None:
            seconds, turns = None, _HINDSIGHT_TURNS * options.turns
        free = _without_budget(instance)
        limit = seconds, turns, None, options.clock
        found.append(Participant(HINDSIGHT, controller_of("solver"), cls, free, *limit))
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"controllers: two are called {twice!r}; give each another name")
    return found


def _without_budget(instance: Instance) -> Instance:
    params = {name: value for name, value in instance.params.items() if name != MAX_CHANGES}
    return replace(instance, params=params)


def _settings(
    cls: type[Problem],
    timeline: Timeline,
    instance: Instance,
    options: LiveOptions,
    participants: list[str],
) -> dict[str, Any]:
    """What a replay is determined by."""
    return {
        "problem": cls.name,
        "maximise": cls.maximise,
        "instance": instance.name,
        "checksum": _without_budget(instance).checksum,
        "timeline": timeline.name,
        "origin": timeline.origin,
        "participants": participants,
        "deadline": None if options.turns is not None else options.seconds,
        "clock": options.clock,
        "turns": options.turns,
        "hindsight": options.hindsight_seconds,
        "max_changes": options.max_changes,
        "decide_on": options.decide_on,
        "seed": options.seed,
    }


def rounds_of(
    timeline: Timeline, most: int | None
) -> Iterator[tuple[int, float, tuple[Event, ...], str]]:
    """Number, time, events and place of all events that happen at one time."""
    for number, (time, moments) in enumerate(groupby(timeline, key=lambda moment: moment.time)):
        if most is not None and number >= most:
            return
        together = list(moments)
        yield number, time, tuple(moment.event for moment in together), together[0].where


def _follow(each: Participant, events: tuple[Event, ...], where: str) -> None:
    try:
        each.follow(events)
    except InstanceError as error:
        raise InstanceError(f"{where}: {error}" if where else str(error)) from None


def _decided(
    cls: type[Problem], each: Participant, number: int, time: float, seed: int
) -> tuple[Record, float]:
    """What comes of a decision, put in force where it is better than to hold."""
    instance = each.instance
    reply = each.decide(number, seed)
    outcome = weighed(cls, instance, reply.solution)
    put_in_force = reply.solution if outcome.rows else outcome.incumbent
    record = Record(
        round=number,
        time=time,
        by=each.name,
        before=outcome.held.objective,
        after=outcome.after.objective,
        changes=outcome.after.changes,
        rows=outcome.rows,
        unserved=cls.unserved(instance),
        overloads=_overloads(cls, instance, put_in_force),
        late=reply.late,
        refused=reply.failure or outcome.refused,
    )
    if record.rows:
        each.put_in_force(record.apply_to(outcome.incumbent))
    return record, reply.seconds


def _overloads(cls: type[Problem], instance: Instance, solution: Any) -> int:
    """Links, hosts, … that are filled beyond what they have."""
    return sum(use > 1.0 for _, use in cls.fullest(instance, solution, most=1_000_000))


def _check_time(record: Record, time: float, folder: Path | None) -> None:
    if record.time != time:
        raise UsageError(
            f"out={folder}: decision {record.round} was made at {record.time:g} s and is due at "
            f"{time:g} s in this timeline; give another folder"
        )
