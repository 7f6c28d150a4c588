"""Solutions that are built up: greedy episodes, a beam, and episodes that vary the best one.

A solution is known by the actions that led to it. It is varied by playing its episode again with
some of the actions left out, or others taken in between, and completing it greedily: where the
order of actions does not matter this is destroy and rebuild, where it does it moves them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lagco.core.trial import Trial

#: how sharply a greedy choice prefers the most promising: the chance of the first in rank, then of
#: the second among the rest, and so on; 1 always takes the first, 0 does not rank
SHARPNESS = (1.0, 0.9, 0.7, 0.5, 0.0)
#: share of the actions that a variation leaves out or moves, at most
LARGEST_SHARE = 0.5

Variation = Callable[["Construction", Sequence[Any], np.random.Generator], None]


class Construction:
    """Episodes of one problem that end with a solution.

    Args:
        trial: the problem.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.moves = 0

    def complete(self, rng: np.random.Generator, sharpness: float = 1.0) -> None:
        """Take promising actions until there is nothing more to decide."""
        trial = self.trial
        while not trial.over():
            action = self.promising(rng, sharpness)
            if action is None:
                return
            self.take(action)

    def promising(self, rng: np.random.Generator, sharpness: float) -> Any:
        """A valid action, the likelier the better it ranks; None where there is none."""
        if sharpness == 0.0:
            return self.trial.draw(rng)
        choices = self.trial.choices(rng)
        if not len(choices):
            return None
        self.moves += 1  # to rank actions takes about as long as to take one
        return self.trial.ranked(choices, rng)[_rank(len(choices), sharpness, rng)]

    def take(self, action: Any) -> None:
        """Take a valid action."""
        self.trial.take(action)
        self.moves += 1

    def follow(self, actions: Sequence[Any]) -> None:
        """Take those of some actions that are valid when their turn comes."""
        before = len(self.trial.actions)
        self.trial.follow(actions)
        self.moves += 1 + len(self.trial.actions) - before

    # -- variations of a solution; what is left open is completed afterwards

    def drop(self, actions: Sequence[Any], rng: np.random.Generator) -> None:
        """Leave out a random part of the actions."""
        kept = rng.random(len(actions)) >= _share(len(actions), rng)
        self.follow([action for action, keep in zip(actions, kept, strict=True) if keep])

    def drop_stretch(self, actions: Sequence[Any], rng: np.random.Generator) -> None:
        """Leave out a stretch of the actions."""
        length = max(1, round(_share(len(actions), rng) * len(actions)))
        first = int(rng.integers(max(1, len(actions) - length + 1)))
        self.follow([*actions[:first], *actions[first + length :]])

    def cut(self, actions: Sequence[Any], rng: np.random.Generator) -> None:
        """Keep the beginning."""
        self.follow(actions[: int(rng.integers(len(actions) + 1))])

    def insert(self, actions: Sequence[Any], rng: np.random.Generator) -> None:
        """Take other actions in between, after which those that became invalid are left out."""
        places = np.sort(rng.integers(len(actions) + 1, size=int(rng.integers(1, 4))))
        done = 0
        for place in places.tolist():
            self.follow(actions[done:place])
            done = max(done, place)
            if self.trial.over():
                return
            action = self.trial.draw(rng)
            if rng.random() < 0.5:
                action = self.promising(rng, 0.5)
            if action is not None:
                self.take(action)
        self.follow(actions[done:])

    def move(self, actions: Sequence[Any], rng: np.random.Generator) -> None:
        """Take one action earlier or later, or exchange two."""
        order = list(actions)
        first, second = (int(i) for i in rng.integers(len(order), size=2))
        if rng.random() < 0.5:
            order.insert(second, order.pop(first))
        else:
            order[first], order[second] = order[second], order[first]
        self.follow(order)


#: ways to vary a solution
VARIATIONS: tuple[Variation, ...] = (
    Construction.drop,
    Construction.drop_stretch,
    Construction.cut,
    Construction.insert,
    Construction.move,
)


def _rank(count: int, sharpness: float, rng: np.random.Generator) -> int:
    """A rank below `count`, geometrically distributed."""
    if sharpness >= 1.0 or count == 1:
        return 0
    return int(math.log(1.0 - rng.random()) / math.log(1.0 - sharpness)) % count


def _share(count: int, rng: np.random.Generator) -> float:
    """A share of `count` actions to vary: at least about one of them, often few."""
    least = min(LARGEST_SHARE, 1.0 / max(count, 1))
    return float(least * (LARGEST_SHARE / least) ** rng.random())


class Beam:
    """Episodes side by side, of which the best states stay.

    Args:
        trial: the problem, in any state.
        width: how many states stay; each of them branches by as many promising actions.

    Attributes:
        best: value and actions of the best solution so far, None before any.
    """

    def __init__(self, trial: Trial, width: int) -> None:
        self._trial = trial
        self._width = width
        trial.begin()
        self._states: list[tuple[Any, list[Any]]] = [(trial.env.snapshot(), [])]
        self.best: tuple[float, list[Any]] | None = None

    def step(self, rng: np.random.Generator) -> int:
        """One more action in every state; the number of moves it took, 0 at the end."""
        trial = self._trial
        branches: list[tuple[float, int, Any]] = []
        for number, (kept, taken) in enumerate(self._states):
            self._go_to(kept, taken)
            choices = trial.choices(rng) if not trial.over() else ()
            if not len(choices):
                found = trial.found()
                if found is not None and (self.best is None or found[0] > self.best[0]):
                    self.best = found[0], taken
                continue
            promising = trial.ranked(np.asarray(choices), rng)[: self._width]
            values = trial.values_after(promising)
            branches += [(v, number, a) for v, a in zip(values, promising, strict=True)]
        branches.sort(key=lambda branch: -branch[0])
        following = []
        for _, number, action in branches[: self._width]:
            self._go_to(*self._states[number])
            trial.take(action)
            following.append((trial.env.snapshot(), trial.actions))
        self._states = following
        return len(branches)

    def _go_to(self, kept: Any, taken: list[Any]) -> None:
        self._trial.env.restore(kept)
        self._trial.actions = list(taken)
