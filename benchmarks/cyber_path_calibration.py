"""Difficulty of generated `cyber-path` networks, for plain policies and a planner with the rules.

python benchmarks/cyber_path_calibration.py [--seed 2000] [--instances 40] [--sizes paper,20,30,60]
    [--profiles guarded,open] [--json]

The planner (``CyberPath.advise``) sees what every agent sees. It shows that there is room above
`greedy`; its weights are plain numbers chosen by hand on the validation networks of seed 1000.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from lagco.commands.evaluate import evaluate
from lagco.commands.generate import generate_instance
from lagco.instances import Instance
from lagco.instances.catalogue import OUTCOMES
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.network import read_network
from lagco.problems.cyber_path.reachability import reachable_sizes

OWNS = [OUTCOMES.index(name) for name in ("lateral-movement", "credential-access")]


class Planner:
    """Own what can be owned, but first explore, become administrator and remove traces in time."""

    name = "planner"

    def act(self, env: Any, rng: np.random.Generator, explore: bool = True) -> Any:
        """The attack with the highest worth, counting what it opens; ties at random."""
        best = env.unwrapped.advise()
        return best[rng.integers(len(best))] if len(best) else None


def networks(profile: str, size: int | None, seed: int, count: int) -> list[Instance]:
    """Generated networks with their references."""
    return [
        generate_instance(
            CyberPath,
            seed=seed,
            index=index,
            size=size,
            references=("sweeps", "solver"),
            options={"profile": profile},
        )
        for index in range(count)
    ]


def describe(instances: list[Instance]) -> dict[str, float]:
    """Least share of the hosts that can be owned; share that can be entered in the first step."""
    ownable, ways = [], []
    for instance in instances:
        reached = reachable_sizes(read_network(instance), lucky=False)
        ownable.append(reached.min() / instance.size)
        env = CyberPath(instance)
        env.reset(seed=0)
        actions = env.valid_actions()
        nodes = env.graph_views()["attack_G"].nodes
        fresh = nodes["ahead"][actions[:, 1], actions[:, 2]][:, 1 : 1 + len(OUTCOMES)]
        entered = actions[fresh[:, OWNS].any(axis=1) & (actions[:, 1] > 0), 1]
        ways.append(len(np.unique(entered)) / instance.size)
    return {"ownable": float(np.min(ownable)), "open_at_first": float(np.mean(ways))}


def measure(profile: str, size: int | None, seed: int, count: int) -> dict[str, Any]:
    """Scores of all policies on one kind of network."""
    instances = networks(profile, size, seed, count)
    record: dict[str, Any] = {"profile": profile, "size": size or "10-20", **describe(instances)}
    for policy in ("random", "greedy", Planner()):
        summary = evaluate(policy, instances, problem=CyberPath).summary()
        name = policy if isinstance(policy, str) else policy.name
        for pick in ("best", "first"):
            found = summary[f"score/{pick}"]
            record[f"{name}/{pick}"] = found.mean if found else None
    return record


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--sizes", default="paper,20,30,60")
    parser.add_argument("--profiles", default="guarded,open")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sizes = [None if size == "paper" else int(size) for size in arguments.sizes.split(",")]
    records = []
    for profile in arguments.profiles.split(","):
        for size in sizes:
            records.append(measure(profile, size, arguments.seed, arguments.instances))
            if not arguments.json:
                row = (f"{v:.3f}" if isinstance(v, float) else str(v) for v in records[-1].values())
                print("| " + " | ".join(row) + " |", flush=True)
    if arguments.json:
        print(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
