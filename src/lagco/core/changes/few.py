"""Search for few changes: the best single ones, a beam of several, and exchanges.

Within a budget of few changes there are so few solutions near the incumbent that evaluating every
single change beats random moves. The problem evaluates them in compiled code; how they are combined
is decided here, for all problems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import same

#: largest budget for which all single changes are evaluated
FEW = 12
#: most states of a beam, and its share of the evaluations
WIDEST, BEAM = 512, 0.5
#: most changes that a kick removes, and the number of best changes among which it draws others
_KICK, _DRAWN = 3, 4
#: energies and objectives closer than this, relatively, are level
_LEVEL = 1e-9


class Singles(NamedTuple):
    """Every single change of a solution, evaluated; smaller is better.

    Attributes:
        elements: (k,) the element that changes.
        values: (k,) or (k, w) its new value.
        energies: (k,) a smooth approximation of the objective that guides the search.
        objectives: (k,)
    """

    elements: Array
    values: Array
    energies: Array
    objectives: Array


class Neighbourhood(Protocol):
    """A problem's evaluation of single changes."""

    def singles(self, solution: Array) -> Singles:
        """All changes of single elements to values they may take, also back to the incumbent's."""
        ...


class _State(NamedTuple):
    energy: float
    objective: float
    solution: Array


