"""Speed of training beside another version of the library, both trained in turns.

python -m benchmarks.against_base_training OLD_SRC [--problems tsp,...] [--methods projection,...]
    [--publish]

OLD_SRC is the folder `src` of the other version. Each version trains in a process of its own, on
the same instances, one rollout and its update at a time, and the two take turns, so that both meet
the same other work on the machine. Printed are microseconds of the processor per step, medians over
the turns, in brackets what updates take of it (the rest are rollouts), and the median ratio of the
speeds: 1 is as fast as the other version. One thread. With --publish,
docs/results/training-speed.md shows them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

SIZES = {
    "tsp": 50, "min-vertex": 30, "max-cut": 50, "placement": 30, "ospf": 20, "traffic": 15,
    "cyber-path": 15,
}  # fmt: skip
METHODS = (
    "projection", "soft-projection", "g-discrete", "g-discrete-m", "p-discrete", "p-discrete-m",
    "iterative",
)  # fmt: skip
#: steps of a turn, where a method has no rollouts and updates of its own
_STEPS = 1024


def train_in_turns(problem: str, method: str) -> None:
    """In the process of one version: a turn for every line that is read.

    Prints seconds per step, and those of updates among them.
    """
    from lagco.agents.config import train_config
    from lagco.agents.registry import method_of
    from lagco.problems import problem_class

    try:
        from lagco.bench.decisions import brief_space
        from lagco.runtime.one_thread import one_thread
    except ImportError:  # modules of version 0.1
        from lagco.agents.bench import brief_space  # type: ignore[no-redef]
        from lagco.agents.lean import lean_torch as one_thread  # type: ignore[no-redef]

    cls, chosen = problem_class(problem), method_of(method)
    drawn = [cls.generate(SIZES[problem], index=index) for index in range(4)]
    instances = [instance.with_references(cls.sweep(instance, 10, 0)) for instance in drawn]
    config = train_config(method=method, features="full", seed=0)
    space: Any = brief_space(cls, "full") if chosen.latent else None
    env = chosen.env(cls, instances, space, config)
    steps = _STEPS if method == "iterative" else config.rollout
    with one_thread():
        model: Any = chosen.model(env, config)
        model.learn(steps, reset_num_timesteps=False)  # compiles, and fills the caches
        update, spent = model.train, [0.0]

        def timed(*arguments: Any, **named: Any) -> None:
            began = time.process_time()
            update(*arguments, **named)
            spent[0] += time.process_time() - began

        model.train = timed
        for _ in sys.stdin:
            before, began, spent[0] = model.num_timesteps, time.process_time(), 0.0
            model.learn(steps, reset_num_timesteps=False)
            steps_done = model.num_timesteps - before
            seconds = (time.process_time() - began) / steps_done
            print(f"seconds {seconds!r} {spent[0] / steps_done!r}", flush=True)


class Version:
    """A process that trains with one version of the library.

    Args:
        source: its folder `src`.
        problem, method: what is trained.
    """

    def __init__(self, source: Path, problem: str, method: str) -> None:
        command = [sys.executable, __file__, "--in-turns", problem, method]
        environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def turn(self) -> tuple[float, float]:
        """Seconds per step of one more turn, and those of updates among them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("seconds "):
                _, whole, update = line.split()
                return float(whole), float(update)
        raise SystemExit(f"training failed: {self._process.args}")

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(old: Path, problem: str, method: str, turns: int) -> dict[str, Any]:
    """Microseconds per step of the other version and of this one, and the ratio of the speeds."""
    new = Path(__file__).resolve().parents[1] / "src"
    versions = [Version(source, problem, method) for source in (old, new)]
    times = [[version.turn() for version in versions] for _ in range(turns)]
    for version in versions:
        version.end()
    found: dict[str, Any] = {"problem": problem, "size": SIZES[problem], "method": method}
    for name, turns_of in zip(("old", "new"), zip(*times, strict=True), strict=True):
        whole, update = (1e6 * median(each) for each in zip(*turns_of, strict=True))
        found |= {f"{name}_us": round(whole, 1), f"{name}_update_us": round(update, 1)}
    ratio = median(before[0] / now[0] for before, now in times)
    return found | {"ratio": round(ratio, 3), "turns": turns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("--problems", default=",".join(SIZES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--publish", action="store_true")
    parser.add_argument(
        "--in-turns", nargs=2, metavar=("PROBLEM", "METHOD"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.in_turns:
        train_in_turns(*options.in_turns)
        return
    if options.old is None:
        parser.error("OLD_SRC is missing: the folder `src` of the version to compare with")
    print("| problem | method | old µs | new µs | speed |\n| --- | --- | --- | --- | --- |")
    for problem in options.problems.split(","):
        for method in options.methods.split(","):
            found = compare(options.old.resolve(), problem, method, options.turns)
            old, new = (
                f"{found[f'{name}_us']:.0f} ({found[f'{name}_update_us']:.0f})"
                for name in ("old", "new")
            )
            print(f"| {problem} | {method} | {old} | {new} | {found['ratio']:.2f} |", flush=True)
            if options.publish:
                from benchmarks.speed import publish_rows

                publish_rows("training-against-base", [found])


if __name__ == "__main__":
    main()
