"""Live agents: a few changes, proposed by a network and previewed exactly, in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.core.changes.moves import Moves
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError, suggest
from lagco.live.agents.scorer import Scorer, take_scorer
from lagco.live.agents.search import GuidedSearch
from lagco.live.contract import Situation
from lagco.problems import problem_class
from lagco.results.described import SelfDescribing
from lagco.store import COUNT, MAX_WEIGHT, TEXT, Kind, array_of, object_of

DESCRIPTION = "live-agent.json"
AGENT = Kind(
    format="lagco-live-agent",
    version=1,
    noun="a live agent",
    remedy="train it again with this lagco, or take another copy",
    description=DESCRIPTION,
    tensors="live-agent.safetensors",
    largest=MAX_WEIGHT,
    schema=object_of(
        problem=TEXT,
        columns=array_of(TEXT),
        proposals=COUNT,
        training={"type": "object"},
    ),
)
FOLDER = Path(__file__).parent / "bundles"


class LiveAgent(SelfDescribing):
    """Proposes moves in one pass, previews the best few, and so on within its budget and time.

    Args:
        problem: class of the problem.
        scorer: its network.
        proposals: moves that are previewed from every state.
        training: how it was trained, for readers.
    """

    def __init__(
        self,
        problem: type[Problem],
        scorer: Scorer,
        proposals: int,
        training: Mapping[str, Any],
    ) -> None:
        self.problem = problem
        self.scorer = scorer
        self.proposals = proposals
        self.training = dict(training)
        self._search: GuidedSearch | None = None

    def facts(self) -> dict[str, object]:
        """Problem, and how it was trained."""
        return {"problem": self.problem.name, "proposals": self.proposals, **self.training}

    def decide(self, situation: Situation, first: Array | None = None) -> Array | None:
        """The best changes that are found in time; None where none are better than to hold.

        Args:
            situation: that is decided.
            first: a configuration within the budget that somebody else has found.
        """
        if self._search is None:
            self._search = GuidedSearch(moves_of(self.problem), self.scorer, self.proposals)
        moves = self._search.moves
        moves.begin(situation.instance)
        before = moves.solution
        best = self._search.run(before, situation.max_changes, situation.limit, first=first)
        return best.solution if best.changes else None

    def save(self, folder: str | Path) -> None:
        """Write it to a folder, from which :func:`load_live_agent` reads it."""
        content = {
            "problem": self.problem.name,
            "columns": list(moves_of(self.problem).columns.names),
            "proposals": self.proposals,
            "training": self.training,
        }
        AGENT.write(folder, content, self.scorer.arrays)


def moves_of(problem: type[Problem]) -> Moves:
    """The moves of a problem.

    Raises:
        UsageError: it does not list any.
    """
    moves = problem.moves()
    if moves is None:
        raise UsageError(
            f"{problem.__name__} does not list its moves, which live agents choose from: define "
            "moves(), or give an agent that takes steps"
        )
    return moves


def load_live_agent(folder: str | Path, problem: type[Problem] | None = None) -> LiveAgent:
    """Read a live agent; nothing in the files is executed.

    Args:
        folder: what :meth:`LiveAgent.save` wrote.
        problem: class of the problem, where that is not one of lagco's.

    Raises:
        LagcoError: the message names the file and what is wrong with it.
    """
    file = AGENT.read(folder)
    content = file.content
    cls = problem_class(content["problem"]) if problem is None else problem
    if cls.name != content["problem"]:
        raise LagcoError(f"{file.path}: for {content['problem']!r}, not for {cls.name!r}")
    columns = moves_of(cls).columns
    if list(columns.names) != content["columns"]:
        raise LagcoError(
            f"{file.path}: trained on other columns of moves than {cls.name} has; {AGENT.remedy}"
        )
    scorer = take_scorer(file.tensors, len(columns))
    file.tensors.refuse_others()
    return LiveAgent(cls, scorer, content["proposals"], content["training"])


def is_live_agent(folder: str | Path) -> bool:
    """Whether a folder holds a live agent."""
    return (Path(folder) / DESCRIPTION).exists()


def live_problems() -> Sequence[str]:
    """Problems with a live agent that comes with lagco."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{DESCRIPTION}"))


def default_live_agent(problem: type[Problem] | str) -> LiveAgent:
    """The live agent that comes with lagco for a problem."""
    name = problem if isinstance(problem, str) else problem.name
    known = live_problems()
    if name not in known:
        raise UsageError(suggest("problem with a live agent", name, known))
    return load_live_agent(FOLDER / name)
