"""The answer to an instance: the best solution found, how good it is, and how it came about."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.core.picture import DPI, SIDE, save_picture
from lagco.core.problem import Problem
from lagco.instances import Instance, SolverReference
from lagco.instances.formats.solutions import named_solution
from lagco.problems import registered_class
from lagco.results.described import SelfDescribing
from lagco.results.numbers import significant
from lagco.rollout import Trace
from lagco.solving.portfolio import Improvement
from lagco.store import write_atomically


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
        valid: whether computing the objective from scratch gives the same value.
        seconds: from the call (of the command: from its start) to the answer.
        episodes: how many were finished.
        bound: what no solution can beat; None where it is not known.
        bound_gap: how far the answer is from optimal at most, in percent of the bound.
        curve: every improvement of the best value.
        shares: seconds (or turns) that each member used.
        interrupted: whether it was stopped before its time.
        notes: why a member of the portfolio gave up.
        trace: how to reach the solution's state again, where steps led to it.
        cls: class of the problem.
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
        return found | {"seconds": f"{self.seconds:.2f}"}

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
            "episodes": self.episodes,
            "bound": self.bound,
            "bound_gap": self.bound_gap,
            "found_after": round(self.curve[-1].seconds, 3) if self.curve else None,
            "curve": [asdict(step) for step in self.curve],
            "shares": {name: round(used, 3) for name, used in self.shares.items()},
            "interrupted": self.interrupted,
            "notes": [*self.instance.origin.get("notes", ()), *self.notes],
            "solution": named_solution(self.instance, self.solution),
        }

    def draw(self, path: str | Path, *, side: float = SIDE, dpi: float = DPI) -> None:
        """Write a picture of the solution, beside it the best value over time.

        The suffix sets the format (png, svg, pdf, …), `side` the inches of the solution's part.
        """
        cls = self.cls or registered_class(self.problem, "the answer")
        env = cls(self.instance, rewards=False)
        if self.trace is None:
            env.show(self.solution)
        else:
            self.trace.replay(env)
        beside = self._draw_curve if len(self.curve) > 1 else None
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

    def _draw_curve(self, axes: Any) -> None:
        seconds = [step.seconds for step in self.curve]
        axes.step(
            [*seconds, max(self.seconds, seconds[-1])],
            [*(step.objective for step in self.curve), self.objective],
            where="post",
        )
        axes.set_xlabel("seconds")
        axes.set_title("best value", fontsize=8)
