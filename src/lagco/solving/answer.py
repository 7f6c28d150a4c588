"""The answer to an instance: the best solution found, how good it is, and how it came about."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from lagco.arrays import Array
from lagco.core.changes import Change, Plan, incumbent_of
from lagco.core.pictures.files import DPI, SIDE, save_picture
from lagco.core.problem import Problem
from lagco.instances import Instance, SolverReference
from lagco.instances.formats import write_solution
from lagco.instances.formats.solutions import SolutionForm, named_solution
from lagco.instances.formats.table import written
from lagco.problems import registered_class
from lagco.results.described import SelfDescribing
from lagco.results.numbers import significant
from lagco.rollout import Trace
from lagco.solving.portfolio import Improvement
from lagco.store import write_atomically

#: numbers of changes up to which a trade-off has an answer for each
MOST_CHANGES = 10
#: width of a character and height of a label in the picture of a trade-off, in parts of the axes
_LABEL, _LINE = 0.025, 0.06


@dataclass(frozen=True)
class Fix:
    """A patch, or several together.

    Attributes:
        patches: vulnerabilities that are closed.
        hosts: that have one of them.
        owned: hosts that an attacker then owns with luck.
        by_agent: mean of the hosts that an agent then owns; None where none played.
    """

    patches: tuple[str, ...]
    hosts: int
    owned: float
    by_agent: float | None = None


@dataclass(frozen=True)
class Trade:
    """The best solution found with at most so many changes.

    Attributes:
        changes: how many there are.
        objective: of the solution.
        solution: in the problem's own form.
    """

    changes: int
    objective: float
    solution: Array


class ScenarioValue(NamedTuple):
    """Objective in one scenario.

    Attributes:
        name: of the scenario.
        before: of the incumbent; None without one.
        after: of the answer.
    """

    name: str
    before: float | None
    after: float


@dataclass(frozen=True, repr=False)
class Answer(SelfDescribing):
    """The best solution found, and how good it is.

    Attributes:
        problem: name of the problem.
        instance: the instance that was solved.
        by: who found it.
        objective: of the solution.
        solution: in the problem's own form.
        score: against the sweeps' best, None without that reference.
        gap: to the reference, in percent of it; negative if the answer is better; None without one.
        reference: what the gap is measured against.
        valid: whether computing the objective from scratch gives the same value, and no limit on
            changes is broken.
        seconds: from the call (of the command: from its start) to the answer, less `compiling`.
        compiling: seconds in which code was compiled, which a first call does.
        episodes: how many were finished.
        bound: what no solution can beat; None where it is not known.
        bound_gap: how far the answer is from optimal at most, in percent of the bound.
        curve: every improvement of the best value.
        shares: seconds (or turns) that each member used.
        interrupted: whether it was stopped before its time.
        notes: why a member of the portfolio gave up.
        trace: how to reach the solution's state again, where steps led to it.
        cls: class of the problem.
        before: objective of the incumbent; None without one.
        changes: what differs from the incumbent, by name.
        faults: what the solution breaks, where an incumbent did and nothing better was found.
        scenarios: objectives by scenario, the worst ones first, where there are several.
        trade_off: the best found for 0, 1, 2, … changes, where it was asked for.
        fixes: patches by what attackers own after them, where it was asked which to apply.
    """

    problem: str
    instance: Instance
    by: str
    objective: float
    solution: Array
    score: float | None
    gap: float | None
    reference: SolverReference | None
    valid: bool
    seconds: float
    episodes: int
    bound: float | None = None
    bound_gap: float | None = None
    curve: tuple[Improvement, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    trace: Trace | None = None
    cls: type[Problem] | None = field(default=None, repr=False, compare=False)
    before: float | None = None
    changes: tuple[Change, ...] = ()
    faults: tuple[str, ...] = ()
    scenarios: tuple[ScenarioValue, ...] = ()
    trade_off: tuple[Trade, ...] = ()
    fixes: tuple[Fix, ...] = ()
    compiling: float = 0.0

    def facts(self) -> dict[str, object]:
        """Instance, objective, how good it is, who found it and how long it took."""
        found: dict[str, object] = {
            "problem": self.problem,
            "instance": self.instance.name,
            "objective": significant(self.objective, 6),
            "by": self.by,
        }
        if self.gap is not None:
            found["gap"] = f"{self.gap:.2f} %"
        if self.bound_gap is not None:
            found["from optimal at most"] = f"{self.bound_gap:.2f} %"
        if self.before is not None:
            found["before"] = significant(self.before, 6)
            found["changes"] = len(self.changes)
        return found | {"seconds": f"{self.seconds:.2f}"}

    @property
    def elements(self) -> int:
        """Number of elements of a solution; 0 without an incumbent."""
        incumbent = None if self.cls is None else incumbent_of(self.cls, self.instance)
        if self.cls is None or incumbent is None:
            return 0
        return len(self.cls.elements(self.instance, incumbent))

    def fullest(self) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The fullest links, hosts, … of the incumbent and of the answer, by name."""
        if self.cls is None:
            return [], []
        incumbent = incumbent_of(self.cls, self.instance)
        before = [] if incumbent is None else self.cls.fullest(self.instance, incumbent)
        return before, self.cls.fullest(self.instance, self.solution)

    def aims(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Values of the single aims in the incumbent and in the answer; empty for a single one."""
        if self.cls is None:
            return {}, {}
        incumbent = incumbent_of(self.cls, self.instance)
        before = {} if incumbent is None else self.cls.aims(self.instance, incumbent)
        return before, self.cls.aims(self.instance, self.solution)

    @cached_property
    def plan(self) -> Plan:
        """The changes in an order in which they can be made, with those that no order allows."""
        found = None if self.cls is None else self.cls.ordered(self.instance, self.solution)
        return Plan(self.changes) if found is None else found

    @property
    def migrations(self) -> tuple[Change, ...]:
        """The steps of the plan; of a placement each moves a machine to a host that has room."""
        return self.plan.steps

    def write_plan(self, path: str | Path) -> None:
        """Write the steps of the plan to a CSV file, in order."""
        rows = [(n, c.name, c.before, c.after) for n, c in enumerate(self.plan.steps, start=1)]
        text = written([("step", "element", "from", "to"), *rows])
        write_atomically(Path(path), text.encode())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        reference = self.reference
        return {
            "problem": self.problem,
            "instance": self.instance.name,
            "size": self.instance.size,
            "by": self.by,
            "objective": self.objective,
            "score": self.score,
            "gap": self.gap,
            "reference": reference
            and {
                "value": reference.value,
                "status": reference.status,
                "solver": reference.solver,
            },
            "valid": self.valid,
            "seconds": round(self.seconds, 3),
            "compiling": round(self.compiling, 3),
            "episodes": self.episodes,
            "bound": self.bound,
            "bound_gap": self.bound_gap,
            "found_after": round(self.curve[-1].seconds, 3) if self.curve else None,
            "curve": [asdict(step) for step in self.curve],
            "shares": {name: round(used, 3) for name, used in self.shares.items()},
            "interrupted": self.interrupted,
            "before": self.before,
            "changes": [change._asdict() for change in self.changes],
            "faults": list(self.faults),
            "scenarios": [scenario._asdict() for scenario in self.scenarios],
            "aims": dict(zip(("before", "after"), map(dict, self.aims()), strict=True)),
            "fixes": [asdict(fix) for fix in self.fixes],
            "trade_off": [
                {"changes": trade.changes, "objective": trade.objective} for trade in self.trade_off
            ],
            "notes": [*self.instance.origin.get("notes", ()), *self.notes],
            "solution": named_solution(self.instance, self.solution, self._form),
        }

    def write_solution(self, path: str | Path) -> None:
        """Write the solution in the problem's own file form, as JSON where it has none."""
        write_solution(
            self.instance, self.solution, path, form=self._form, objective=self.objective
        )

    def draw(self, path: str | Path, *, side: float = SIDE, dpi: float = DPI) -> None:
        """Write a picture of the solution, beside it the best value over time, or the trade-off.

        The suffix sets the format (png, svg, pdf, …), `side` the inches of the solution's part.
        """
        cls = self.cls or registered_class(self.problem, "the answer")
        env = cls(self.instance, rewards=False)
        if self.trace is None:
            env.show(self.solution)
        else:
            self.trace.replay(env)
        beside = self._draw_curve if len(self.curve) > 1 else None
        if self.trade_off:
            beside = self._draw_trade_off
        save_picture(env.draw_on, path, beside, side, dpi)

    def write_curve(self, path: str | Path) -> None:
        """Write every improvement of the best value to a CSV file."""
        rows = [("seconds", "objective", "by", "gap")]
        for step in self.curve:
            gap = "" if step.gap is None else f"{step.gap:.6g}"
            rows.append((f"{step.seconds:.3f}", repr(step.objective), step.by, gap))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        write_atomically(Path(path), text.getvalue().encode())

    @property
    def _form(self) -> SolutionForm | None:
        return None if self.cls is None else self.cls.solution_form

    def _draw_trade_off(self, axes: Any) -> None:
        counts = [trade.changes for trade in self.trade_off]
        values = [trade.objective for trade in self.trade_off]
        within = len([count for count in counts if count <= MOST_CHANGES])
        axes.step(counts[:within], values[:within], where="post", color="0.7")
        axes.plot(counts[within - 1 :], values[within - 1 :], ":", color="0.7")  # not searched
        axes.plot(counts, values, "o")
        axes.margins(x=0.15, y=0.08)
        right, level = -math.inf, math.nan  # end of the last label in parts of the axis; its value
        span = max(values) - min(values)
        for count, value in zip(counts, values, strict=True):
            shown = f"{value:.0f}" if float(value).is_integer() else significant(value, 3)
            begin = (count - counts[0]) / max(1, counts[-1] - counts[0])
            if begin < right and abs(value - level) < _LINE * span:
                continue
            axes.annotate(shown, (count, value), (3, 4), textcoords="offset points", fontsize=7)
            right, level = begin + _LABEL * len(shown), value
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("changes")
        axes.set_title("best value against changes", fontsize=8)

    def _draw_curve(self, axes: Any) -> None:
        seconds = [step.seconds for step in self.curve]
        axes.step(
            [*seconds, max(self.seconds, seconds[-1])],
            [*(step.objective for step in self.curve), self.objective],
            where="post",
        )
        axes.set_xlabel("seconds")
        axes.set_title("best value", fontsize=8)
