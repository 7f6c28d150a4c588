"""Learning that needs no solver: reinforcement and own episodes on `ospf` and `placement`.

    python -m benchmarks.learning_alone --work runs/alone [--problems ospf] [--rows "own episodes"]
        [--seed 42] [--validate] [--publish]

No agent sees a plan (``features="unplanned"``) or a solver's solution; only `greedy` and the gaps
are measured with one. Training on 20 instances of the paper's sizes, choices on 12 others
(`--validate`), the test on 20 fresh ones. Results go to benchmarks/results/learning_alone.json and
with `--publish` into docs/results/learning-alone.md; nothing is computed twice, so the command can
be stopped and given again.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from benchmarks.default_agents import instance_of
from lagco.arrays import Array
from lagco.instances import Instance, References, read
from lagco.instances.native import write_instance
from lagco.problems.placement.foresight.lookahead import EACH as PLACED
from lagco.results.resampling import Estimated, Scores
from lagco.results.statistics import bootstrap_interval, mean
from lagco.store import readable_json, write_atomically

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "learning_alone.json"
DOCUMENT = ROOT / "docs" / "results" / "learning-alone.md"
SEED, FEATURES = 42, "unplanned"
#: seed and number of the instances of each part
PARTS = {"training": (77002, 20), "validation": (77001, 12), "test": (77003, 20)}


@dataclass(frozen=True)
class Target:
    """What is measured of a problem, and what was wanted of the best of 5 episodes.

    Attributes:
        measure: of an evaluation.
        digits: that tables show.
        sign: 1 where more is better.
        wanted: of the best of 5.
    """

    measure: str
    digits: int
    sign: float
    wanted: float


TARGETS = {
    "ospf": Target("gap", 1, -1.0, 20.0),
    "placement": Target("solver_score_best", 3, 1.0, 0.92),
}
#: settings of reinforcement with more steps, and with larger batches and longer horizons
LONG = {"steps": 300_000}
LARGE = LONG | {
    "rollout": 16_384,
    "batch_size": 1024,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "learning_rate": 5e-4,
    "stop_at_best": False,
}
#: settings of learning from own episodes
OWN: dict[str, Any] = {
    "teacher": "self",
    "stop_at_best": False,
    "temperature": 1.0,
    "ranker_width": 32,
    "ranker_layers": 2,
    "rollout": 6144,
    "epochs": 8,
    "gamma": 0.99,
    "gae_lambda": 0.9,
    "learning_rate": 0.001,
}
OWN_OF: dict[str, dict[str, Any]] = {
    "ospf": OWN | {"steps": 60_000, "k": 24},
    "placement": OWN | {"steps": 40_000, "k": 32},
}
#: columns that look further than one change, by problem
FURTHER = {
    "ospf": "far_norm_gain,far_gain,far_changes,far_rank,best_far,best_norm,relief,begun",
    "placement": ",".join(
        name
        for name in PLACED.names
        if name.startswith(("chain", "emptying_", "gathering_", "filling_"))
    ),
}


#: rows with the agent of another one, which takes the best preview of so many nearest actions
LONG_ROW = "soft-projection, 300000 steps"
PREVIEWS = {f"{LONG_ROW}, best of {nearest} previews": nearest for nearest in (3, 10, 30)}


def settings_of(row: str, problem: str) -> tuple[str, dict[str, Any]]:
    """Method and settings of a row."""
    own = OWN_OF[problem]
    known: dict[str, tuple[str, dict[str, Any]]] = {
        "soft-projection": ("soft-projection", {}),
        LONG_ROW: ("soft-projection", LONG),
        "soft-projection, larger batches": ("soft-projection", LARGE),
        "greedy imitated": ("taught-projection", own | {"teacher": "greedy", "steps": 12_288}),
        "own episodes": ("taught-projection", own),
        "own episodes, single changes": (
            "taught-projection",
            own | {"drop_columns": FURTHER[problem]},
        ),
    }
    return known[row]


ROWS = (
    "greedy",
    "soft-projection",
    LONG_ROW,
    *PREVIEWS,
    "soft-projection, larger batches",
    "greedy imitated",
    "own episodes",
    "own episodes, single changes",
)
Record = dict[str, Any]


def drawn(problem: str, part: str, work: Path) -> list[Instance]:
    """The instances of a part; those to train on know nothing of the solver."""
    seed, count = PARTS[part]
    found = []
    for index in range(count):
        path = work / problem / f"{part}-{index}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            instance = instance_of(problem, None, seed, index)
            if part == "training":
                known = References(sweeps=instance.references.sweeps)
                instance = instance.with_references(known)
            write_instance(instance, path)
        found.append(read(path, problem))
    return found


def trained(problem: str, row: str, seed: int, work: Path) -> tuple[Any, Record]:
    """The agent of a row, and its steps."""
    method, settings = settings_of(row, problem)
    instances, encoder = drawn(problem, "training", work), work / problem / f"encoder-{seed}"
    if not (encoder / "encoder.json").exists():
        lagco.pretrain(problem, instances, encoder, features=FEATURES, seed=seed, progress=False)
    agent = lagco.train(
        problem,
        instances,
        work / problem / f"{row}-{seed}",
        method=method,
        encoder=encoder,
        features=FEATURES,
        seed=seed,
        progress=False,
        **settings,
    )
    return agent, {"steps": agent.description["training"]["steps"]}


def measured(problem: str, row: str, seed: int, part: str, work: Path) -> Record:
    """First and best episode on every instance of a part."""
    policy, facts = "greedy", {}
    if row != "greedy":
        policy, facts = trained(problem, LONG_ROW if row in PREVIEWS else row, seed, work)
    if row in PREVIEWS:
        policy = policy.with_decoder("preview", PREVIEWS[row])
    found = lagco.evaluate(policy, drawn(problem, part, work), progress=False)
    measure = TARGETS[problem].measure
    values = {w: [round(float(v), 5) for v in found.values(measure, w)] for w in ("first", "best")}
    return values | facts


def recorded() -> dict[str, Record]:
    """Records by problem, part, row and seed."""
    found: dict[str, Record] = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    return found


def values_of(records: Mapping[str, Record], problem: str, row: str, which: str) -> list[Array]:
    """Values on the test instances, one array per seed."""
    start = f"{problem}/test/{row}/"
    return [np.array(found[which]) for key, found in records.items() if key.startswith(start)]


def scored(runs: Sequence[Array]) -> Estimated:
    """Mean over runs and instances with the 95 % interval over both."""
    if len(runs) == 1:
        return Estimated(mean(runs[0]), *bootstrap_interval(runs[0], mean))
    rows = [(float(v), run, i) for run, values in enumerate(runs) for i, v in enumerate(values)]
    scores = Scores.of(rows)
    weights = scores.weights(0)
    return Estimated.of(mean(scores.values), weights @ scores.values / weights.sum(axis=1))


def table(records: Mapping[str, Record], problem: str) -> str:
    """The table of a problem: first episode, best of 5, and how far that is ahead of greedy."""
    target = TARGETS[problem]
    lines = [
        "| | seeds | steps | first | best of 5 | ahead of greedy |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    (greedy,) = values_of(records, problem, "greedy", "best")
    for row in ROWS:
        best = values_of(records, problem, row, "best")
        if not best:
            continue
        first = values_of(records, problem, row, "first")
        some = [r for key, r in records.items() if key.startswith(f"{problem}/test/{row}/")]
        ahead, d = scored([target.sign * (values - greedy) for values in best]), target.digits
        cells = [
            f"{len(best)}" if row != "greedy" else "",
            f"{some[0]['steps']}" if row != "greedy" else "",
            *(
                f"{e.value:.{d}f} ({e.low:.{d}f} to {e.high:.{d}f})"
                for e in map(scored, (first, best))
            ),
            f"{ahead.value:.{d}f} ({ahead.low:.{d}f} to {ahead.high:.{d}f})"
            if row != "greedy"
            else "",
        ]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


_BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->)\n(?:.*?\n)??(<!-- end -->)", re.DOTALL)


def filled(text: str, records: Mapping[str, Record]) -> str:
    """The document with the tables between its marks written anew from the records."""
    return _BLOCK.sub(lambda m: f"{m[1]}\n{table(records, m[2])}\n{m[3]}", text)


def main() -> None:
    """Measure what is missing, print the tables, publish them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/alone"))
    parser.add_argument("--problems", default=",".join(TARGETS))
    parser.add_argument("--rows", default=";".join(ROWS), help="With semicolons between them.")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    part = "validation" if given.validate else "test"
    if given.publish:
        text = filled(DOCUMENT.read_text(), recorded())
        DOCUMENT.write_text(text)
        return
    for problem in given.problems.split(","):
        for row in given.rows.split(";"):
            key = f"{problem}/{part}/{row}/{given.seed}"
            if key not in recorded():
                found = measured(problem, row, given.seed, part, given.work)
                write_atomically(RECORDS, readable_json(recorded() | {key: found}))
            shown = recorded()[key]
            print(key, *(f"{which} {mean(shown[which]):.3f}" for which in ("first", "best")))


if __name__ == "__main__":
    main()
