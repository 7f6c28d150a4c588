"""Choice of the best teacher for a problem, by comparing their episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lagco.agents.teaching.demonstrations import show_episode
from lagco.agents.teaching.teachers import make_teacher
from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.results.measures import improvement

#: training instances on which teachers are compared
_INSTANCES = 5
_SEED = 17


class Choice(NamedTuple):
    """A teacher by the name or folder that :func:`make_teacher` takes, and why it was chosen."""

    teacher: str
    why: str


def chosen_teacher(
    problem: type[Problem], instances: Sequence[Instance], features: str, agent: str | None = None
) -> Choice:
    """The teacher whose episodes end best; ties go to solver, search, agent, greedy in that order.

    A problem that sets `teacher` or defines `advise` keeps its own.

    Args:
        problem: class of the problem.
        instances: training instances, a few of which are used.
        features: feature set.
        agent: folder of an agent to consider as a teacher.
    """
    if problem.teacher != Problem.teacher or problem.defines("advise"):
        return Choice(problem.teacher, "the problem's own choice")
    names = ["solver"] if problem.defines("solve") and problem.defines("demonstrate") else []
    names += [] if problem.stochastic else ["search"]
    names += [] if agent is None else [agent]
    names += ["greedy"] if issubclass(problem, Previews) else []
    if not names:
        raise UsageError(
            f"{problem.name} is stochastic and has no preview(actions), so nobody can teach it; "
            "choose a method that learns by itself, such as soft-projection"
        )
    if len(names) == 1:
        return Choice(names[0], "the only one that there is")
    shown = list(instances)[:_INSTANCES]
    values = {name: _value(name, problem, shown, features) for name in names}
    best = max(values, key=lambda name: values[name])
    sign = 1.0 if problem.maximise else -1.0
    others = " and ".join(
        f"{'the agent' if name == agent else name} {sign * values[name]:.4g}"
        for name in names
        if name != best
    )
    return Choice(best, f"its mean objective is {sign * values[best]:.4g}, of {others}")


def _value(name: str, problem: type[Problem], shown: list[Instance], features: str) -> float:
    """Mean objective of a teacher's episodes, larger ones better."""
    teacher, rng, found = make_teacher(name, problem), np.random.default_rng(_SEED), []
    for instance in shown:
        env = problem(instance, features=features)
        show_episode(env, teacher, rng)
        env.conclude()
        reached = env.best_objective
        if reached is None and env.is_feasible():
            reached = env.objective()
        if reached is None:
            return -np.inf
        found.append(improvement(reached, 0.0, maximise=problem.maximise))
    return float(np.mean(found))
