"""Features of candidate actions: what a ranker sees of the few actions it chooses among."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import SpecError, suggest


class CandidateFeatures(NamedTuple):
    """Features of k candidate actions in one state.

    They should not depend on the size, unit or position of an instance, so that what was learnt on
    small ones holds on large ones: ratios, ranks, differences over a local scale.

    Attributes:
        each: (k, f) float32, a row per candidate.
        pairs: (k, k, g) float32, features of ordered pairs; None where there are none.
    """

    each: Array
    pairs: Array | None = None


class Columns:
    """Names of the columns of :class:`CandidateFeatures`, in order, with what each one says.

    Compiled code writes columns by name: :meth:`records` makes an array with a record per candidate
    (``records[i].gain = 0.5``), and :meth:`matrix` is the same memory as plain numbers.

    Args:
        meanings: by name what the column says. A mapping declares several columns under one field,
            which compiled code writes by position: ``records[i].ways[2]``.
    """

    def __init__(self, **meanings: str | Mapping[str, str]) -> None:
        self.meanings: dict[str, str] = {}
        fields: list[Any] = []
        for name, meaning in meanings.items():
            several = isinstance(meaning, Mapping)
            self.meanings |= meaning if isinstance(meaning, Mapping) else {name: meaning}
            fields.append((name, np.float32, len(meaning)) if several else (name, np.float32))
        self.names = tuple(self.meanings)
        self._record = np.dtype(fields)

    def __len__(self) -> int:
        return len(self.names)

    def records(self, *shape: int) -> Array:
        """An array of that shape with a field per column, all zeros."""
        return np.zeros(shape, self._record)

    @staticmethod
    def matrix(records: Array) -> Array:
        """The numbers of records (…), float32 (…, f)."""
        width = records.dtype.itemsize // np.dtype(np.float32).itemsize
        numbers: Array = records.view(np.float32).reshape(*records.shape, width)
        return numbers


#: generic columns that any problem may ask for, by the name of the hint
HINTS = {
    "preview": Columns(
        preview_behind="difference of the preview to the best one, over the mean difference",
        preview_rank="share of the candidates with a better preview",
    ),
    "age": Columns(
        age="steps since the element was changed, over the size of the instance",
        changed_last="the element was changed by the last step",
    ),
    "progress": Columns(
        behind="difference of the objective to the best of the episode",
        steps_left="share of the steps that is left",
    ),
    "plan": Columns(
        planned="the action leads to the plan of the episode; half, where others come before it",
        against_plan="there is a plan, and the action does not lead to it",
        promised="difference of the plan's objective to the best so far",
        plan_distance="actions to the plan over the steps that are left",
    ),
}


def check_hints(owner: str, names: Any) -> None:
    """Refuse hints that there are not."""
    if not isinstance(names, tuple):
        raise SpecError(f'{owner}.hints is {names!r}; give a tuple of names, such as ("plan",)')
    for name in names:
        if name not in HINTS:
            raise SpecError(f"{owner}.hints: {suggest('hint', str(name), list(HINTS))}")
