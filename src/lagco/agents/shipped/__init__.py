"""The agents that come with lagco: one small `soft-projection` bundle per problem.

``python -m lagco.agents.shipped.make`` trains them anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lagco.agents.agent import Agent
from lagco.agents.bundle import DESCRIPTION, load
from lagco.errors import UnknownName, suggest

FOLDER = Path(__file__).parent / "bundles"


def shipped_problems() -> list[str]:
    """Problems that have a default agent."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{DESCRIPTION}"))


@cache
def default_agent(problem: str) -> Agent:
    """The agent that comes with lagco for a problem."""
    known = shipped_problems()
    if problem not in known:
        raise UnknownName(
            suggest("problem with a default agent", problem, known)
            + "; train one with `lagco train` and give its folder as the agent"
        )
    return load(FOLDER / problem)
