"""Gymnasium environments of deciding live, with timelines as their data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.changes import incumbent_of, judge
from lagco.core.events import Event
from lagco.core.problem import Problem
from lagco.errors import InstanceError, ResetNeeded, UsageError
from lagco.instances import Instance
from lagco.instances.timelines import Timeline, read_timeline
from lagco.live.contract import Update, followed, in_force, live_instance
from lagco.live.replay import rounds_of
from lagco.problems import AnyProblem, problem_class

#: first number of an action: take the raw action behind it, or put in force what was decided
ACT, FINISH = 0, 1
#: actions of a decision at most, per change that is allowed
_ACTIONS = 8
#: names of what is observed of the budget, and of how many elements there are
_BUDGET, _SIZE = "live_budget", "live_size"
#: seconds of the synthetic day that is decided on where no timelines are given
_DAY = 86_400.0


class LiveEnv(gym.Env[dict[str, Array], Array]):
    """Decide again and again with a budget of changes while an instance changes.

    Data: timelines over one network or cloud. Each episode is one of them, drawn at random. Unless
    the environment `grows`, events leave the numbers of what is observed alone.
    Action: ``MultiDiscrete([2, …])``, 0 and a raw action of the problem, which is taken if it is
    valid and within the budget, or 1: the decision is made, and the next events happen. It is also
    made when the budget allows nothing more, or after 8 actions per change.
    Observation: that of the problem, with ``_`` for ``.`` in names (networks of others take no
    dots), and ``live_budget`` (2,), the shares of the changes and of the actions of this decision
    that are left. Where the environment grows, arrays are as long as all timelines need at most,
    with zeros behind what there is, and ``live_size`` (1,) is the number of elements now.
    Reward: 0 within a decision, after it minus the objective (plus, where larger is better) over
    its value when the episode began. What is no better than to hold is not put in force.
    Start: the configuration in force in the timeline, or the problem's default.

    Args:
        problem: name, ``module:Class`` or class.
        timelines: files or objects; a synthetic day of a random instance without.
        max_changes: budget of a decision.
        rounds: decisions of an episode at most.
        features: feature set of the problem.
        grows: whether things may appear and go, such as machines; the timelines, which have to end,
            are followed once to see how many there are at most.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        problem: AnyProblem,
        timelines: Sequence[Timeline | str | Path] | Timeline | str | Path | None = None,
        *,
        max_changes: int = 3,
        rounds: int | None = None,
        features: str = "full",
        grows: bool = False,
    ) -> None:
        if max_changes < 1:
            raise UsageError(f"max_changes={max_changes}: give 1 or more")
        self.problem = problem_class(problem)
        self._timelines = _read(self.problem, timelines)
        self._most, self._rounds = max_changes, rounds
        self._steps = _ACTIONS * max_changes
        self._inner = self._begun(self._timelines[0].instance, features)
        self._single = isinstance(self._inner.action_space, gym.spaces.Discrete)
        self._shapes, self._grows = self._spaces(), grows
        parts = self._parts()
        if grows:
            parts = self._make_room(features)
        self.action_space = gym.spaces.MultiDiscrete(np.concatenate([[2], parts]))
        own = self._own()
        own[_BUDGET] = gym.spaces.Box(0.0, 1.0, (2,), np.float32)
        if grows:
            own[_SIZE] = gym.spaces.Box(0, np.iinfo(np.int64).max, (1,), np.int64)
        self.observation_space: Any = gym.spaces.Dict(own)
        self._ended = True

    def _begun(self, instance: Instance, features: str) -> Problem:
        instance = live_instance(self.problem, instance, self._most)
        env = self.problem(instance, features=features, start="current")
        env.reset(seed=0)
        return env

    def _spaces(self) -> dict[str, gym.Space[Any]]:
        """Spaces of the arrays that the problem shows."""
        shown: Any = self._inner.observation_space
        return dict(shown.spaces)

    def _parts(self) -> tuple[int, ...]:
        """Numbers of values of the parts of a raw action."""
        inner: Any = self._inner.action_space
        return (int(inner.n),) if self._single else tuple(inner.nvec.tolist())

    def _make_room(self, features: str) -> tuple[int, ...]:
        """Follow all timelines once, and have spaces with room for all that there may be."""
        sizes = {name: _Extent(space.shape) for name, space in self._shapes.items()}
        parts = _Extent(self._parts())
        for timeline in self._timelines:
            instance = live_instance(self.problem, timeline.instance, self._most)
            for _, _, events, _ in rounds_of(timeline, self._rounds):
                instance = followed(self.problem, instance, Update(0, None, events, 0))
                self._inner.go_on_with(instance)
                # what waits now may be served where others decide
                waiting = len(instance.arrays.get(f"{self.problem.present}_aside", ()))
                parts.add(self._parts(), waiting)
                for name, space in self._spaces().items():
                    sizes[name].add(space.shape, waiting)
        self._shapes = {
            name: _widened(space, sizes[name].largest) for name, space in self._shapes.items()
        }
        self._inner = self._begun(self._timelines[0].instance, features)
        return parts.largest

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin a timeline: a random one, or number ``options["timeline"]``."""
        super().reset(seed=seed)
        options = options or {}
        place = options.get("timeline")
        if place is None:
            place = int(self.np_random.integers(len(self._timelines)))
        timeline = self._timelines[place]
        self._moments = rounds_of(timeline, self._rounds)
        self._instance = live_instance(self.problem, timeline.instance, self._most)
        self._ended = False
        if not self._next():
            raise InstanceError(f"{timeline.name}: a timeline without events")
        self._unit = self._held or 1.0
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Take an action of the decision, or make it."""
        if self._ended:
            raise ResetNeeded("LiveEnv: the timeline is over, call reset()")
        parts = np.asarray(action).reshape(-1)
        self._taken += 1
        done = int(parts[0]) == FINISH or self._taken >= self._steps
        if int(parts[0]) == ACT:
            raw: Any = int(parts[1]) if self._single else parts[1:]
            if self._inner.is_valid_action(raw):
                _, over, cut, _ = self._inner.advance(raw)
                done = done or over or cut
        if not done:
            return self._observe(), 0.0, False, False, self._info()
        reward, info = self._decide(), self._info()
        self._ended = not self._next()
        return self._observe(), reward, self._ended, False, info

    def _decide(self) -> float:
        """Put what was decided in force where it is better; the reward."""
        cls, instance = self.problem, self._instance
        incumbent, solution = incumbent_of(cls, instance), self._inner.best_solution
        assert incumbent is not None
        held = judge(cls, instance, incumbent)
        self._objective, self._changes = held.objective, 0
        if solution is not None:
            found = judge(cls, instance, solution)
            if not found.faults and found.beats(held, maximise=cls.maximise):
                self._instance = in_force(cls, instance, solution)
                self._objective, self._changes = found.objective, found.changes
        sign = 1.0 if cls.maximise else -1.0
        return float(sign * self._objective / self._unit)

    def _next(self) -> bool:
        """Let the next events happen; whether there are any."""
        for moment in self._moments:
            self._instance = followed(self.problem, self._instance, Update(0, None, moment[2], 0))
            self._inner.go_on_with(self._instance)
            self._check_shapes(moment[2])
            self._taken, self._changes = 0, 0
            self._held = self._objective = float(self._inner.objective())
            return True
        return False

    def _check_shapes(self, events: tuple[Event, ...]) -> None:
        spaces = self._spaces()
        if self._grows:
            return
        if any(spaces[name].shape != space.shape for name, space in self._shapes.items()):
            raise InstanceError(
                f"the event {events[-1].kind!r} changes what there is to observe; give grows=True, "
                "or timelines in which nothing appears or goes"
            )

    def _observe(self) -> dict[str, Array]:
        left, most = self._inner.changes_left()
        share = 1.0 if left is None or not most else max(left, 0) / most
        steps = 1.0 - self._taken / self._steps
        shown = self._inner.observation()
        found: dict[str, Array] = {_named(name): values for name, values in shown.items()}
        if self._grows:
            found = {name: _filled(found[name], space) for name, space in self._own().items()}
            found[_SIZE] = np.array([len(self._inner.solution())])
        found[_BUDGET] = np.array([share, steps], dtype=np.float32)
        return found

    def _own(self) -> dict[str, gym.Space[Any]]:
        return {_named(name): space for name, space in self._shapes.items()}

    def _info(self) -> dict[str, Any]:
        return {"objective": self._objective, "held": self._held, "changes": self._changes}


