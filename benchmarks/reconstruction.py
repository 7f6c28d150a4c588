"""Reconstruction by pre-trained embeddings on unseen instances, against a random encoder.

python benchmarks/reconstruction.py [--problems tsp,min-vertex] [--features full] [--seed 0]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from lagco import pretrain
from lagco.commands.generate import generate_instance
from lagco.embedding import problem_environments, reconstruction_report, report_table
from lagco.problems import problem_class


def main() -> None:
    """20 training instances of 10 to 50 nodes, 10 unseen ones of 10 to 60."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="tsp,min-vertex")
    parser.add_argument("--features", default="full")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.problems.split(","):
        cls = problem_class(name)
        sizes = np.linspace(10, 50, 20).astype(int)
        seen = [generate_instance(name, size=int(n), index=i) for i, n in enumerate(sizes)]
        sizes = np.linspace(10, 60, 10).astype(int)
        unseen = [generate_instance(name, size=int(n), index=500 + i) for i, n in enumerate(sizes)]
        began = time.perf_counter()
        encoder = pretrain(
            name, seen, features=arguments.features, seed=arguments.seed, progress=False
        )
        seconds = time.perf_counter() - began
        scores = reconstruction_report(
            encoder,
            problem_environments(cls, seen, arguments.features),
            problem_environments(cls, unseen, arguments.features),
        )
        print(f"\n{name}, {arguments.features} features, pre-trained in {seconds:.1f} s\n")
        print(report_table(scores))


if __name__ == "__main__":
    main()
