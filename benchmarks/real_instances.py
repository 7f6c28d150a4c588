"""Real instance files, answered by the agents that come with lagco, by solvers and by both.

    python benchmarks/real_instances.py FOLDER [--seconds 2] [--agent default] [--search auto]

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
from lagco.results.measures import gap

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
    parser.add_argument("--agent", default="default")
    parser.add_argument("--search", default="auto")
    arguments = parser.parse_args()
    print("| file | problem | size | known | agent | solver | portfolio | found by | bound | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for folder in sorted(p for p in arguments.folder.iterdir() if p.is_dir()):
        known = known_values(folder)
        for path in sorted(folder.iterdir()):
            if path.name in _NO_INSTANCE or path.suffix == ".tour":
                continue
            instance = read(path)
            maximise = lagco.problems.problem_class(instance.problem).maximise
            answers = {
                by: lagco.solve(
                    instance,
                    by=by,
                    agent=None if by == "solver" else arguments.agent,
                    seconds=arguments.seconds,
                    search=arguments.search,
                )
                for by in ("agent", "solver", "portfolio")
            }
            best = known.get(path.stem)
            if best is None:
                objectives = [answer.objective for answer in answers.values()]
                best = max(objectives) if maximise else min(objectives)
            shown = f"{best:.6g}" if path.stem in known else f"{best:.6g} (best here)"
            cells = []
            for answer in answers.values():
                assert answer.valid, path
                share = gap(answer.objective, best, maximise=maximise)
                cells.append(f"{answer.objective:.6g} ({share or 0.0:.2f} %)")
            found, bound = answers["portfolio"].by, answers["portfolio"].bound
            remark = plain_routing(instance) if instance.problem == "ospf" else ""
            print(
                f"| {path.name} | {instance.problem} | {instance.size} | {shown} | "
                f"{' | '.join(cells)} | {found} | {'-' if bound is None else f'{bound:.6g}'} | "
                f"{remark} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