class FewChanges:
    """A search within a budget of few changes.

    Args:
        neighbourhood: evaluates single changes.
        before: values of the elements in the incumbent, (m,) or (m, w).
        most: the budget of changes, 1 or more.
        seed: of random draws.
        stopped: whether the search has to end.
    """

    def __init__(
        self,
        neighbourhood: Neighbourhood,
        before: Array,
        most: int,
        seed: int = 0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._neighbourhood = neighbourhood
        self._before = before
        self._most = most
        self._rng = np.random.default_rng(seed)
        self._stopped = stopped
        self._best: _State | None = None
        self._seen: set[bytes] = set()
        self.evaluated = 0

    def run(self, evaluations: int, start: Array | None = None) -> Array:
        """The best solution of exchanges from a start; without one, of a beam from the incumbent.

        Args:
            evaluations: approximate number of solutions to evaluate; a beam of one state is
                completed in any case.
            start: values of the elements, within the budget.
        """
        if start is None or same(start, self._before).all():
            self._spread(evaluations)
        else:
            self._best = _State(np.inf, np.inf, start)
        best = self._best
        if best is None:
            return self._before
        self._exchange(best, by_energy=False)
        while self.evaluated < evaluations and not self._stopped():
            self._kick(self._best or best)
        return (self._best or best).solution

    def _spread(self, evaluations: int) -> None:
        """A beam from the incumbent, and exchanges from the lowest energy that it leads to."""
        states = [_State(np.inf, np.inf, self._before)]
        width, reached = 1, states
        for depth in range(self._most):
            states = self._extended(states, width)
            if not states or self._stopped():
                break
            reached = states
            if depth == 0:
                width = int(BEAM * evaluations) // max(1, self.evaluated * self._most)
                width = max(1, min(WIDEST, width))
        self._exchange(min(reached, key=lambda s: s.energy), by_energy=True)

    def _kick(self, state: _State) -> None:
        """Remove some changes, draw good ones instead, and exchange from there."""
        changed = np.flatnonzero(~same(state.solution, self._before))
        count = 1 + int(self._rng.integers(min(_KICK, len(changed)))) if len(changed) else 0
        solution = state.solution.copy()
        given_up = self._rng.permutation(changed)[:count]
        solution[given_up] = self._before[given_up]
        left = self._most - (len(changed) - count)
        for _ in range(left):
            singles = self._evaluate(solution)
            fresh = np.flatnonzero(same(solution, self._before)[singles.elements])
            if not len(fresh) or self._stopped():
                break
            order = fresh[np.argsort(singles.energies[fresh], kind="stable")[:_DRAWN]]
            state = self._after(solution, singles, int(self._rng.choice(order)))
            solution = state.solution
        self._exchange(state, by_energy=bool(self._rng.integers(2)))

    def _extended(self, states: list[_State], width: int) -> list[_State]:
        """The best states with one more change."""
        found: dict[bytes, _State] = {}
        for state in states:
            if self._stopped():
                break
            singles = self._evaluate(state.solution)
            fresh = same(state.solution, self._before)[singles.elements]
            for i in self._chosen(singles, fresh, width):
                other = self._after(state.solution, singles, i)
                found[other.solution.tobytes()] = other
        return _best_by_both(list(found.values()), width)

    def _chosen(self, singles: Singles, allowed: Array, width: int) -> list[int]:
        """The changes with the lowest energies and objectives, half of each."""
        places = np.flatnonzero(allowed)
        energies, objectives = singles.energies[places], singles.objectives[places]
        half = max(1, width // 2)
        by_energy = places[np.argsort(energies, kind="stable")[: width - half + 1]]
        by_objective = places[np.lexsort((energies, objectives))[:half]]
        return list(dict.fromkeys([*by_energy.tolist(), *by_objective.tolist()]))

    def _after(self, solution: Array, singles: Singles, i: int) -> _State:
        """The state after a single change; kept if it is the best."""
        changed = solution.copy()
        changed[singles.elements[i]] = singles.values[i]
        state = _State(float(singles.energies[i]), float(singles.objectives[i]), changed)
        self._note(state)
        return state

    def _note(self, state: _State) -> None:
        best = self._best
        if best is None or _better(state.objective, best.objective):
            self._best = state
        elif not _better(best.objective, state.objective):
            counts = [int((~same(s.solution, self._before)).sum()) for s in (state, best)]
            if counts[0] < counts[1] or (counts[0] == counts[1] and state.energy < best.energy):
                self._best = state

    def _exchange(self, state: _State, *, by_energy: bool) -> None:
        """Local search: replace one change by another as long as that is better."""

        def key(s: Any) -> tuple[float, float]:
            return (s.energy, s.objective) if by_energy else (s.objective, s.energy)

        better = True
        while better and not self._stopped():
            better = False
            code = state.solution.tobytes() + bytes([by_energy])
            if code in self._seen:
                return
            self._seen.add(code)
            changed = np.flatnonzero(~same(state.solution, self._before)).tolist()
            bases = [state.solution] if len(changed) < self._most else []
            for element in changed:
                base = state.solution.copy()
                base[element] = self._before[element]
                bases.append(base)
            for base in bases:
                if self._stopped():
                    return
                singles = self._evaluate(base)
                other = self._lowest(base, singles, by_energy)
                if other is not None and _lower(key(other), key(state)):
                    state, better = other, True

    def _lowest(self, base: Array, singles: Singles, by_energy: bool) -> _State | None:
        """The best state one change away, within the budget."""
        if not len(singles.elements):
            return None
        first, second = singles.energies, singles.objectives
        if not by_energy:
            first, second = second, first
        level = np.flatnonzero(first <= first.min() * (1.0 + _LEVEL))
        return self._after(base, singles, int(level[np.argmin(second[level])]))

    def _evaluate(self, solution: Array) -> Singles:
        singles = self._neighbourhood.singles(solution)
        self.evaluated += len(singles.elements)
        return singles


def _best_by_both(states: list[_State], width: int) -> list[_State]:
    """States with the lowest energies, and the same number with the lowest objectives."""
    half = width // 2
    lowest = sorted(states, key=lambda s: (s.objective, s.energy))[:half]
    taken = {id(state) for state in lowest}
    rest = [s for s in sorted(states, key=lambda s: s.energy) if id(s) not in taken]
    return rest[: width - half] + lowest


def _better(value: float, other: float) -> bool:
    return value < other - _LEVEL * abs(other) if np.isfinite(other) else value < other


def _lower(key: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether the first, or where these are level the second value is lower."""
    if _better(key[0], other[0]):
        return True
    return not _better(other[0], key[0]) and _better(key[1], other[1])
