"""Moves: single changes of the configuration in force, described to first order, previewed exactly.

An agent that has time for a few changes cannot try all of them. A problem that lists its moves says
cheaply what each one is likely to bring (a row of columns per move, all in one pass), and exactly
what a few chosen ones lead to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.instances import Instance


class Moves(ABC):
    """The moves of one problem, in a state that starts from the configuration in force.

    Attributes:
        columns: features of moves and, the same for all of them, of the state. Ratios, ranks and
            shares, so that agents generalise from small to large instances.
        solution: configuration of the state.
        value: its objective, lower is better.
        level: a smoother objective that breaks ties by the elements next in fullness.
    """

    columns: ClassVar[Columns]
    solution: Array
    value: float
    level: float

    @abstractmethod
    def begin(self, instance: Instance) -> None:
        """Go to the configuration in force of an instance.

        It costs less where only amounts differ from the instance before.
        """

    @abstractmethod
    def go_to(self, solution: Array) -> None:
        """Go to another configuration within the limits of the instance."""

    @abstractmethod
    def describe(self) -> Array:
        """Columns (k, f) of all moves of the state that keep to limits and budget, float32."""

    @abstractmethod
    def preview(self, moves: Array) -> tuple[Array, Array]:
        """Value and level after each of some moves (m,), which are rows of `describe`: (m,) both.

        Infinite where a move turns out not to be possible.
        """

    @abstractmethod
    def after(self, move: int) -> Array:
        """The configuration after a move."""


def ranks(values: Array) -> Array:
    """Share of the values (k,) that are larger than each of them: (k,)."""
    order = np.sort(values)
    above = len(values) - np.searchsorted(order, values, side="right")
    found: Array = above / max(1, len(values))
    return found
