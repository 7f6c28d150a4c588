"""Whole decisions of this code beside those of another version of it, turn by turn.

    python -m benchmarks.against_base OLD_SRC [--problems tsp:100,ospf] [--methods shipped]
        [--rounds 12] [--decisions 25] [--publish]

OLD_SRC is the folder that holds the other version's package `lagco`; modules that have moved since
are found under their former names. Both versions decide in processes of their own on the same
states, a round of decisions each in turn, and their processor time is taken: so what else the
machine does matters little. A round's figure is the time that a fifth of its decisions stay below,
as load only adds. Per problem and method: the median of these figures in microseconds, old and new,
the median over the rounds of new by old, the ratio of the fastest rounds, and how many actions are
the same. The encoders of methods other than `shipped` (the agents that come with lagco) are hardly
trained, and differ where their training does. With --publish, docs/results/speed.md shows them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__)
NEW = HERE.parent.parent / "src"
#: sizes of the problems, if not given
SIZES = {
    "tsp": 100,
    "min-vertex": 50,
    "max-cut": 100,
    "placement": 50,
    "ospf": 20,
    "traffic": 20,
    "cyber-path": 15,
}
METHODS = "projection,soft-projection,iterative,shipped"


class Version:
    """A process that decides with one version.

    Args:
        source: folder of its package.
    """

    def __init__(self, source: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"},
        )

    def ask(self, **request: Any) -> Any:
        """The answer to a request, see :func:`serve`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a version ended; its message is above")
        return json.loads(line)


def found_module(*names: str) -> Any:
    """The first of these modules that there is."""
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise
    raise SystemExit(f"no module {' or '.join(names)}")


def made_actor(problem: str, size: int, method: str) -> tuple[Any, Any]:
    """An environment and what decides in it."""
    cls = import_module("lagco.problems").problem_class(problem)
    instance = cls.generate(size, index=77)
    if method == "shipped":
        agent = import_module("lagco.agents.shipped").default_agent(problem).configured()
        env = cls(instance, features=agent.features, rewards=False, start="default")
        env.reset(seed=0)
        return env, agent.actor(env)
    space = found_module("lagco.bench.decisions", "lagco.agents.bench").brief_space(cls, "full")
    config = import_module("lagco.agents.config").train_config(method=method, features="full")
    chosen = import_module("lagco.agents.registry").method_of(method)
    training = chosen.env(cls, [cls.generate(10)], space, config, [instance])
    weights = chosen.weights(chosen.model(training, config))
    env = cls(instance, features="full", rewards=False, start="default")
    env.reset(seed=0)
    return env, chosen.actor(env, weights, chosen.facts(training), space, None)


def serve() -> None:
    """Answer requests: to make an actor, or to time so many of its decisions."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    answers, sys.stdout = sys.stdout, sys.stderr
    walk = import_module("lagco.rollout").walk
    policy = import_module("lagco.policies").RandomPolicy()
    actor: Any = None
    states: Any = iter(())
    for line in sys.stdin:
        request = json.loads(line)
        times, actions = [], []
        if "problem" in request:
            env, actor = made_actor(**request)
            rng = np.random.default_rng(0)
            actor.act(rng, False)  # compiles
            states = walk(env, policy, rng)
        for _ in islice(states, request.get("decisions", 0)):
            rng = np.random.default_rng(len(times))
            began = time.process_time()
            action = actor.act(rng, False)
            times.append(1e6 * (time.process_time() - began))
            actions.append(str(action))
        quick = sorted(times)[len(times) // 5] if times else 0.0
        answer = {"us": quick, "actions": actions}
        print(json.dumps(answer), file=answers, flush=True)


def compare(
    old: Version, new: Version, request: dict[str, Any], rounds: int, decisions: int
) -> dict[str, Any]:
    """Times of both versions, and their ratios."""
    versions = [old, new]
    for version in versions:
        version.ask(**request)
        version.ask(decisions=decisions)
    times: list[list[float]] = [[], []]
    same = 0
    for number in range(rounds):
        found: dict[int, Any] = {}
        for which in (0, 1) if number % 2 else (1, 0):
            found[which] = versions[which].ask(decisions=decisions)
            times[which].append(found[which]["us"])
        pairs = zip(found[0]["actions"], found[1]["actions"], strict=True)
        same += sum(before == after for before, after in pairs)
    return {
        **request,
        "old_us": round(median(times[0]), 1),
        "new_us": round(median(times[1]), 1),
        "ratio": round(median(b / a for a, b in zip(*times, strict=True)), 3),
        "fastest": round(min(times[1]) / min(times[0]), 3),
        "same": f"{same}/{rounds * decisions}",
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--problems", default=",".join(SIZES))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--decisions", type=int, default=25)
    parser.add_argument("--publish", action="store_true")
    arguments = parser.parse_args()
    old, new = Version(arguments.old), Version(NEW)
    for part in arguments.problems.split(","):
        problem, _, size = part.partition(":")
        for method in arguments.methods.split(","):
            request = {"problem": problem, "size": int(size or SIZES[problem]), "method": method}
            found = compare(old, new, request, arguments.rounds, arguments.decisions)
            print(
                "{problem:11s} {size:4d} {method:16s} old {old_us:8.1f} new {new_us:8.1f} "
                "ratio {ratio:.3f} fastest {fastest:.3f} same {same}".format(**found),
                flush=True,
            )
            if arguments.publish:
                from benchmarks.speed import publish_rows

                publish_rows("decisions-against-base", [found])


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
