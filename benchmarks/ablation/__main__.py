"""Commands; see the package."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import benchmarks.ablation as package
from benchmarks.ablation import agents, encodings, features, live, sizes

#: problems of every part
PROBLEMS = {
    "agents": agents.PROBLEMS,
    "sizes": sizes.PROBLEMS,
    "live": ("ospf", "traffic"),
    "features": features.PROBLEMS,
    "encodings": encodings.PROBLEMS,
}


def main() -> None:
    """Entry point."""
    name = "python -m benchmarks.ablation"
    parser = argparse.ArgumentParser(prog=name, description=package.__doc__)
    parser.add_argument("what", choices=(*PROBLEMS, "publish"))
    parser.add_argument("--work", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--problems", default="")
    parser.add_argument("--parts", default=",".join(agents.PARTS), help="Of `agents` and `live`.")
    given = parser.parse_args()
    if given.what == "publish":
        from benchmarks.ablation import pages

        pages.publish()
        return
    problems = given.problems.split(",") if given.problems else PROBLEMS[given.what]
    parts = tuple(given.parts.split(","))
    if given.what == "agents":
        for part, problem in itertools.product(parts, problems):
            agents.measure(problem, part, given.work)
    elif given.what == "sizes":
        for problem in problems:
            sizes.measure(problem, given.work)
    elif given.what == "live":
        for problem in problems:
            live.measure(problem, given.work, parts)
    else:
        module: Any = {"features": features, "encodings": encodings}[given.what]
        for seed, problem in itertools.product(module.SEEDS, problems):
            module.measure(problem, seed, given.work)


if __name__ == "__main__":
    main()
