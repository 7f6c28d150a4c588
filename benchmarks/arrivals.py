"""Virtual machines that come and leave: rejections and fragments at 85 to 95 % load.

python benchmarks/arrivals.py [--vms 1000] [--loads 0.85 0.9 0.95] [--rounds 40] [--deadline 0.5]

Clusters in use (`Placement.generate(size, load=…)`) with a synthetic timeline: every five minutes
machines come, at a rate that would keep the load, and leave after four hours on average. First fit
and best fit place those that come and move nothing; the others begin from best fit and may migrate
ten machines every five minutes, to have fewer fragments (free cores that no machine of 16 cores can
have). All have the same deadline, in processor time of a process of their own. Records of other
loads are kept.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from benchmarks.rescheduling import ONLY
from lagco.problems.placement import Placement
from lagco.problems.placement.events.changes import ARRIVALS, REJECTED
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "arrivals.json"
DECIDING = "hold,greedy,solver,agent"
WAYS = ("first-fit", "best-fit", "greedy", "solver", "agent")
SEED, MOVED, STEP, LIFETIME = 20262, 10, 300.0, 14400.0


def measure(vms: int, load: float, rounds: int, deadline: float) -> dict[str, Any]:
    """Rejected machines and mean fragments of every way to decide."""
    drawn = Placement.generate(vms, seed=SEED, load=load)
    instance = Placement.with_aims(drawn, ONLY)
    found: dict[str, Any] = {"vms": vms, "pms": len(drawn.array("pm_capacities")), "load": load}
    for rule, controllers in (("first-fit", "hold"), ("best-fit", DECIDING)):
        begun = replace(instance, params={**instance.params, ARRIVALS: rule})
        timeline = Placement.draw_timeline(
            begun,
            seed=SEED,
            until=rounds * STEP,
            step=STEP,
            load=load,
            lifetime=LIFETIME,
            failures=0.0,
        )
        came = sum(moment.event.kind == "vm" for moment in timeline)
        kept: dict[str, list[Any]] = {}
        lagco.live(
            timeline,
            controllers=controllers,
            deadline=deadline,
            clock="processor",
            max_changes=MOVED,
            on_decision=lambda decision, kept=kept: kept.setdefault(decision.record.by, []).append(
                decision
            ),
            progress=False,
        )
        for name, decisions in kept.items():
            found[rule if name.startswith("hold") else name.partition(" ")[0]] = {
                "came": came,
                "rejected": int(decisions[-1].instance.params[REJECTED]),
                "fragments": float(np.mean([1.0 - d.record.after for d in decisions])),
                "waiting": float(np.mean([Placement.unserved(d.instance) for d in decisions])),
                "migrations": float(np.mean([d.record.changes for d in decisions])),
                "late": sum(d.record.late for d in decisions),
                "seconds": round(float(np.mean([d.seconds for d in decisions])), 3),
            }
    return found


def table(records: dict[str, Any]) -> list[str]:
    """Rows of the table in docs/results/rescheduling.md."""
    found = []
    for row in records["rows"]:
        for name in WAYS:
            one = row[name]
            cells = (
                f"{100 * row['load']:.0f} %",
                name,
                f"{one['rejected']} of {one['came']}",
                f"{100 * one['waiting']:.2f} %",
                f"{100 * one['fragments']:.1f} %",
                f"{one['migrations']:.1f}",
                str(one["late"]),
            )
            found.append(f"| {' | '.join(cells)} |")
    return found


def _load_of(row: dict[str, Any]) -> float:
    return float(row["load"])


def main() -> None:
    """Measure, print and write the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vms", type=int, default=1000)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.85, 0.9, 0.95])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--deadline", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    settings = {
        "rounds": chosen.rounds,
        "deadline": chosen.deadline,
        "clock": "processor",
        "seed": SEED,
        "moved": MOVED,
    }
    known = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    rows = known["rows"] if known.get("settings") == settings else []
    for load in chosen.loads:
        found = measure(chosen.vms, load, chosen.rounds, chosen.deadline)
        rows = sorted([*(row for row in rows if row["load"] != load), found], key=_load_of)
        print(json.dumps(found), flush=True)
        write_atomically(chosen.out, readable_json({"settings": settings, "rows": rows}))


if __name__ == "__main__":
    main()
