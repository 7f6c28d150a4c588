"""Searches given the time that an agent took: the problem's solver, and simulated annealing.

The annealing cools exponentially and takes a worse state by the rule of Metropolis, as the package
``simanneal`` does. One kind of move serves every problem, by the problem's own rules: where states
are improved step by step, a random valid action; where solutions are built, a part of the solution
is made again at random (:meth:`lagco.Problem.reopened`), all of it where the problem keeps no part.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.commands.evaluate import value_result
from lagco.core.adapter import EnvProblem
from lagco.core.problem import Problem
from lagco.errors import LagcoError
from lagco.instances import Instance
from lagco.policies import RandomPolicy
from lagco.problems import problem_class
from lagco.results.evaluation import Evaluation, InstanceResult
from lagco.rollout import Episode
from lagco.runtime.one_thread import one_thread
from lagco.solving import solve
from lagco.study.records.ledger import rounded
from lagco.study.running.worker import Context, Outcome
from lagco.study.settings import ANNEALING, TIMED_SOLVER
from lagco.study.tasks.run import result_of

_SEED = 42
#: largest share of a built solution that a move makes again
_SHARE = 0.2
#: moves by which temperatures and the number of steps are set, and part of the time for them
_FIRST_MOVES, _FIRST_PART = 30, 0.1
#: the last temperature over the first
_COOLING = 1e-3


def searched_in_time(context: Context) -> Outcome:
    """Result of a search that gets, on every instance, the time of the run that sets the pace."""
    spec, ledger = context.spec, context.ledger
    cls = problem_class(spec["problem"])
    if issubclass(cls, EnvProblem):
        return {"instances": [], "summary": None}, {}
    budgets = ledger.find("run", spec["pace"]).measured["instance_s"]
    search = _SEARCHES[spec["policy"]]
    results: list[InstanceResult] = []
    started: list[InstanceResult] = []
    used: list[float] = []
    for instance, seconds in zip(context.watched(ledger.data(context.task)), budgets, strict=True):
        began = time.perf_counter()
        value = search(cls, instance, seconds)
        used.append(time.perf_counter() - began)
        results.append(_result(cls, instance, value))
        if cls.compared_start is not None:
            started.append(_result(cls, instance, value, cls.compared_start))
    first, *rest = (
        Evaluation(spec["policy"], cls.name, tuple(found)) for found in (results, started) if found
    )
    return result_of(first, *rest), {"instance_s": rounded(used, 4), "pace_s": rounded(budgets, 4)}


def _result(
    cls: type[Problem], instance: Instance, value: float | None, start: str | None = None
) -> InstanceResult:
    """Result of an instance; without episodes' values where no solution was found."""
    if value is not None:
        return value_result(cls, instance, value, start, reason="time")
    found = value_result(cls, instance, 0.0, start)
    return replace(found, episodes=(), refused="no solution was found in the time")


@one_thread()
def solver_value(cls: type[Problem], instance: Instance, seconds: float) -> float | None:
    """Best value of the problem's solver within some seconds; None if it found no solution."""
    unknown = replace(instance, references=replace(instance.references, solver=None))
    try:
        found = solve(
            unknown, problem=cls, by="solver", seconds=seconds, seed=_SEED, progress=False
        )
        return found.objective
    except LagcoError:
        return None


@one_thread()
def annealed_value(cls: type[Problem], instance: Instance, seconds: float) -> float | None:
    """Best value of simulated annealing within some seconds; None if it found no solution."""
    return _Annealing(cls(instance, rewards=False), time.perf_counter() + seconds).run()


_SEARCHES: dict[str, Callable[[type[Problem], Instance, float], float | None]] = {
    TIMED_SOLVER: solver_value,
    ANNEALING: annealed_value,
}


@dataclass(frozen=True, eq=False)
class _State:
    """A solution and its energy: the objective, negative where it is to be large."""

    solution: Array
    energy: float


class _Annealing:
    """Annealing over the solutions of one instance, until a time.

    Args:
        env: of the instance.
        until: when it ends, by ``time.perf_counter()``.
    """

    def __init__(self, env: Problem, until: float) -> None:
        self._env, self._until = env, until
        self._rng = np.random.default_rng(_SEED)
        self._accept = random.Random(_SEED)
        self._sign = -1.0 if env.maximise else 1.0
        self._at: _State | None = None  # the state that the environment is in
        self._hottest = 0.0

    def run(self) -> float | None:
        """The best objective; None where no solution was found."""
        best = self._first()
        while best is None:
            if self._is_over():
                return None
            best = self._first()
        best, cost = self._set_temperatures(best)
        while (left := self._until - time.perf_counter()) > 0:
            steps = max(1, math.ceil(left / cost))
            best = self._cooled(best, steps)  # ends early where moves cost less
            cost = max((left - self._until + time.perf_counter()) / steps, 1e-9)
        return float(self._sign * best.energy)

    def _cooled(self, state: _State, steps: int) -> _State:
        """The best state of `steps` moves from `state` on, while the temperature falls."""
        best = state
        for step in range(1, steps + 1):
            if self._is_over():
                break
            moved = self._moved(state)
            if moved is None:
                continue
            temperature = self._hottest * _COOLING ** (step / steps)
            worse = moved.energy - state.energy
            if worse <= 0.0 or self._accept.random() <= math.exp(-worse / temperature):
                state = moved
                best = min(best, state, key=_energy)
        return best

    def _is_over(self) -> bool:
        return time.perf_counter() >= self._until

    def _set_temperatures(self, state: _State) -> tuple[_State, float]:
        """Temperatures by the changes that moves make; the best state and the seconds of a move."""
        began, changes = time.perf_counter(), []
        enough = began + _FIRST_PART * (self._until - began)
        for _ in range(_FIRST_MOVES):
            moved = self._moved(state)
            if moved is not None:
                changes.append(abs(moved.energy - state.energy))
                state = min(state, moved, key=_energy)
            if time.perf_counter() >= enough:
                break
        self._hottest = max(float(np.mean(changes or [0.0])), 1e-9)
        return state, max((time.perf_counter() - began) / max(len(changes), 1), 1e-9)

    def _first(self) -> _State | None:
        """The start itself where states are improved, else a random solution."""
        self._env.reset(seed=_SEED)
        if self._env.is_feasible():
            return self._noted()
        return self._completed(None)

    def _moved(self, state: _State) -> _State | None:
        env = self._env
        share = _SHARE * self._rng.random()
        start = env.reopened(state.solution, share, self._rng)
        if start is not state.solution:
            return self._completed(start)
        if self._at is not state:
            env.reset(options={"start": state.solution})
        action = RandomPolicy().act(env, self._rng)
        self._at = None
        if action is None:
            return None
        *_, terminated, truncated, _ = env.step(action)
        if not env.is_feasible():
            return None
        moved = self._noted()
        if terminated or truncated:
            self._at = None
        return moved

    def _completed(self, start: Any) -> _State | None:
        """A random solution that begins with the decisions made so far."""
        env, seed = self._env, int(self._rng.integers(2**31))
        Episode(env, seed, start=start, rng=self._rng).run(RandomPolicy())
        return self._noted() if env.is_feasible() else None

    def _noted(self) -> _State:
        self._at = _State(self._env.solution().copy(), self._sign * self._env.objective())
        return self._at


def _energy(state: _State) -> float:
    return state.energy
