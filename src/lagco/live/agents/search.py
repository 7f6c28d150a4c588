"""Search for a few good changes: a beam over moves, which widens as long as there is time.

From every state of the beam a scorer proposes moves in one pass over all of them, the best few of
which are previewed exactly. Without a scorer all moves are previewed: that is the teacher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.moves import Moves
from lagco.solving.portfolio import Limit

#: columns of moves (k, f) -> scores (k,), larger ones better
MoveScores: TypeAlias = Callable[[Array], Array]
#: states of the beam in the last pass at most
_WIDEST = 64
#: changes after which a pass ends where none of them led to a lower level
_PATIENCE = 3
#: one more move is previewed for so many that were described, which takes about as long
_PER_PROPOSAL = 200
#: values closer than this, relatively, are level
_LEVEL = 1e-12
#: values closer than this, relatively, are about as good
_ABOUT = 0.01


@dataclass(eq=False)
class State:
    """A state of the search.

    Attributes:
        solution: configuration.
        value: its objective, lower ones better.
        level: likewise, with what is nearly as full.
        changes: elements that differ from the configuration in force.
        previewed: moves that were previewed from here.
        children: states that these lead to, the lowest level first.
    """

    solution: Array
    value: float
    level: float
    changes: int
    previewed: int = 0
    children: list[State] = field(default_factory=list)

    def beats(self, other: State) -> bool:
        """Whether it is better: value, then fewer changes, then level."""
        if abs(self.value - other.value) > _LEVEL * abs(other.value):
            return self.value < other.value
        return (self.changes, self.level) < (other.changes, other.level)


@dataclass(frozen=True, eq=False)
class Expansion:
    """What a teacher saw from a state.

    Attributes:
        columns: (k, f) of all moves.
        levels: (k,) after each of them.
        solutions: of the moves, by row.
        state: from which they lead.
    """

    columns: Array
    levels: Array
    solutions: list[Array]
    state: State


class GuidedSearch:
    """The search on one problem.

    Args:
        moves: of the problem.
        scorer: proposes moves; all are previewed without.
        proposals: moves that are previewed from a state.
        seen: is told what was seen from every state where all moves are previewed.
    """

    def __init__(
        self,
        moves: Moves,
        scorer: MoveScores | None = None,
        proposals: int = 12,
        seen: Callable[[Expansion], None] | None = None,
    ) -> None:
        self.moves = moves
        self.scorer = scorer
        self.proposals = proposals
        self._seen = seen

    def run(
        self,
        before: Array,
        most: int | None,
        limit: Limit,
        width: int = _WIDEST,
        first: Array | None = None,
    ) -> State:
        """The best state met, from where the moves are: the configuration in force at first.

        Args:
            before: the configuration in force, of which changes are counted.
            most: changes at most; None for any number.
            limit: when to stop; a turn is one state from which moves are proposed.
            width: of the beam in the last pass.
            first: another configuration within the budget, which is exchanged from, too.
        """
        start = State(self.moves.solution, self.moves.value, self.moves.level, 0)
        self._best, self._before, self._limit, self._slowest = start, before, limit, 0.0
        self._known = {_key(start.solution): start}
        if first is not None:
            self.moves.go_to(first)
            self._state(first, self.moves.value, self.moves.level)
            self.moves.go_to(start.solution)
        depth = len(before) if most is None else most
        for wide, proposals in _passes(width, self.proposals):
            if not (self._descend(start, depth, wide, proposals) and self._exchange(proposals)):
                break
        return self._chosen(start)

    def _descend(self, start: State, depth: int, wide: int, proposals: int) -> bool:
        """A pass of the beam; whether there was time for it."""
        beam, lowest, idle = [start], start.level, 0
        for _ in range(depth):
            if not all(self._look(state, proposals) for state in beam):
                return False
            beam = _lowest([child for state in beam for child in state.children], wide)
            if not beam:
                break
            idle = 0 if beam[0].level < lowest * (1.0 - _LEVEL) else idle + 1
            lowest = min(lowest, beam[0].level)
            if idle == _PATIENCE:
                break
        return True

    def _exchange(self, proposals: int) -> bool:
        """Take changes of the best state back, one at a time, and propose others instead of it.

        That goes on as long as it leads to a better one; whether there was time for it.
        """
        best = None
        while best is not self._best:
            best = self._best
            changed = best.solution != self._before
            elements = changed if changed.ndim == 1 else changed.any(axis=1)
            for element in np.flatnonzero(elements).tolist():
                solution = best.solution.copy()
                solution[element] = self._before[element]
                if not self._look(self._state(solution, np.inf, np.inf), proposals):
                    return False
        return True

    def _look(self, state: State, proposals: int) -> bool:
        """Preview moves from a state, unless that was done; whether there was time for it."""
        if state.previewed >= proposals:
            return True
        began = self._limit.elapsed()
        if self._limit.over() or self._limit.left() < self._slowest:
            return False
        self._expand(state, proposals)
        self._limit.taken += 1
        self._slowest = max(self._slowest, self._limit.elapsed() - began)
        return True

    def _state(self, solution: Array, value: float, level: float) -> State:
        """The state of a configuration, the known one where it was met before."""
        key = _key(solution)
        known = self._known.get(key)
        if known is None:
            changed = solution != self._before
            count = int((changed if changed.ndim == 1 else changed.any(axis=1)).sum())
            known = self._known[key] = State(solution, value, level, count)
        elif value < known.value:
            known.value, known.level = value, level
        if known.beats(self._best):
            self._best = known
        return known

    def _chosen(self, start: State) -> State:
        """Of states about as good as the best, that with the lowest level.

        What is in force has to serve the next events too, and these are others.
        """
        if self._best is start:
            return start
        most = self._best.value + _ABOUT * abs(self._best.value)
        good = [s for s in self._known.values() if s.value <= most and s.beats(start)]
        return min((s for s in good if s.changes), key=lambda state: state.level)

    def _expand(self, state: State, proposals: int) -> None:
        """Preview moves from a state."""
        self.moves.go_to(state.solution)
        columns = self.moves.describe()
        chosen = np.arange(len(columns))
        count = proposals + len(columns) // _PER_PROPOSAL
        if self.scorer is not None and len(columns) > count:
            scores = self.scorer(columns)
            chosen = np.sort(np.argpartition(-scores, count - 1)[:count])
        values, levels = self.moves.preview(chosen)
        solutions = [self.moves.after(move) for move in chosen.tolist()]
        if self._seen is not None:
            self._seen(Expansion(columns.copy(), levels.copy(), solutions, state))
        state.previewed = proposals if self.scorer is not None else len(columns) + proposals
        state.children = []
        for solution, value, level in zip(solutions, values.tolist(), levels.tolist(), strict=True):
            state.children.append(self._state(solution, value, level))


def _passes(width: int, proposals: int) -> Iterator[tuple[int, int]]:
    """Widths of the beam and numbers of proposals, pass by pass."""
    wide = 1
    while wide <= width:
        yield wide, proposals
        wide *= 2
    yield width, 4 * proposals


def _lowest(states: list[State], count: int) -> list[State]:
    """The different ones with the lowest levels."""
    found = sorted({id(state): state for state in states}.values(), key=lambda state: state.level)
    return found[:count]


def _key(solution: Array) -> bytes:
    return solution.tobytes()
