"""Rescheduling of virtual machines: fewer fragments of free cores after a few migrations.

python benchmarks/rescheduling.py [--sizes 1000 2000 5000] [--instances 2] [--seconds 5]

Clusters in use (`Placement.generate(size, load=…)`), whose fragment rate is the share of the free
cores that no further VM of 16 cores can have. At most 2.5 % of the VMs may move. Every method has
the same seconds, in a process that has loaded it before; capacities hold after every migration of
the plan. The bound: as many whole blocks of 16 cores as could be free at all, and at most one more
for every VM that moves.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from lagco.problems.placement import Placement
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "rescheduling.json"
METHODS = ("greedy", "solver", "agent")
#: instances have seeds of their own, which nothing was chosen on
SEED, LOAD, MOVED = 20261, 0.9, 0.025
ONLY = {"fragments": 1.0} | dict.fromkeys(
    ("utilisation", "energy", "packing", "network", "security"), 0.0
)


def measure(size: int, index: int, seconds: float) -> dict[str, Any]:
    """Fragment rates before, at best, and after the migrations of each method."""
    instance = Placement.generate(size, seed=SEED, index=index, load=LOAD)
    instance = Placement.with_aims(instance, ONLY)
    budget = int(MOVED * size)
    found: dict[str, Any] = {
        "vms": size,
        "pms": len(instance.array("pm_capacities")),
        "migrations allowed": budget,
        "before": 1.0 - Placement.evaluate_solution(instance, instance.array("allocation")),
    }
    for by in METHODS:
        answer = lagco.solve(
            instance, by=by, seconds=seconds, max_changes=budget, progress=False, seed=index
        )
        assert answer.valid
        assert not answer.plan.stuck or by != "solver"
        assert answer.bound is not None or by != "solver"
        found[by] = {
            "rate": 1.0 - answer.objective,
            "moved": len(answer.changes),
            "steps": len(answer.migrations),
            "seconds": round(answer.seconds, 2),
        }
        if answer.bound is not None:
            found["bound"] = 1.0 - answer.bound
    return found


def table(records: dict[str, Any]) -> list[str]:
    """Rows of the table in docs/results/rescheduling.md: means over the instances of a size."""
    found = []
    for size in sorted({row["vms"] for row in records["rows"]}):
        rows = [row for row in records["rows"] if row["vms"] == size]
        means = [np.mean([row["before"] for row in rows])]
        means += [np.mean([row[by]["rate"] for row in rows]) for by in METHODS]
        moved = [np.mean([row[by]["moved"] for row in rows]) for by in METHODS]
        cells = [f"{100 * means[0]:.1f} %"]
        cells += [f"{100 * r:.1f} % ({m:.0f})" for r, m in zip(means[1:], moved, strict=True)]
        cells.append(f"{100 * np.mean([row['bound'] for row in rows]):.1f} %")
        cells.append(f"{max(row[by]['seconds'] for row in rows for by in METHODS):.1f}")
        pms = round(float(np.mean([row["pms"] for row in rows])))
        allowed = rows[0]["migrations allowed"]
        found.append(f"| {size} / {pms} | {allowed} | {' | '.join(cells)} |")
    return found


def warm() -> None:
    """Load every method once, with all compiled code that it needs."""
    small = Placement.with_aims(Placement.generate(40, seed=1, load=LOAD), ONLY)
    for by in METHODS:
        lagco.solve(small, by=by, turns=3, max_changes=3, progress=False)


def main() -> None:
    """Measure, print and write the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 5000])
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    warm()
    rows = []
    for size in chosen.sizes:
        for index in range(chosen.instances):
            rows.append(measure(size, index, chosen.seconds))
            print(json.dumps(rows[-1]), flush=True)
            settings = {"load": LOAD, "moved": MOVED, "seconds": chosen.seconds, "seed": SEED}
            write_atomically(chosen.out, readable_json({"settings": settings, "rows": rows}))
    print("\n".join(table({"rows": rows})))


if __name__ == "__main__":
    main()
