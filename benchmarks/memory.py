"""Peak memory of training runs on 20 instances of the paper's ranges, a process each.

    python benchmarks/memory.py
    python benchmarks/memory.py --problems traffic --methods p-discrete-m --steps 6144

Megabytes before the first step, after so many steps (by default enough to fill the replay buffer of
`iterative`, three rollouts of the others), and after a checkpoint. The buffer of `iterative` is
filled without gradient steps, whose memory does not depend on how many there are: the last 800
steps have them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lagco.agents.config import train_config
from lagco.agents.registry import method_of
from lagco.agents.training.checkpoint import save_checkpoint
from lagco.bench.untrained import brief_space
from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread

PROBLEMS = "tsp,min-vertex,max-cut,placement,ospf,traffic,cyber-path"
#: steps with gradient steps at the end of a run that fills a replay buffer
LEARNT = 800


def measure(problem: str, method: str, steps: int | None) -> dict[str, Any]:
    """Megabytes of this process at the ends of the parts of a run."""
    cls, chosen = problem_class(problem), method_of(method)
    drawn = [cls.generate(index=index) for index in range(20)]
    instances = [d.with_references(cls.sweep(d, 30, 0)) for d in drawn]
    space = brief_space(cls, "full") if chosen.latent else None
    config = train_config(method=method)
    env = chosen.env(cls, instances, space, config)
    with one_thread():
        model: Any = chosen.model(env, config)
        found: dict[str, Any] = {"problem": problem, "method": method, "before": _peak()}
        filled = getattr(config, "buffer", None)
        if filled is None:
            model.learn(steps or 3 * config.rollout)
        else:
            train, model.train = model.train, lambda *_, **__: None
            model.learn(steps or filled)
            model.train = train
            model.learn(LEARNT, reset_num_timesteps=False)
        found |= {"steps": model.num_timesteps, "after": _peak()}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "checkpoint"
            save_checkpoint(path, model, env, "0" * 64)
            found |= {"checkpoint": path.stat().st_size / 1e6}
    return found | {"saved": _peak()}


def _peak() -> float:
    """Megabytes at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def row(found: dict[str, Any]) -> str:
    """A row of the table."""
    names = ("before", "after", "saved", "checkpoint")
    cells = [f"`{found['problem']}`", f"`{found['method']}`", f"{found['steps']}"]
    return "| " + " | ".join([*cells, *(f"{found[name]:.0f}" for name in names)]) + " |"


def main() -> None:
    """Measure what was asked for, in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--methods", default="iterative,p-discrete-m")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.problems, given.methods, given.steps)))
        return
    print("| problem | method | steps | before | after | after a checkpoint | its size |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for method in given.methods.split(","):
        for problem in given.problems.split(","):
            command = [sys.executable, __file__, "--child", "--problems", problem]
            command += ["--methods", method]
            command += ["--steps", str(given.steps)] if given.steps else []
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            print(row(json.loads(answer.stdout.splitlines()[-1])), flush=True)


if __name__ == "__main__":
    main()
