"""Teachers: the right actions in a state, for agents that learn by imitation.

``solver`` follows known good solutions, ``search`` the problem's own search (or search by its rules
alone, :mod:`lagco.heuristics`), ``greedy`` the best preview. A folder holds recorded demonstrations
(:mod:`lagco.agents.teaching.demonstrations`), or an agent whose best episodes are followed;
``default`` is the shipped agent. With ``self`` there is no teacher.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError, suggest
from lagco.heuristics import EpisodePlan, Search
from lagco.policies import Policy
from lagco.rollout import Episode

TEACHERS = ("solver", "search", "greedy")
#: the agent learns from its own episodes
SELF = "self"
_EMPTY = np.zeros(0, dtype=np.int64)


class Teacher(ABC):
    """Labels states with right actions.

    Attributes:
        anywhere: whether it labels any state, also those that the learner reached.
        continues: whether :meth:`take_over` may succeed in such states.
        ordered: whether the first of its actions is the one to take.
        checksum: of the files it reads demonstrations from, else empty.
        seconds: processor time used so far.
    """

    anywhere = True
    continues = True
    ordered = False
    checksum = ""

    def __init__(self) -> None:
        self.seconds = 0.0

    def episode_seed(self, env: Problem, seed: int) -> int:
        """Seed with which to begin an episode; by default `seed`, which was drawn for it."""
        return seed

    def begin(self, env: Problem, seed: int) -> None:  # noqa: B027
        """Called when an episode of `env` has begun with this seed."""

    def take_over(self, env: Problem, seed: int) -> bool:
        """Teach from a state that the learner reached; False if that is not possible."""
        return self.anywhere

    @abstractmethod
    def actions(self, env: Problem) -> Array:
        """The right raw actions (k,) or (k, m) in the present state; empty if none is known."""

    def timed(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method of the teacher, adding its processor time to `seconds`."""
        began = time.process_time()
        try:
            return call(*arguments)
        finally:
            self.seconds += time.process_time() - began


class SolverTeacher(Teacher):
    """Follows a solution of every instance: its reference, or one that it computes."""

    anywhere = False

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Array] = {}
        self._now: dict[int, Array] = {}

    def begin(self, env: Problem, seed: int) -> None:
        """Find the solution of the instance."""
        self._now[id(env)] = self._solution(env)

    def take_over(self, env: Problem, seed: int) -> bool:
        """Follow a solution that extends the learner's decisions."""
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


class NoTeacher(Teacher):
    """Labels nothing."""

    def actions(self, env: Problem) -> Array:
        """An empty array."""
        return _EMPTY


class AdviceTeacher(Teacher):
    """The problem's own search, asked in every state."""

    def actions(self, env: Problem) -> Array:
        """Actions that the search would take."""
        return env.advise()


class PlanTeacher(Teacher):
    """Follows the plans of generic search that agents with the hint ``plan`` observe."""

    def actions(self, env: Problem) -> Array:
        """The next actions of the episode's plan, where it offers any."""
        return EpisodePlan.of(env).next_actions(env)


