"""Hooks that the author of a problem writes, and that `Problem` and teachers call."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.errors import UsageError
from lagco.instances import Instance, References


class Hooks(ContinuousEnv):
    """Methods that a problem defines: the abstract ones always, the others where they apply."""

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """A random instance over the problem's ranges, of `size` decision variables if given."""
        raise UsageError(
            f"{cls.__name__} cannot draw instances: give instance=, or define "
            "draw(cls, rng, size=None)"
        )

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """References with the heuristic bounds of `sweeps` sweeps (None: the paper's number)."""
        raise UsageError(f"{cls.__name__} has no sweeps; generate without that reference")

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """References with the value of a solver; `effort` multiplies its usual amount of work."""
        raise UsageError(f"{cls.__name__} has no solver; generate without that reference")

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """A value that no solution can beat; None if none is found within this many seconds."""
        return None

    @classmethod
    def relaxed(
        cls, instance: Instance, seconds: float | None = None
    ) -> tuple[float, Array] | None:
        """What :meth:`bound` gives, and a solution rounded from the relaxation behind it.

        None where the problem has no such relaxation, or it takes longer than that.
        """
        return None

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Sizes of the instance that padding depends on; at least ``nodes``."""
        return {"nodes": instance.size}

    @abstractmethod
    def _load(self, instance: Instance) -> None:
        """Build views, declarations, `action_space` and everything static for `instance`."""

    @abstractmethod
    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        """Write the initial state into the arrays."""

    @abstractmethod
    def _apply(self, action: Any) -> Mapping[str, float] | None:
        """Carry out a valid action; return reward terms in addition to the objective's, if any."""

    @abstractmethod
    def objective(self) -> float:
        """Value of the state, an unfinished one completed pessimistically; kept up to date."""

    @abstractmethod
    def solution(self) -> Array:
        """The present configuration (a tour, chosen nodes, sides), as a copy."""

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Objective of a whole configuration, computed from scratch."""
        raise UsageError(f"{cls.__name__} does not define evaluate_solution(instance, solution)")

    def recompute_objective(self) -> float:
        """:meth:`objective`, computed from scratch instead of kept up to date."""
        return self.objective()

    def details(self) -> dict[str, Any]:
        """Further entries for ``info`` at every step."""
        return {}

    def is_complete(self) -> bool:
        """Whether the episode is over because the solution is."""
        return False

    def is_feasible(self) -> bool:
        """Whether the state is a solution at all; otherwise its score is 0."""
        return True

    def reopened(self, solution: Array, share: float, rng: np.random.Generator) -> Any:
        """A start from which a share of the decisions in `solution` is to be made again.

        By default the solution itself, where states are improved step by step; None where the
        problem has no such start.
        """
        return solution if self.is_feasible() else None

    def completed(self) -> Array | None:
        """The present solution, completed as the policy `greedy` would; None: by its own steps.

        Asked for when the time is over before an episode is, where no answer is known yet.
        """
        return None

    def starts(self) -> list[Any]:
        """Starts that are equally good to begin from, where an answer may be sought from all."""
        return []

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """A solution that is no worse, by local search.

        Args:
            instance: what is solved.
            solution: to begin from, as :meth:`solution` gives it; None for a start of its own.
            seed: of the search.
            effort: multiplies the usual amount of work of :meth:`solve`; 0 is a mere descent.
        """
        raise UsageError(
            f"{cls.__name__} has no local search: leave improve= out, or define "
            "improve(cls, instance, solution, seed, effort=1.0)"
        )

    # -- what teachers ask

    def demonstrate(self, solution: Array) -> Array:
        """Raw actions that lead from the present state to a known solution: (k,) or (k, m).

        All of them are equally right; empty where none leads there.
        """
        raise UsageError(
            f"{type(self).__name__} does not define demonstrate(solution), which the teacher "
            "'solver' needs; choose another teacher"
        )

    def continued_solution(self, seed: int) -> Array | None:
        """A good solution that contains what was decided so far; None where none is known.

        Where it is defined, the teacher `solver` also teaches in states that the learner reached.
        """
        return None

    def advise(self) -> Array:
        """Raw actions that a search of the problem's own would take now: (k,) or (k, m).

        It may be slow, and it may ask more than an agent can see.
        """
        raise UsageError(
            f"{type(self).__name__} does not define advise(), a search of its own; the teacher "
            "'search' then plays many episodes instead"
        )

    def draw_on(self, axes: Any) -> None:
        """Draw the state on matplotlib axes."""
        raise UsageError(f"{type(self).__name__} has no viewer; define draw_on(axes)")
