"""Plans: the changes of a solution in an order in which they can be carried out one by one."""

from __future__ import annotations

from typing import NamedTuple

from lagco.core.changes.judging import Change


class Plan(NamedTuple):
    """Changes in order.

    Attributes:
        steps: every state between two of them is allowed. An element may change twice, where it has
            to make room in between.
        stuck: changes for which no order was found; they are in no step.
    """

    steps: tuple[Change, ...]
    stuck: tuple[Change, ...] = ()
