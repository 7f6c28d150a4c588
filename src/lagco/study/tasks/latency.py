"""Decision times: whole decisions of a method at one size, and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.errors import require_extra
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentView
from lagco.problems import problem_class
from lagco.search.errors import TooManyActions
from lagco.search.flat import FlatSpace
from lagco.study.records.ledger import rounded, significant
from lagco.study.running.code import code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.settings import FAISS
from lagco.study.task import Task

#: method whose points ``faiss-flat`` looks up
_INDEXED = "projection"
#: actions that are put into a flat index at most; more would take gigabytes
_MOST_LISTED = 500_000
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def latency_task(
    problem: str,
    method: str,
    size: int,
    features: str,
    *,
    decisions: int,
    seconds: float,
    seed: int,
) -> Task:
    """Task of timing decisions of a method, or of ``faiss-flat``, on an instance of a size."""
    spec = {
        "problem": problem,
        "method": method,
        "size": size,
        "features": features,
        "decisions": decisions,
        "seconds": seconds,
        "seed": seed,
        "code": code_version(
            problem, ("lagco.bench.decisions",), _INDEXED if method == FAISS else method
        ),
    }
    return Task("latency", f"{problem}-{method}-{size}-{features}", spec)


def do(context: Context) -> Outcome:
    """Time the decisions, or say why there are none."""
    from lagco.bench.decisions import time_decisions

    spec = context.spec
    problem, method = problem_class(spec["problem"]), str(spec["method"])
    instance = problem.generate(spec["size"], index=77)
    count = problem.extents(instance).get("actions")
    refused = _too_many(method, count)
    if refused is None:
        try:
            found = time_decisions(
                problem,
                instance,
                _INDEXED if method == FAISS else method,
                features=spec["features"],
                decisions=spec["decisions"],
                seconds=spec["seconds"],
                seed=spec["seed"],
                decoder=FlatDecoder() if method == FAISS else None,
            )
        except (TooManyActions, MemoryError) as error:
            refused = str(error)
    if refused is not None:
        nothing = {"nodes": None, "actions": None}
        return nothing | {"raw_actions": count, "refused": refused}, {}
    result = {
        "nodes": found.nodes,
        "actions": significant(found.actions),
        "raw_actions": count,
        "refused": None,
    }
    measured = {
        "decisions": len(found.whole),
        "decision_us": _spread(found.whole),
        "parts_us": {part: _spread(times) for part, times in found.parts.items()},
        "policy_us": significant(found.policy_us, 4),
    }
    return result, measured


def _too_many(method: str, actions: int | None) -> str | None:
    """Reason why a method cannot decide among this many raw actions."""
    from lagco.agents.inference.action_tables import MOST_ACTIONS

    if method == FAISS:
        require_extra("faiss", "bench", "the comparison with FAISS")
    most = {"iterative": MOST_ACTIONS, FAISS: _MOST_LISTED}.get(method)
    if most is None or actions is None or actions <= most:
        return None
    return f"{actions} raw actions; {method} lists them, and is timed up to {most}"


def _spread(times: npt.NDArray[np.float64]) -> dict[str, Any]:
    return {
        "median": significant(float(np.median(times)), 4),
        "mean": significant(float(times.mean()), 4),
        "quantiles": rounded(np.quantile(times, QUANTILES).tolist(), 4),
    }


class FlatDecoder(Decoder):
    """The nearest valid action by a flat FAISS index, built over all of them at every decision."""

    def choose(
        self,
        view: LatentView,
        proto: npt.NDArray[Any],
        rng: np.random.Generator,
        observation: npt.NDArray[Any] | None = None,
    ) -> npt.NDArray[Any]:
        """See :class:`~lagco.latent.decoder.Decoder`."""
        actions = view.actions()
        rows = actions.list()
        rows = rows[np.asarray(view.env.are_valid_actions(view.raw(rows)), dtype=bool)]
        index = FlatSpace(actions.vectors(rows), "faiss")
        return rows[index.nearest(proto, 1, self.metric).indices[:, 0]]
