"""The paper's tables as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from lagco.errors import LagcoError
from lagco.study.records.ledger import Ledger, Record

#: environment steps of a training run, and training instances of a `varied` one
PAPER_STEPS, PAPER_TRAINING = 100_000, 20
#: instances of a problem, and test episodes on each
PAPER_INSTANCES, PAPER_EPISODES = 101, 5
#: method by which the parameters of each search space were judged
PAPER_JUDGES = {
    "discrete": "p-discrete-m",
    "projection": "projection",
    "iterative": "iterative",
    "gae": "projection",
}


@cache
def paper_tables() -> dict[str, Any]:
    """The paper's tables.

    ``generalization``: problem, method and strategy to the interquartile mean; ``delta`` per
    method. ``extended``: likewise to ``mean``, ``low`` and ``high`` (mean to the 16th and 84th
    percentile), ``iqm``, ``interval`` (bootstrap, of the mean), ``normal`` and ``p``
    (Shapiro–Wilk). ``scaling``: problem and method to ``alpha`` and ``r2``. ``training_time``:
    method to the seconds of five runs. ``search_spaces``: space and parameter to ``choices`` and
    ``best``. ``environments``: problem to the ``components`` of its actions, the worst-case
    ``growth`` of their number, their ``representation``, and whether it has ``hard`` constraints.
    """
    content = files("lagco.study").joinpath("paper.json").read_text()
    return dict(json.loads(content))


def paper_score(problem: str, method: str, strategy: str) -> dict[str, Any] | None:
    """Figures of the paper for a cell of its generalisation table; None if it has none.

    ``iqm`` is the figure of the main table, where the extended one differs by rounding.
    """
    tables = paper_tables()
    main = tables["generalization"].get(problem, {}).get(method)
    if main is None or strategy not in main:
        return None
    details = tables["extended"][problem][method][strategy]
    return {**details, "iqm": main[strategy], "delta": main["delta"]}


def departures(ledger: Ledger, run: Record) -> list[str]:
    """Points in which a training run and its test are not by the paper's protocol, in words."""
    spec, found = run.spec, []
    try:
        data = ledger.find("data", spec["data"]).spec
    except LagcoError:
        return ["an unknown data set"]
    for name, ours, theirs in (
        ("steps", spec["config"]["steps"], PAPER_STEPS),
        ("instances", spec["instances"], PAPER_INSTANCES),
        ("test episodes", spec["episodes"], PAPER_EPISODES),
    ):
        if ours != theirs:
            found.append(f"{ours} {name} instead of {theirs}")
    if data["sizes"] is not None:
        found.append(f"instances of size {data['sizes']} instead of the paper's ranges")
    if data["sweeps"] is not None:
        found.append(f"{data['sweeps']} sweeps for the reference instead of the paper's number")
    return found


def paper_parameter(space: str, parameter: str) -> str:
    """Field of ours, as ``SECTION.FIELD``, that a parameter of one of the paper's spaces sets."""
    if space == "gae":
        trained = parameter in ("learning_rate", "batch_size")
        return f"{'pretraining' if trained else 'shape'}.{parameter}"
    if parameter == "n_steps":  # the length of a return, or of a rollout
        return "agent.n_step" if space == "iterative" else "agent.rollout"
    return f"agent.{parameter}"
