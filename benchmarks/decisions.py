"""Whole decisions of this checkout against those of another one, alternating in one run.

python benchmarks/decisions.py FOLDER [--cases tsp:50,ospf:20] [--turns 24]
python benchmarks/decisions.py --decoders

FOLDER is the other checkout, whose ``src`` is imported in a process of its own; the two take turns
of 40 decisions each. Printed are medians in microseconds, part by part, and the median over the
turns of how many times faster this one is. With --decoders the default agent of `tsp` decides at
100 cities by its ranker and by the nearest action alone, taking turns likewise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

CASES = "ospf:20,traffic:20,cyber-path:15,tsp:50,placement:50"
EACH = 40


def serve(case: str) -> None:
    """Time `EACH` decisions per line read, and print the microseconds of their parts."""
    import torch

    from lagco.policies import RandomPolicy
    from lagco.rollout import walk

    torch.set_num_threads(1)
    env, actor = _shipped(case) if case in ("ranked", "nearest") else _made(case)
    rng = np.random.default_rng(0)
    states = walk(env, RandomPolicy(), rng)
    for _ in range(EACH):  # compiles
        next(states)
        actor.timed(rng)
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        for _ in range(EACH):
            next(states)
            times.append(actor.timed(rng))
        print(json.dumps({part: [1e6 * t[part] for t in times] for part in times[0]}), flush=True)


def _made(case: str) -> Any:
    """Environment and hardly trained actor, as ``lagco bench latency`` has them."""
    from lagco.agents.config import train_config
    from lagco.agents.registry import method_of
    from lagco.embedding.config import PretrainConfig
    from lagco.embedding.pretraining.pretrain import pretrain
    from lagco.latent.space import LatentSpace
    from lagco.problems import problem_class

    name, size = case.split(":")
    problem = problem_class(name)
    instance = problem.generate(int(size), index=77)
    data = [problem.generate(n, index=n) for n in (10, 12)]
    brief = PretrainConfig(max_steps=5, states=30)
    encoder = pretrain(problem, data, features="full", training=brief, progress=False)
    space = LatentSpace.fit(encoder, [problem(d, features="full") for d in data], states=24)
    config = train_config(method="projection", features="full", seed=0)
    method = method_of("projection")
    training = method.env(problem, [problem.generate(10)], space, config, [instance])
    weights, facts = method.weights(method.model(training, config)), method.facts(training)
    env = problem(instance, features="full", rewards=False, start="default")
    env.reset(seed=0)
    return env, method.actor(env, weights, facts, space, None)


def _shipped(decoder: str) -> Any:
    from lagco.agents.shipped import default_agent

    agent = default_agent("tsp").with_decoder(decoder, 16)
    instance = agent.problem.generate(100, index=77)
    env = agent.problem(instance, features=agent.features, rewards=False, start="default")
    env.reset(seed=0)
    return env, agent.actor(env)


def compare(sides: dict[str, tuple[str, str]], turns: int) -> None:
    """Print a line per side (label: source folder, case), and the ratio of the first two."""
    workers = {}
    for label, (source, case) in sides.items():
        workers[label] = subprocess.Popen(
            [sys.executable, __file__, "--serve", case],
            env={**os.environ, "PYTHONPATH": source},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    for worker in workers.values():
        _answer(worker)
    found: dict[str, list[dict[str, list[float]]]] = {label: [] for label in sides}
    for _ in range(turns):
        for label, worker in workers.items():
            assert worker.stdin is not None
            print("go", file=worker.stdin, flush=True)
            found[label].append(json.loads(_answer(worker)))
    medians = []
    for label, answers in found.items():
        parts = {p: np.array([answer[p] for answer in answers]) for p in answers[0]}
        whole = np.sum(list(parts.values()), axis=0)
        medians.append(np.median(whole, axis=1))
        shown = ", ".join(f"{part} {np.median(times):.1f}" for part, times in parts.items())
        print(f"{label:24} {np.median(whole):7.1f} us  ({shown})")
    print(f"{'':24} {np.median(medians[0] / medians[1]):7.2f} times")
    for worker in workers.values():
        worker.communicate()


def _answer(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline()


def main() -> None:
    """Compare checkouts or decoders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--decoders", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    own = str(Path(__file__).resolve().parent.parent / "src")
    if given.serve:
        serve(given.serve)
    elif given.decoders:
        compare({name: (own, name) for name in ("ranked", "nearest")}, given.turns)
    elif given.folder is None:
        parser.error("give the folder of another checkout, or --decoders")
    else:
        other = str(Path(given.folder).resolve() / "src")
        for case in given.cases.split(","):
            compare({f"{case} there": (other, case), f"{case} here": (own, case)}, given.turns)


if __name__ == "__main__":
    main()
