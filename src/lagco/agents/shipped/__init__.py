"""The agents that come with lagco: one small `taught-projection` bundle per problem.

``python benchmarks/train_default_agents.py`` trains them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lagco.agents.agent import Agent
from lagco.agents.bundle import DESCRIPTION, load, read_description
from lagco.errors import UnknownName, suggest
from lagco.instances import Instance
from lagco.problem_table import ENTRIES

FOLDER = Path(__file__).parent / "bundles"
_LOADED: dict[str, Agent] = {}


def shipped_problems() -> list[str]:
    """Problems that have a default agent."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{DESCRIPTION}"))


def list_agents() -> list[dict[str, Any]]:
    """Name, training data and results of every agent.

    ``figures`` are those of ``benchmarks/default_agents.py`` on the paper's sizes; None of an agent
    that is not the one that was measured.
    """
    measured = json.loads((Path(__file__).parent / "figures.json").read_text())
    found = []
    for problem in shipped_problems():
        description = read_description(FOLDER / problem)
        training, figures = description["training"], measured.get(problem)
        found.append(
            {
                "problem": problem,
                "method": description["method"],
                "steps": training["steps"],
                "instances": len(training["instances"]),
                "sizes": [min(training["sizes"]), max(training["sizes"])],
                "unit": ENTRIES[problem].unit,
                "figures": figures
                if figures and figures["sha256"] == description["sha256"]
                else None,
            }
        )
    return found


def default_agent(problem: str, instance: Instance | None = None) -> Agent:
    """The agent that comes with lagco for a problem.

    Args:
        problem: its name.
        instance: any one of it, where there is one at hand: one need not be drawn then.
    """
    if problem in _LOADED:
        return _LOADED[problem]
    known = shipped_problems()
    if problem not in known:
        raise UnknownName(
            suggest("problem with a default agent", problem, known)
            + "; train one with `lagco train` and give its folder as the agent"
        )
    _LOADED[problem] = load(FOLDER / problem, instance=instance)
    return _LOADED[problem]
