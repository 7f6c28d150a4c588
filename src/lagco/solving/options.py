"""Options of `solve`, declared once for the function, the command line and the members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lagco.core.rewards.references import named_start
from lagco.core.scenarios import MEAN, WORST
from lagco.errors import UsageError, suggest
from lagco.policies import POLICIES
from lagco.problem_table import ENTRIES
from lagco.problems import AnyProblem
from lagco.runtime.declared import REPEATED

BY = ("portfolio", "agent", "solver", *POLICIES)
SEARCHES = ("auto", "sample", "beam", "reconstruct")
GAPS = ("reference", "bound")
#: largest weight of an aim
_HEAVIEST = 1e6
#: time limit where neither seconds nor turns are given
SECONDS = 2.0


@dataclass(frozen=True)
class SolveOptions:
    """How to solve an instance; what cannot be honoured is refused here, before any work.

    Attributes:
        by: who solves it: portfolio, agent, solver, greedy or random.
        agent: default (the agent that comes with lagco), the folder of an agent, or an agent. A
            portfolio takes the default one only where loading it is worth the time.
        problem: name of a problem, or module:Class; needed if the file could mean several.
        decoder: how the agent's points are decoded to actions: nearest, sampled, preview, scored,
            ranked or rule:module:function; by default as the agent was trained. Of an agent that
            takes the nearest action, every other of the episodes side by side takes the best
            preview among the nearest k, where states are improved step by step.
        k: number of nearest actions the decoder chooses from.
        search: how an agent searches after its first episode: sample (episodes from the start
            again), beam (the likeliest episodes side by side), reconstruct (from the best solution
            with a part of it open) or auto (what of these helps).
        start: state to start from: current (as in the file, if it has one), default or worst.
        seconds: time limit in seconds, for everything from reading the file (of the command, from
            its start) to the answer; by default 2.
        turns: limit on turns of work instead of time; gives the same answer on every machine.
        improve: improve the solutions of episodes by local search; by default only in a portfolio.
        until: stop early once the gap (in percent) is this small.
        gap_to: value that gaps are measured against: reference or bound; by default the reference
            that the instance brings, else the bound.
        demands: file of a demand matrix (CSV, REPETITA or SNDlib), for a topology; several of them
            are scenarios.
        failures: what may fail as further scenarios: links (every one alone), or a CSV file of
            groups of links that fail together (columns group and link).
        scenarios: what counts of several scenarios, the worst or the mean.
        shares: shares of the demand matrices in the mean, with commas; equal ones by default.
        hosts: table of physical machines (CSV), where the file is a table of virtual ones.
        columns: columns of these two tables by what they hold, such as name=vm_id,pe=vcpus.
        catalogue: own vulnerabilities of an inventory of hosts (CSV or JSON with id, service,
            outcomes, access and privilege).
        reachability: firewall rules between these hosts (CSV with source, target and service):
            what they allow; nothing else is reached.
        fixes: ask which vulnerabilities of these hosts to patch first, and rank them.
        incumbent: the configuration in force, as an array or the file of a solution; by default
            what the instance file says. The answer is never worse, and the same where it is level.
        fixed: what may not change: a CSV file (columns by problem), or names of elements.
        max_changes: most elements that may differ from the incumbent.
        trade_off: answer for 0, 1, 2, … changes as well.
        aims: weights of the aims that an objective is the mean of, such as energy=2,security=0;
            those that are left out keep theirs.
        seed: random seed of starts, samples and searches.
        workers: number of processes that search, each with a seed of its own.
    """

    by: str = "portfolio"
    agent: Any = None
    problem: AnyProblem | None = None
    decoder: str | None = None
    k: int = 10
    search: str = "auto"
    start: Any = "current"
    seconds: float | None = None
    turns: int | None = None
    improve: bool | None = None
    until: float | None = None
    gap_to: str | None = None
    demands: str | Path | Sequence[str | Path] | None = field(
        default=None, metadata={REPEATED: True}
    )
    failures: str | Path | None = None
    scenarios: str = WORST
    shares: str | Sequence[float] | None = None
    hosts: str | Path | None = None
    columns: Any = None
    catalogue: str | Path | None = None
    reachability: str | Path | None = None
    fixes: bool = False
    incumbent: Any = None
    fixed: str | Path | Sequence[str] | None = None
    max_changes: int | None = None
    trade_off: bool = False
    aims: Any = None
    seed: int = 42
    workers: int = 1

    def __post_init__(self) -> None:
        for kind, value, known in (
            ("value of by", self.by, BY),
            ("value of search", self.search, SEARCHES),
            ("gap_to", self.gap_to or GAPS[0], GAPS),
            ("value of scenarios", self.scenarios, (WORST, MEAN)),
        ):
            if value not in known:
                raise UsageError(suggest(kind, value, known))
        self._check_numbers()
        self._check_agent()
        self.weights  # noqa: B018 - refuses what is no weight
        if self.matrix_shares and self.scenarios != MEAN:
            raise UsageError(f"shares={self.shares!r}: count in a mean; give scenarios='mean'")

    @property
    def matrices(self) -> tuple[str | Path, ...]:
        """Files of demand matrices."""
        given = self.demands
        if given is None:
            return ()
        return (given,) if isinstance(given, str | Path) else tuple(given)

    @property
    def matrix_shares(self) -> tuple[float, ...]:
        """Shares of the matrices; none where they are equal."""
        given = self.shares.split(",") if isinstance(self.shares, str) else self.shares or ()
        try:
            found = tuple(float(share) for share in given)
        except ValueError:
            found = (-1.0,)
        if any(not 0.0 <= share < math.inf for share in found):
            raise UsageError(f"shares={self.shares!r}: give numbers that are not negative")
        return found

    @property
    def weights(self) -> dict[str, float]:
        """Weights of aims by name."""
        given = self.aims or {}
        if isinstance(given, str):
            parts = [part.partition("=") for part in given.split(",")]
            given = {name: weight for name, _, weight in parts}
        found = {}
        for name, weight in given.items():
            try:
                found[str(name).strip()] = float(weight)
            except (TypeError, ValueError):
                found[str(name).strip()] = math.nan
            if not 0.0 <= found[str(name).strip()] <= _HEAVIEST:
                raise UsageError(
                    f"aims={self.aims!r}: give each as name=weight, with a weight from 0 to "
                    f"{_HEAVIEST:g}"
                )
        return found

    @property
    def time_limit(self) -> float:
        """Seconds in all, where no turns are counted."""
        return SECONDS if self.seconds is None else self.seconds

    @property
    def names_agent(self) -> bool:
        """Whether an agent was asked for, by itself or by how it should search or decode."""
        return (
            self.agent is not None
            or self.decoder is not None
            or self.k != type(self).k
            or self.search != type(self).search
            or not (isinstance(self.start, str) and self.start == type(self).start)
        )

    def _check_numbers(self) -> None:
        if self.seconds is not None and self.turns is not None:
            raise UsageError(f"give seconds={self.seconds} or turns={self.turns}, not both")
        if not 0 < self.time_limit < math.inf:
            raise UsageError(f"seconds={self.seconds}: give a positive time")
        if self.turns is not None and self.turns < 1:
            raise UsageError(f"turns={self.turns}: give a positive number")
        if self.until is not None and not self.until >= 0:
            raise UsageError(f"until={self.until}: give a gap of 0 percent or more")
        if self.k < 1:
            raise UsageError(f"k={self.k}: a decoder chooses from at least one action")
        if self.max_changes is not None and self.max_changes < 0:
            raise UsageError(f"max_changes={self.max_changes}: give 0 or more")
        if self.trade_off and self.max_changes is not None:
            raise UsageError(
                f"max_changes={self.max_changes}: trade_off answers for every number of changes; "
                "give one of them"
            )
        if self.seed < 0:
            raise UsageError(f"seed={self.seed}: seeds are not negative")
        if self.workers < 1:
            raise UsageError(f"workers={self.workers}: at least one process has to do the work")

    def _check_agent(self) -> None:
        if isinstance(self.start, str):
            named_start(self.start)
        if self.decoder is not None:
            if self.by in POLICIES:
                raise UsageError(
                    f"decoder={self.decoder!r}: the policy {self.by} does not decode points"
                )
            _check_decoder(self.decoder)
        if self.by in POLICIES and self.agent is not None:
            raise UsageError(f"give agent={self.agent!r} or by={self.by!r}, not both")
        if self.by == "solver":
            for name in ("agent", "decoder", "k", "search", "start", "improve"):
                value, default = getattr(self, name), getattr(type(self), name)
                if value is not default and value != default:
                    raise UsageError(
                        f"{name}={value!r}: the solver takes no such option; use by='agent' or "
                        "by='portfolio'"
                    )
        named = isinstance(self.agent, str | Path) and str(self.agent) not in ("default", *ENTRIES)
        if named and not Path(self.agent).exists():
            raise UsageError(f"agent={self.agent}: no such folder; lagco train makes agents")


def _check_decoder(spelling: str) -> None:
    from lagco.search.strategies import check_spelling

    try:
        check_spelling(spelling)
    except ValueError as error:
        raise UsageError(f"decoder={spelling!r}: {error}") from None
