"""Teachers: the right actions in a state, for agents that learn by imitation.

``solver`` follows known good solutions, ``search`` the problem's own search (or the best of several
greedy episodes), ``greedy`` the best preview; a folder holds what one of them showed before
(:mod:`lagco.agents.demonstrations`), or an agent, whose best episodes are followed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError, suggest
from lagco.policies import GreedyPolicy, Policy, RandomPolicy
from lagco.rollout import Episode

TEACHERS = ("solver", "search", "greedy")
_EMPTY = np.zeros(0, dtype=np.int64)


class Teacher(ABC):
    """Says which actions are right.

    Attributes:
        anywhere: whether it knows the right actions in states that others reached, too.
        continues: whether it can go on from such states.
        ordered: whether the first of its actions is the one to take.
        checksum: of the files it teaches from, empty without.
        seconds: processor time that it has taken so far.
    """

    anywhere = True
    continues = True
    ordered = False
    checksum = ""

    def __init__(self) -> None:
        self.seconds = 0.0

    def episode_seed(self, env: Problem, seed: int) -> int:
        """Seed with which an episode begins, for which `seed` was drawn."""
        return seed

    def begin(self, env: Problem, seed: int) -> None:  # noqa: B027
        """Note that an episode of `env` began, with this seed."""

    def take_over(self, env: Problem, seed: int) -> bool:
        """Teach from the present state on, which others reached; False if it cannot."""
        return self.anywhere

    @abstractmethod
    def actions(self, env: Problem) -> Array:
        """Raw actions (k,) or (k, m) that are right now, all equally; empty where it has none."""

    def timed(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method of the teacher and count the processor time."""
        began = time.process_time()
        try:
            return call(*arguments)
        finally:
            self.seconds += time.process_time() - began


class SolverTeacher(Teacher):
    """Follows a known solution of every instance: its reference, or one computed now."""

    anywhere = False

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Array] = {}
        self._now: dict[int, Array] = {}

    def begin(self, env: Problem, seed: int) -> None:
        """Look the solution of the instance up."""
        self._now[id(env)] = self._solution(env)

    def take_over(self, env: Problem, seed: int) -> bool:
        """Teach a solution that contains what the learner decided."""
        found = env.continued_solution(seed)
        if found is None:
            return False
        self._now[id(env)] = found
        return True

    def actions(self, env: Problem) -> Array:
        """The actions that lead to the solution."""
        return env.demonstrate(self._now[id(env)])

    def _solution(self, env: Problem) -> Array:
        instance = env.instance
        known = instance.references.solver
        if known is not None and known.solution is not None:
            return known.solution
        if instance.checksum not in self._known:
            solved = type(env).solve(instance, 0).solver
            if solved is None or solved.solution is None:
                raise LagcoError(
                    f"the solver of {env.name!r} gives no solution of {instance.name!r} to learn "
                    "from; choose the teacher 'search'"
                )
            self._known[instance.checksum] = solved.solution
        return self._known[instance.checksum]


class GreedyTeacher(Teacher):
    """The best preview."""

    def actions(self, env: Problem) -> Array:
        """All valid actions with the best preview."""
        valid = env.valid_actions()
        if not len(valid):
            return _EMPTY
        values = np.asarray(env.preview(valid))  # type: ignore[attr-defined]
        best: Array = valid[values == values.max()]
        return best


class AdviceTeacher(Teacher):
    """The problem's own search, asked in every state."""

    def actions(self, env: Problem) -> Array:
        """Actions that the search would take."""
        return env.advise()


class EpisodeTeacher(Teacher):
    """The best of many episodes of a policy, which begin in the same state.

    Args:
        episodes: tries per instance.
        policy: takes its mode in the first one and explores in the others; without, a greedy one
            that now and then errs, or where there are no previews a random one.
    """

    anywhere = False
    continues = False

    def __init__(self, episodes: int = 8, policy: Policy | None = None) -> None:
        super().__init__()
        self._episodes = episodes
        self._policy = policy
        self._plans: dict[int, list[Any]] = {}

    def begin(self, env: Problem, seed: int) -> None:
        """Play episodes from the present state in a copy and keep the best one's actions."""
        usual: Policy = _Erring() if hasattr(env, "preview") else RandomPolicy()
        policy = self._policy or usual
        best: tuple[float, tuple[Any, ...]] | None = None
        trial = type(env)(env.instance, features=env.features, start=env.start)
        sign = 1.0 if env.maximise else -1.0
        for number in range(self._episodes):
            rng = np.random.default_rng([seed, number])
            episode = Episode(trial, seed, explore=number > 0, rng=rng).run(policy)
            reached = trial.best_objective
            if reached is not None and (best is None or sign * reached > best[0]):
                best = sign * reached, episode.trace(best=True).actions
        self._plans[id(env)] = [] if best is None else list(best[1][::-1])

    def actions(self, env: Problem) -> Array:
        """The next action of the best episode; nothing after its best state."""
        plan = self._plans[id(env)]
        return np.asarray([plan.pop()]) if plan else _EMPTY


class _Erring(GreedyPolicy):
    """Greedy, but for random actions now and then where it explores."""

    def act(self, env: Any, rng: np.random.Generator, explore: bool = True) -> Any:
        if explore and rng.random() < _ERRS:
            return RandomPolicy().act(env, rng)
        return super().act(env, rng)


#: share of the actions in which a greedy policy errs on purpose
_ERRS = 0.1
#: episodes of an agent of which the best one is imitated
_TRIES = 16


def make_teacher(name: str, problem: type[Problem]) -> Teacher:
    """The teacher of that name, or in that folder; ``auto`` takes the problem's own choice."""
    name = problem.teacher if name == "auto" else name
    if name == "solver":
        if not problem.defines("demonstrate"):
            raise UsageError(
                f"teacher='solver': {problem.__name__} does not define demonstrate(solution); "
                "choose the teacher 'search'"
            )
        return SolverTeacher()
    if name == "greedy":
        if not hasattr(problem, "preview"):
            raise UsageError(f"teacher='greedy' needs {problem.__name__}.preview(actions)")
        return GreedyTeacher()
    if name == "search":
        return AdviceTeacher() if problem.defines("advise") else EpisodeTeacher()
    if Path(name).is_dir():
        from lagco.agents.bundle import DESCRIPTION, load
        from lagco.agents.demonstrations import RecordedTeacher

        if (Path(name) / DESCRIPTION).exists():
            return EpisodeTeacher(_TRIES, load(name, problem))
        return RecordedTeacher(name, problem)
    known = suggest("teacher", name, (*TEACHERS, "auto"))
    raise UsageError(f"{known}, and folders of demonstrations or of an agent")
