"""Options of `live`, declared once for the function and the command line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lagco.errors import UsageError, suggest
from lagco.instances.timelines import HOLES
from lagco.live.controllers import CONTROLLERS
from lagco.problems import AnyProblem

DECIDE_ON = ("current", "previous")
#: what deadlines are counted in
CLOCKS = ("real", "processor")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "": 1.0}
_DURATION = re.compile(r"\s*([0-9.]+)\s*(us|ms|s|min|)\s*")


@dataclass(frozen=True)
class LiveOptions:
    """How to replay a timeline; what cannot be honoured is refused here, before any work.

    Attributes:
        problem: name of a problem, or module:Class; needed if the file could mean several.
        controllers: who decides, each from its own last decision: hold, greedy, solver, agent,
            portfolio, or module:Class; separated by commas.
        deadline: time for each decision, such as 20ms; several separated by commas, each of which
            every controller has.
        clock: what deadlines are counted in: real time, or processor time of the process that
            decides, to measure on a machine that does other work too.
        turns: limit on turns of work instead of a deadline; gives the same on every machine.
        max_changes: most elements that a decision may change.
        decide_on: current (a decision is judged on the events it followed) or previous (on those
            that come next, as operators are).
        agent: of the controllers agent and portfolio: the folder of an agent, or an agent; by
            default the one that comes with lagco.
        series: traffic matrices over time: an archive (SNDlib's .tgz), a folder or a CSV file; for
            placement a trace of virtual machines (Azure's SQLite file, VMAgent's CSV).
        holes: missing and empty matrices of a series: skip leaves them out, hold repeats the one
            before.
        synthetic: seconds of a synthetic timeline, where there is no other.
        incumbent: configuration in force at the beginning, as an array or the file of a solution;
            by default the instance's, else the problem's default.
        hindsight: time for a search without limits after every event, which regret is measured
            against, such as 1s; by default against the best of the controllers.
        rounds: decisions after which it ends; all by default.
        out: folder of records, table and picture; a replay that is there goes on where it was.
        seed: random seed of decisions and of a synthetic timeline.
        server: URL of a decision service whose controllers decide, instead of this process.
    """

    problem: AnyProblem | None = None
    controllers: Any = "hold,greedy,agent,solver"
    deadline: str | float | Sequence[Any] | None = None
    clock: str = "real"
    turns: int | None = None
    max_changes: int | None = None
    decide_on: str = "current"
    agent: Any = None
    series: str | Path | None = None
    holes: str = "skip"
    synthetic: float | None = None
    incumbent: Any = None
    hindsight: str | float | None = None
    rounds: int | None = None
    out: str | Path | None = None
    seed: int = 42
    server: str | None = None

    def __post_init__(self) -> None:
        for kind, value, known in (
            ("value of decide_on", self.decide_on, DECIDE_ON),
            ("value of holes", self.holes, HOLES),
            ("clock", self.clock, CLOCKS),
        ):
            if value not in known:
                raise UsageError(suggest(kind, value, known))
        if self.deadline is not None and self.turns is not None:
            raise UsageError(f"deadline={self.deadline!r}: give turns={self.turns} or a deadline")
        if self.clock != CLOCKS[0] and (self.turns is not None or self.server is not None):
            other = "turns" if self.turns is not None else "server"
            raise UsageError(f"clock={self.clock!r}: with {other}= there is no time to count")
        if self.turns is not None and self.turns < 1:
            raise UsageError(f"turns={self.turns}: give a positive number")
        if self.max_changes is not None and self.max_changes < 0:
            raise UsageError(f"max_changes={self.max_changes}: give 0 or more")
        if self.rounds is not None and self.rounds < 1:
            raise UsageError(f"rounds={self.rounds}: give a positive number")
        if self.seed < 0:
            raise UsageError(f"seed={self.seed}: seeds are not negative")
        if self.synthetic is not None and not 0 < self.synthetic < math.inf:
            raise UsageError(f"synthetic={self.synthetic}: give a positive number of seconds")
        if self.series is not None and self.synthetic is not None:
            raise UsageError(f"synthetic={self.synthetic}: give a series or a synthetic timeline")
        if self.server is not None and self.agent is not None:
            raise UsageError(f"agent={self.agent!r}: the service at {self.server} has its own")
        if not self.names:
            raise UsageError("controllers: name at least one")
        for name in self.names if self.server is not None else ():
            if name not in CONTROLLERS:
                raise UsageError(suggest("controller of a service", name, CONTROLLERS))
        self.seconds  # noqa: B018 - refuses what is no duration

    @property
    def names(self) -> list[Any]:
        """The controllers one by one."""
        given = self.controllers
        if isinstance(given, str):
            return [name.strip() for name in given.split(",") if name.strip()]
        return list(given) if isinstance(given, list | tuple) else [given]

    @property
    def seconds(self) -> list[float]:
        """Deadlines in seconds: 100 ms where nothing is said."""
        given = "100ms" if self.deadline is None else self.deadline
        if isinstance(given, str):
            given = given.split(",")
        many = given if isinstance(given, list | tuple) else [given]
        return [duration("deadline", each) for each in many]

    @property
    def hindsight_seconds(self) -> float | None:
        """Seconds of the search in hindsight; None without."""
        return None if self.hindsight is None else duration("hindsight", self.hindsight)


def duration(name: str, given: Any) -> float:
    """Seconds of a duration such as ``20ms``; plain numbers are seconds."""
    found = _DURATION.fullmatch(str(given))
    try:
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < math.inf:
        raise UsageError(f"{name}={given!r}: give a time such as 20ms or 1.5s")
    return seconds


def spelled_duration(seconds: float) -> str:
    """Seconds as people write them: ``20ms``."""
    if seconds < 1.0:
        return f"{1000.0 * seconds:g}ms"
    return f"{seconds:g}s"
