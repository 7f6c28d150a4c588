"""Limits of an instance: elements that are fixed, values that are allowed, a budget of changes.

A solution is a value per element: a weight per link, a path per demand, a host per machine. A
change is an element whose value differs from the incumbent's, however many steps led there; taking
it back gives the change back. An incumbent that is not allowed itself may only be moved towards
what is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance

if TYPE_CHECKING:
    from lagco.core.problem import Problem

#: array of an instance: 1 for every element that may not change, else 0
FIXED = "fixed"
#: parameter of an instance: most elements that may differ from the incumbent
MAX_CHANGES = "max_changes"


def incumbent_of(cls: type[Problem], instance: Instance) -> Array | None:
    """The configuration in force, in the problem's own form; None where the instance has none."""
    return None if cls.present is None else instance.arrays.get(cls.present)


def is_limited(cls: type[Problem], instance: Instance) -> bool:
    """Whether anything restricts the solutions of an instance beyond the problem's rules."""
    named = FIXED in instance.arrays or instance.params.get(MAX_CHANGES) is not None
    return named or any(
        name in instance.arrays or instance.params.get(name) is not None for name in cls.limiting
    )


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of one instance, as validity and searches ask for them.

    Attributes:
        before: (m,) or (m, w), value of every element in the incumbent; None without one.
        fixed: bool (m,), elements that may not change; None without an incumbent.
        most: elements that may differ from the incumbent; None for any number.
    """

    before: Array | None
    fixed: Array | None
    most: int | None

    @classmethod
    def of(cls, problem: type[Problem], instance: Instance) -> Limits | None:
        """The limits of an instance; None where it has none.

        Raises:
            InstanceError: elements are fixed or changes are counted, and there is no incumbent.
        """
        if not is_limited(problem, instance):
            return None
        incumbent = incumbent_of(problem, instance)
        fixed, most = instance.arrays.get(FIXED), instance.params.get(MAX_CHANGES)
        if incumbent is None:
            if fixed is None and most is None:
                return cls(None, None, None)
            array = "" if problem.present is None else f", as the array {problem.present!r}"
            raise InstanceError(
                f"instance {instance.name!r} says what may change, and has no incumbent that it "
                f"changes from: give one{array} or by incumbent="
            )
        if most is not None and not (isinstance(most, int | np.integer) and most >= 0):
            raise InstanceError(
                f"instance {instance.name!r}: {MAX_CHANGES} is {most!r}; give a whole number of 0 "
                "or more"
            )
        before = problem.elements(instance, incumbent)
        flags = np.zeros(len(before), dtype=bool) if fixed is None else fixed.astype(bool)
        if flags.shape != (len(before),):
            raise InstanceError(
                f"instance {instance.name!r}: {FIXED} has shape {flags.shape}, expected "
                f"({len(before)},), a flag per element"
            )
        return cls(before, flags, None if most is None else int(most))

    def permitted(self, problem: Problem, actions: Array) -> Array:
        """Which raw actions (k,) or (k, m) keep to the limits in the problem's state: bool (k,)."""
        return problem.keep_limits(self, actions)

    def left(self, problem: Problem) -> int | None:
        """Changes that may still be made in the problem's state; None without a budget."""
        if self.most is None or self.before is None:
            return None
        return self.most - int((~same(problem.present_elements(), self.before)).sum())

    def permits(self, problem: Problem, elements: Array, values: Array) -> Array:
        """Likewise of elements (k,), each set alone to a value (k,) or (k, w)."""
        now = problem.present_elements()
        old = now[elements]
        fine = np.ones(len(elements), dtype=bool)
        excess = problem.excess(problem.instance, elements, values)
        if excess.any():
            before = problem.excess(problem.instance, elements, old)
            fine = (excess == 0.0) | (excess < before)
        if self.before is not None and self.fixed is not None:
            kept = same(values, self.before[elements])
            fine &= kept | ~self.fixed[elements]
            if self.most is not None:
                changed = ~same(now, self.before) & problem.decided()
                count = int(changed.sum())
                after = count - changed[elements] + ~kept
                fine &= (after <= self.most) | (after < count)
        found: Array = fine | same(values, old)
        return found


def same(values: Array, others: Array) -> Array:
    """Elements (k,) or (k, w) whose values agree: bool (k,)."""
    equal: Any = values == others
    return np.asarray(equal if equal.ndim == 1 else equal.all(axis=1))
