"""Fields of requests and answers, as in the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_MS, MOST_TURNS, MOST_CHANGES = 60_000, 100_000, 1_000_000
#: of a decision
State = Literal["proposed", "confirmed", "held", "rejected", "undone"]
#: a number that may be unknown or infinite, which JSON has no word for
Value = float | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class DecisionRequest(_Strict):
    """How to decide: give a deadline, or turns for the same answer on every machine."""

    by: str = Field("greedy", max_length=100, description="the controller that decides")
    deadline_ms: float = Field(
        100.0, ge=1.0, le=MOST_MS, description="milliseconds in which the answer comes"
    )
    turns: int | None = Field(
        None, ge=1, le=MOST_TURNS, description="turns of work, instead of the deadline"
    )
    max_changes: int | None = Field(
        None, ge=0, le=MOST_CHANGES, description="most elements that may change; null: as created"
    )
    seed: int = Field(42, ge=0, le=2**53, description="of the controller")
    round: int | None = Field(
        None, ge=0, le=2**53, description="sets random streams apart; null: the decision's number"
    )
    confirm: bool = Field(False, description="whether to put the decision in force at once")


class SettleRequest(_Strict):
    """How to confirm a decision."""

    force: bool = Field(False, description="confirm even if it is no longer better: it is in force")


class Change(BaseModel):
    """An element of the configuration that changes."""

    name: str = Field(description="as in the instance's file")
    before: str
    after: str


class Use(BaseModel):
    """A link, a host, … and how full it is."""

    name: str
    use: Value = Field(description="share of what it has")


class Found(BaseModel):
    """What a decision is worth, judged from scratch."""

    before: Value = Field(description="objective of the configuration in force")
    after: Value = Field(description="objective after the decision; the same where it holds")
    changes: list[Change] = Field(description="none: leave all as it is")
    rows: list[tuple[int, Any]] = Field(
        description="rows of the configuration's array that it writes, with their values"
    )
    refused: str = Field(description="why what was found is not proposed; empty where it is")
    late: bool = Field(description="whether nothing was found in time")
    fullest_before: list[Use]
    fullest_after: list[Use] = Field(description="empty where it holds")
    unserved: Value = Field(description="share of what is demanded that cannot be served")
    milliseconds: float = Field(description="from the request to the answer")


class Decision(Found):
    """A decision on a live instance."""

    decision: int = Field(description="its number")
    state: State
    by: str
    version: int = Field(description="of the instance after the answer")
    objective: Value = Field(description="of the configuration in force after the answer")


class Settled(BaseModel):
    """A decision that was confirmed, rejected or taken back."""

    decision: int
    state: State
    version: int
    objective: Value
    unserved: Value = None


class EventsTaken(BaseModel):
    """Events that have happened."""

    version: int = Field(description="of the instance after them")
    objective: Value = Field(description="of the configuration in force, which they may change")
    unserved: Value
    events: dict[str, int] = Field(description="how many there were of each kind")


class LiveInstance(BaseModel):
    """A live instance."""

    id: str
    problem: str
    instance: str = Field(description="its name")
    size: int = Field(description="decision variables")
    maximise: bool = Field(description="whether a larger objective is better")
    created: float = Field(description="seconds since 1970")
    version: int = Field(description="changes so far")
    decisions: int
    objective: Value = Field(description="of the configuration in force")
    start: Value = Field(description="the objective at the beginning")
    notes: list[str] = Field(description="what the reader of its file decided or left out")


class LiveInstances(BaseModel):
    """All live instances."""

    instances: list[LiveInstance]


class LiveState(LiveInstance):
    """The present state of a live instance."""

    entries: int = Field(description="of its history")
    unserved: Value
    fullest: list[Use]
    configuration: dict[str, str] = Field(description="values of all elements by name")
    picture: dict[str, Any] = Field(description="what the page draws")


class HistoryEntry(BaseModel):
    """Something that happened to a live instance."""

    seq: int = Field(description="its place, from 1 on")
    kind: Literal["events", "decision", "confirm", "reject", "undo"]
    at: float = Field(description="seconds since 1970")
    version: int | None = Field(description="of the instance, where it was changed")
    objective: Value
    answer: dict[str, Any] = Field(description="as it was given")


class History(BaseModel):
    """Part of the history of a live instance."""

    entries: list[HistoryEntry]
    last: int = Field(description="place of the last entry there is")


class LiveMetrics(BaseModel):
    """Figures of the latest decisions on a live instance."""

    decisions: int = Field(description="that these figures are about")
    states: dict[State, int] = Field(description="how many are in each state they were given in")
    late: int
    changes: int
    median_ms: Value
    p99_ms: Value
    mean_before: Value
    mean_after: Value


class EventField(BaseModel):
    """A kind of event and its JSON schema."""

    name: str
    json_schema: dict[str, Any]


class ServedProblem(BaseModel):
    """A problem that is served."""

    name: str
    objective: str
    maximise: bool
    events: list[EventField]


class Served(BaseModel):
    """What is served."""

    version: str
    problems: list[ServedProblem]
    controllers: list[str]


class Health(BaseModel):
    """Whether the service works."""

    status: Literal["ok", "starting"]


class Fault(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


Key = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9._~-]+$",
        description="of your choice: the same request sent again gets the first answer",
    ),
]
