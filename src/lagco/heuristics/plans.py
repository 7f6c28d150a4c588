"""Plans of episodes: what a short search promises, and the actions that lead there."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.heuristics.known_plans import KnownPlans
from lagco.heuristics.search import Search
from lagco.results.measures import improvement

#: plans that a start has, of which every episode draws one: training comes back to the same starts
PLANS = 64
#: moves of a search by the rules per decision variable
_MOVES = 20
#: times that an episode's plan is sought anew
_RENEWALS = 3
#: promises smaller than this part of a usual change are none
_TINY = 1e-9
_NAME = "plan"
_known = KnownPlans()


class EpisodePlan:
    """Plan of one episode, found from the state in which it is first asked for.

    The problem's own (`plan`) is a solution, which ``demonstrate`` leads to. Others are actions
    that search by the rules found, in their order; after one that was not planned it searches
    again, a few times.

    Attributes:
        promised: objective that it leads to.
        solution: that it leads to, where it is the problem's own.
        ordered: whether the order of its actions matters.
    """

    def __init__(self, problem: Problem) -> None:
        # a stream of its own, so that episodes are the same whether a plan is asked for or not
        self._number = int(problem.np_random.spawn(1)[0].integers(PLANS))
        own = problem.plan(self._number)
        self.ordered = own is None
        self.solution: Array | None = None
        self._renewals = 0
        if own is None:
            self._search(problem)
        else:
            self.solution, self.promised = own

    def _search(self, problem: Problem) -> None:
        """Plan from the present state on."""
        left = problem.episode_length - problem.steps_taken
        state = problem.solution().tobytes()
        key = (type(problem), problem.instance.checksum, state, self._number, left)
        actions, self.promised = _known.get(key, lambda: _searched(problem, self._number))
        self._actions: list[Any] = list(actions)
        self._seen = len(problem.actions_taken)

    @classmethod
    def of(cls, problem: Problem) -> EpisodePlan:
        """The plan of the present episode."""
        found: EpisodePlan | None = problem.remembered.get(_NAME)
        if found is None:
            found = problem.remembered[_NAME] = cls(problem)
        return found

    def promise(self, problem: Problem) -> float:
        """By how much it is better than the best so far; negative where it is not."""
        best = problem.best_objective
        best = problem.objective() if best is None else best
        return improvement(self.promised, best, maximise=problem.maximise)

    def offered(self, problem: Problem) -> Array:
        """Valid actions that lead to it, as long as it promises something and the steps suffice."""
        none = np.zeros(0, dtype=np.int64)
        left = problem.episode_length - problem.steps_taken
        if self.solution is not None:
            if not self.promise(problem) > _TINY * problem.usual_change:
                return none
            leading = problem.demonstrate(self.solution)
            return leading if len(leading) <= left else none
        self._keep_up(problem)
        if not self._actions or len(self._actions) > left:
            return none
        actions = np.asarray(self._actions)
        return actions[problem.are_valid_actions(actions)]

    def next_actions(self, problem: Problem) -> Array:
        """Those of the offered actions of which any one may come next."""
        offered = self.offered(problem)
        return offered[:1] if self.ordered else offered

    def _keep_up(self, problem: Problem) -> None:
        """Strike out what was done; plan anew where something else was done."""
        taken = problem.actions_taken
        for action in taken[self._seen :]:
            same = [i for i, planned in enumerate(self._actions) if np.array_equal(planned, action)]
            if not same:
                self._actions = []
                if self._renewals < _RENEWALS:
                    self._renewals += 1
                    self._search(problem)
                return
            del self._actions[same[0]]
        self._seen = len(taken)


def _searched(problem: Problem, number: int) -> tuple[Any, float]:
    """Actions that a short search from the present state finds, and the objective after them."""
    builds = not problem.is_feasible()
    left = problem.episode_length - problem.steps_taken
    search = Search(problem, seed=number, here=True, within=None if builds else left)
    best = search.run(_MOVES * max(1, problem.instance.size))
    if best is None or best.actions is None:
        return (), problem.objective()
    return best.actions, best.objective
