"""Real instance files, answered by the agents that come with lagco.

    python benchmarks/real_instances.py FOLDER [--seconds 2] [--agent default] [--policy greedy]

FOLDER has the subfolders tsplib (with optima.txt), gset (best_known.txt), vertex_cover, sndlib and
topology_zoo, or some of them. Prints one Markdown table row per file. For routing, the utilisation
under unit weights and under weights inverse to the capacity stands beside the answer's.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

import lagco
from lagco.instances.formats import read
from lagco.problems.ospf.env import OSPF
from lagco.problems.ospf.weights import weight_bounds

_NO_INSTANCE = {"optima.txt", "best_known.txt", "README.md"}


def known_values(folder: Path) -> dict[str, float]:
    """Name to value, as in `berlin52 : 7542`."""
    found: dict[str, float] = {}
    for path in folder.glob("*.txt"):
        if path.name in _NO_INSTANCE:
            for name, value in re.findall(r"(\w+)\W+(\d+)", path.read_text()):
                found[name] = float(value)
    return found


def plain_routing(instance: lagco.Instance) -> str:
    """Utilisation under unit weights and under weights inverse to the capacity."""
    capacities = instance.array("capacities")
    low, high = weight_bounds(instance)
    inverse = np.clip(np.rint(capacities.max() / capacities), low, high).astype(np.int64)
    unit = OSPF.evaluate_solution(instance, np.full(len(capacities), low))
    return f"unit {unit:.4g}, inverse {OSPF.evaluate_solution(instance, inverse):.4g}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--agent", default=None)
    parser.add_argument("--policy", default=None)
    parser.add_argument("--improve", default="none")
    arguments = parser.parse_args()
    print("| file | problem | size | answer | known | worse by | valid | seconds | episodes | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for folder in sorted(p for p in arguments.folder.iterdir() if p.is_dir()):
        known = known_values(folder)
        for path in sorted(folder.iterdir()):
            if path.name in _NO_INSTANCE or path.suffix == ".tour":
                continue
            instance = read(path)
            answer = lagco.solve(
                instance,
                agent=arguments.agent,
                policy=arguments.policy,
                seconds=arguments.seconds,
                improve=arguments.improve if instance.problem == "tsp" else "none",
            )
            value = known.get(path.stem)
            best = "known" if value is not None else "solver's"
            gap = answer.gap
            if value is not None:
                worse = value - answer.objective
                gap = 100.0 * (worse if instance.problem == "max-cut" else -worse) / value
            elif answer.reference is not None:
                value = answer.reference.value
            remark = plain_routing(instance) if instance.problem == "ospf" else ""
            shown = "-" if value is None else f"{value:.6g} ({best})"
            share = "-" if gap is None else f"{gap:.1f} %"
            print(
                f"| {path.name} | {instance.problem} | {instance.size} | {answer.objective:.6g} | "
                f"{shown} | {share} | {answer.valid} | {answer.seconds:.2f} | "
                f"{answer.episodes} | {remark} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
