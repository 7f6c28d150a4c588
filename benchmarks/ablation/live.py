"""The live agents, beside the same with shuffled weights, one column, and a linear scorer."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ablation.records import ABLATION, Record, once
from benchmarks.train_live_agents import RECIPES, SEED, networks
from lagco.arrays import Array
from lagco.instances.timelines import Timeline
from lagco.live import live
from lagco.live.agents import LiveAgent, days, default_live_agent, load_live_agent, train_live_agent
from lagco.live.agents.agent import moves_of
from lagco.live.agents.scorer import Scorer
from lagco.problems import problem_class

#: fresh networks, days and decisions; states from which a decision may propose moves
TEST_SEED, COUNT, ROUNDS, TURNS, CHANGES = 20281, 24, 6, 12, 3
SHUFFLES = (1, 2)
#: the column that serves as a rule: how far the norm falls, to first order
COLUMN = {"ospf": "norm_gain", "traffic": "norm_gain"}
_FIXED = ("mean", "factor")
#: more proposals than there are moves
_ALL = 1_000_000


class Column:
    """Scores moves by one of their columns."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __call__(self, columns: Array) -> Array:
        """Scores (k,) of columns (k, f)."""
        found: Array = columns[:, self._place]
        return found


def shuffled(agent: LiveAgent, seed: int) -> LiveAgent:
    """The agent with the entries of each learned tensor in random order."""
    rng, arrays = np.random.default_rng(seed), {}
    for name, array in sorted(agent.scorer.arrays.items()):
        mixed = rng.permutation(array.reshape(-1)).reshape(array.shape)
        arrays[name] = array if name in _FIXED else mixed
    return LiveAgent(agent.problem, Scorer(arrays), agent.proposals, agent.training)


def linear(problem: str, work: Path, proposals: int) -> LiveAgent:
    """An agent whose scores are weighted sums of the columns, trained as the default one is."""
    folder, recipe, cls = work / "live" / problem, RECIPES[problem], problem_class(problem)
    if not (folder / "live-agent.json").exists():
        timelines = days(cls, networks(problem, recipe, recipe.instances, SEED), SEED)
        settings = {**recipe.settings, "units": 0, "proposals": proposals}
        train_live_agent(problem, timelines, seed=SEED, **settings).save(folder)
    return load_live_agent(folder)


def measure(problem: str, work: Path, parts: tuple[str, ...] = ("plain", "linear")) -> None:
    """All rows of a problem: the mean objective over a day on every network."""
    agent, cls = default_live_agent(problem), problem_class(problem)
    timelines = days(cls, networks(problem, RECIPES[problem], COUNT, TEST_SEED), TEST_SEED)
    place = moves_of(cls).columns.names.index(COLUMN[problem])
    made: dict[str, Any] = {}
    if "plain" in parts:
        made["agent"] = lambda: agent
        made["hold"] = lambda: "hold"
        made["greedy"] = lambda: "greedy"
        made["teacher"] = lambda: LiveAgent(cls, agent.scorer, _ALL, {})
        made["column"] = lambda: LiveAgent(cls, Column(place), agent.proposals, {})  # type: ignore[arg-type]
        for number in SHUFFLES:
            made[f"shuffled {number}"] = partial(shuffled, agent, number)
    if "linear" in parts:
        made["linear"] = lambda: linear(problem, work, agent.proposals)
    for name, make in made.items():
        once(ABLATION, f"live-{problem}/{name}", partial(_replayed, problem, make, timelines))


def _replayed(problem: str, make: Any, timelines: list[Timeline]) -> Record:
    began = time.process_time()
    given = make()
    made_in = time.process_time() - began
    began, values, milliseconds = time.process_time(), [], []
    for timeline in timelines:
        result = live(
            timeline,
            problem=problem,
            controllers=given if isinstance(given, str) else "agent",
            agent=None if isinstance(given, str) else given,
            turns=TURNS,
            max_changes=CHANGES,
            rounds=ROUNDS,
            progress=False,
        )
        (row,) = result.table()
        values.append(round(row.mean, 6))
        milliseconds.append(row.milliseconds)
    return {
        "values": values,
        "milliseconds": round(float(np.mean(milliseconds)), 2),
        "seconds": round(time.process_time() - began, 2),
        "made_in": round(made_in, 1),
    }
