"""Hooks that the author of a problem writes, and that `Problem` and teachers call."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.moves import Moves
from lagco.core.env import ContinuousEnv
from lagco.core.scenarios.variants import variants
from lagco.errors import InstanceError, UsageError, suggest
from lagco.instances import Instance, References

if TYPE_CHECKING:
    from lagco.core.changes import Plan
    from lagco.core.changes.limits import Limits
    from lagco.core.problem import Problem


class Hooks(ContinuousEnv):
    """Methods that a problem defines: the abstract ones always, the others where they apply."""

    instance: Instance
    #: name in commands and files; without one, that of the class, as ``job-shop`` of ``JobShop``
    name: ClassVar[str]
    _named_after_class: ClassVar[bool] = True
    #: array of an instance with the configuration in force, the incumbent; None: there is none
    present: ClassVar[str | None] = None
    #: further arrays and parameters of an instance that limit the values of elements
    limiting: ClassVar[tuple[str, ...]] = ()
    #: axis of arrays, as the form names it, that the size of an instance counts
    size_axis: ClassVar[str] = "size"
    #: by array with rows of different lengths, the parameter whose value fills them up
    padding: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: whether episodes build a solution up, so that their state is no configuration in force
    builds_up: ClassVar[bool] = False
    #: whether `improve` keeps to all limits; where it does not, search by the rules alone does
    improves_within_limits: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            cls._named_after_class = False
        elif cls._named_after_class:
            cls.name = kebab(cls.__name__)

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
        raise UsageError(f"{cls.__name__} has no solver of its own")

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

    # -- what may change: see `lagco.core.changes`

    @classmethod
    def elements(cls, instance: Instance, solution: Array) -> Array:
        """Value of every element of a solution, of which changes are counted: (m,) or (m, w).

        By default the solution itself. The same element has the same place in every solution.
        """
        return np.asarray(solution)

    @classmethod
    def with_present(cls, instance: Instance, solution: Array) -> Instance:
        """The instance with a configuration in force; for problems that have to adapt more."""
        assert cls.present is not None
        return replace(instance, arrays={**instance.arrays, cls.present: solution})

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """Arrays that limit an instance, from the rows of a table by column.

        A column ``element`` names elements that may not change.
        """
        places = {name: number for number, name in enumerate(cls.element_names(instance))}
        fixed = np.array(instance.arrays.get("fixed", np.zeros(len(places), dtype=np.int8)))
        for number, row in enumerate(table, start=1):
            if set(row) != {"element"}:
                raise InstanceError(
                    f"a table of what may not change has the columns {', '.join(row)}; it needs "
                    "the column element"
                )
            if row["element"] not in places:
                raise InstanceError(
                    f"row {number}: {suggest('element', row['element'], list(places))}"
                )
            fixed[places[row["element"]]] = 1
        return {"fixed": fixed}

    @classmethod
    def element_names(cls, instance: Instance) -> Sequence[str]:
        """Names of the elements, as in the instance's file."""
        incumbent = None if cls.present is None else instance.arrays.get(cls.present)
        count = 0 if incumbent is None else len(cls.elements(instance, incumbent))
        return [str(number) for number in range(1, count + 1)]

    @classmethod
    def value_text(cls, instance: Instance, element: int, value: Any) -> str:
        """A value of an element, as people read it."""
        return str(value)

    @classmethod
    def excess(cls, instance: Instance, elements: Array, values: Array) -> Array:
        """Distance of values (k,) or (k, w) of elements (k,) from what is allowed: (k,).

        It is 0 where they are. Only of what the arrays and parameters in `limiting` say; what the
        rules never allow is no valid action anyway.
        """
        return np.zeros(len(elements))

    @classmethod
    def faults(cls, instance: Instance, solution: Array) -> list[str]:
        """What a whole solution breaks of the problem's own rules, by name, from scratch.

        For rules that an incumbent may break, such as a machine that has to be emptied.
        """
        return []

    def set_by(self, actions: Array) -> tuple[Array, Array]:
        """The element (k,) that each raw action sets, and the value (k,) or (k, w) that it gets.

        Where it is defined, core keeps valid actions within all limits.
        """
        raise UsageError(
            f"{type(self).__name__} does not define set_by(actions), which fixed elements, allowed "
            "values and budgets of changes need"
        )

    def decided(self) -> Array:
        """Which elements (m,) the present state has decided; others do not count as changes yet.

        By default all of them (1,), as where a solution is improved step by step.
        """
        return np.ones(1, dtype=bool)

    def keep_limits(self, limits: Limits, actions: Array) -> Array:
        """Which valid raw actions (k,) or (k, m) keep to the limits: bool (k,).

        By default those whose element may get the value that `set_by` names. A problem that builds
        solutions up may have to look further: from what an action leads to there must be a way to
        a solution within the limits.
        """
        return limits.permits(cast("Problem", self), *self.set_by(actions))

    @classmethod
    def restored(cls, instance: Instance, solution: Array, element: int) -> Array | None:
        """A solution with one element as in the incumbent; None where that is no solution."""
        incumbent = None if cls.present is None else instance.arrays.get(cls.present)
        if incumbent is None or incumbent.shape != solution.shape:
            return None
        found = solution.copy()
        found[element] = incumbent[element]
        return found

    @classmethod
    def ordered(cls, instance: Instance, solution: Array) -> Plan | None:
        """The changes of a solution in an order in which they can be made one by one.

        None where any order will do.
        """
        return None

    @classmethod
    def aims(cls, instance: Instance, solution: Array) -> Mapping[str, float]:
        """Values of the aims that the objective weighs, by name; empty where it is a single one."""
        return {}

    @classmethod
    def with_aims(cls, instance: Instance, weights: Mapping[str, float]) -> Instance:
        """The instance with other weights of its aims, by name."""
        raise UsageError(f"{cls.__name__} has a single aim; leave the weights of aims out")

    @classmethod
    def fullest(cls, instance: Instance, solution: Array, most: int = 5) -> list[tuple[str, float]]:
        """The fullest links, hosts, … under a solution, by name; empty where nothing fills up."""
        return []

    @classmethod
    def moves(cls) -> Moves | None:
        """What live agents choose changes from; None where the problem does not list its moves."""
        return None

    # -- several variants of an instance: see `lagco.core.scenarios`

    @classmethod
    def scenario_failures(
        cls, instance: Instance, given: str | Path
    ) -> Mapping[str, Mapping[str, Array]]:
        """What may fail, by name: the arrays of the instance that are others then.

        Args:
            instance: as it is.
            given: a name that the problem knows, or a file.
        """
        raise UsageError(f"failures={str(given)!r}: {cls.__name__} knows of nothing that fails")

    @classmethod
    def in_scenario(cls, case: Instance, solution: Array) -> Array:
        """A solution as it is in a variant; for problems that have to mend it there."""
        return solution

    @classmethod
    def shown_scenario(cls, case: Instance) -> Instance:
        """The variant that views show, where the worst one under the incumbent is `case`."""
        return case

    @classmethod
    def scenario_values(cls, instance: Instance, solution: Array) -> Array:
        """Objective of a solution in every variant, from scratch: (S,)."""
        cases = variants(instance)
        return np.array([cls.evaluate_solution(c, cls.in_scenario(c, solution)) for c in cases])

    def state_values(self) -> Array:
        """The same of the present state: (S,); for problems that keep it up to date."""
        return self.scenario_values(self.instance, self.solution())

    def scenario_preview(self, actions: Array) -> Array:
        """The joint objective after each of some valid actions: (k,)."""
        kept, values = self.snapshot(), []
        for action in actions:
            self._apply(action)
            values.append(self.objective())
            self.restore(kept)
        return np.array(values)

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

    def plan(self, number: int) -> tuple[Array, float] | None:
        """A solution to aim at from the present state, and its objective, for the hint ``plan``.

        A short search that can be repeated: every episode draws another `number`. It is followed by
        :meth:`demonstrate`. None: search by the rules alone plans actions instead.
        """
        return None

    def advise(self) -> Array:
        """Raw actions that a search of the problem's own would take now: (k,) or (k, m).

        It may be slow, and it may ask more than an agent can see.
        """
        raise UsageError(
            f"{type(self).__name__} does not define advise(), a search of its own; the teacher "
            "'search' then searches by the rules alone"
        )

    def draw_on(self, axes: Any) -> None:
        """Draw the state on matplotlib axes."""
        raise UsageError(f"{type(self).__name__} has no viewer; define draw_on(axes)")


def kebab(name: str) -> str:
    """``FacilityLocation`` as files write it: ``facility-location``."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return parts.strip("_").replace("_", "-").lower()