class _Extent:
    """The largest shape that an array may have.

    Attributes:
        largest: axes that never vary are as long as they are, others have room for what waits.
    """

    def __init__(self, shape: tuple[int, ...] | None) -> None:
        self._first = np.array(shape, dtype=np.int64)
        self._most = self._roomy = self._first
        self._varies = np.zeros(len(self._first), dtype=bool)

    def add(self, shape: tuple[int, ...] | None, waiting: int) -> None:
        """Count in a shape, and what might be there in addition."""
        now = np.array(shape, dtype=np.int64)
        self._varies = self._varies | (now != self._first)
        self._most = np.maximum(self._most, now)
        self._roomy = np.maximum(self._roomy, now + waiting)

    @property
    def largest(self) -> tuple[int, ...]:
        found: list[int] = np.where(self._varies, self._roomy, self._most).tolist()
        return tuple(found)


def _widened(space: Any, shape: tuple[int, ...]) -> gym.Space[Any]:
    """A space with room for more, which is 0."""
    if isinstance(space, gym.spaces.MultiBinary):
        return gym.spaces.MultiBinary(shape)
    low, high = min(0, space.low.min()), max(0, space.high.max())
    return gym.spaces.Box(low, high, shape, space.dtype)


def _filled(values: Array, space: gym.Space[Any]) -> Array:
    """Values with zeros behind them."""
    assert space.shape is not None
    if values.shape == space.shape:
        return values
    found = np.zeros(space.shape, dtype=values.dtype)
    found[tuple(slice(length) for length in values.shape)] = values
    return found


def _named(name: str) -> str:
    return name.replace(".", "_")


def _read(problem: type[Problem], given: Any) -> list[Timeline]:
    if given is None:
        return [problem.draw_timeline(problem.generate(problem.default_size), until=_DAY)]
    many = given if isinstance(given, list | tuple) else [given]
    if not many:
        raise UsageError("timelines: give at least one")
    return [each if isinstance(each, Timeline) else read_timeline(each, problem) for each in many]