class SearchTeacher(Teacher):
    """Follows the best solution that generic search finds from a state.

    For constructive problems, each further episode of an instance continues its search, and states
    that the learner reached are labelled, too.
    """

    anywhere = False

    def __init__(self) -> None:
        super().__init__()
        self._searches: dict[str, tuple[Array, Search]] = {}
        self._plans: dict[int, list[Any]] = {}

    def begin(self, env: Problem, seed: int) -> None:
        """Search from the start of the episode."""
        builds = not env.is_feasible()
        start, search = self._searches.get(env.instance.checksum, (_EMPTY, None))
        size = max(1, env.instance.size)
        if search is None or not np.array_equal(start, env.solution()):
            search = Search(env, seed=seed, within=None if builds else env.episode_length)
            if builds and len(self._searches) < _REMEMBERED:
                self._searches[env.instance.checksum] = env.solution(), search
            self._plan(env, search, _FIRST_MOVES * size)
        else:
            more = min(_MORE_MOVES * size, _MOST_MOVES * size - search.moves)
            self._plan(env, search, max(0, more))

    def take_over(self, env: Problem, seed: int) -> bool:
        """Search from the present state on, where solutions are built up."""
        if env.is_feasible():
            return False
        search = Search(env, seed=seed, here=True)
        self._plan(env, search, _MOVES_FROM_STATE * max(1, env.instance.size))
        return True

    def actions(self, env: Problem) -> Array:
        """The next action of the plan; nothing after its end."""
        plan = self._plans[id(env)]
        return np.asarray([plan.pop()]) if plan else _EMPTY

    def _plan(self, env: Problem, search: Search, moves: int) -> None:
        best = search.run(moves)
        found = None if best is None else best.actions
        self._plans[id(env)] = [] if found is None else list(found[::-1])


class EpisodeTeacher(Teacher):
    """The best of several episodes of a policy, which begin in the same state.

    Args:
        episodes: tries per instance.
        policy: greedy in the first try, exploring in the others.
    """

    anywhere = False
    continues = False

    def __init__(self, episodes: int, policy: Policy) -> None:
        super().__init__()
        self._episodes = episodes
        self._policy = policy
        self._plans: dict[int, list[Any]] = {}

    def begin(self, env: Problem, seed: int) -> None:
        """Play episodes from the present state in a copy and keep the best one's actions."""
        best: tuple[float, tuple[Any, ...]] | None = None
        trial = type(env)(env.instance, features=env.feature_set, start=env.start)
        sign = 1.0 if env.maximise else -1.0
        for number in range(self._episodes):
            rng = np.random.default_rng([seed, number])
            episode = Episode(trial, seed, explore=number > 0, rng=rng).run(self._policy)
            reached = trial.best_objective
            if reached is not None and (best is None or sign * reached > best[0]):
                best = sign * reached, episode.trace(best=True).actions
        self._plans[id(env)] = [] if best is None else list(best[1][::-1])

    def actions(self, env: Problem) -> Array:
        """The next action of the best episode; nothing after its best state."""
        plan = self._plans[id(env)]
        return np.asarray([plan.pop()]) if plan else _EMPTY


#: moves of a search per decision variable: in the first episode of an instance, in each later one,
#: and in all episodes together
_FIRST_MOVES, _MORE_MOVES, _MOST_MOVES = 40, 5, 200
#: the same from a state that the learner reached
_MOVES_FROM_STATE = 10
#: most instances whose searches are kept for later episodes
_REMEMBERED = 1000
#: episodes of an agent of which the best one is imitated
_TRIES = 16


def first_teacher(problem: type[Problem]) -> Teacher:
    """Teacher of the first rounds with ``self``: the best preview, if there is one."""
    return GreedyTeacher() if issubclass(problem, Previews) else NoTeacher()


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
        if not issubclass(problem, Previews):
            raise UsageError(f"teacher='greedy' needs {problem.__name__}.preview(actions)")
        return GreedyTeacher()
    if name == SELF:
        raise UsageError(
            "teacher='self': only an agent that is being trained teaches itself; choose another "
            "teacher, or the folder of an agent"
        )
    if name == "search":
        if problem.defines("advise"):
            return AdviceTeacher()
        return PlanTeacher() if "plan" in problem.hints else SearchTeacher()
    if name == "default" or Path(name).is_dir():
        from lagco.agents.bundle import DESCRIPTION, load
        from lagco.agents.teaching.demonstrations import RecordedTeacher

        if name == "default" or (Path(name) / DESCRIPTION).exists():
            return EpisodeTeacher(_TRIES, load(name, problem))
        return RecordedTeacher(name, problem)
    known = suggest("teacher", name, (*TEACHERS, SELF, "auto", "default"))
    raise UsageError(f"{known}, and folders of demonstrations or of an agent")
