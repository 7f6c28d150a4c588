"""How hard generated `cyber-path` networks are: plain policies, and a planner that knows the rules.

python benchmarks/cyber_path_calibration.py [--seed 2000] [--instances 40] [--sizes paper,20,30,60]
    [--profiles guarded,open] [--json]

The planner sees what every agent sees. It shows that there is room above `greedy`; its weights are
plain numbers chosen by hand on the validation networks of seed 1000.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from lagco.evaluation import evaluate
from lagco.generation import generate_instance
from lagco.instances import Instance
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.network import read_network
from lagco.problems.cyber_path.outcomes import OUTCOMES, OWNED_POINTS
from lagco.problems.cyber_path.reachability import reachable_sizes

#: worth, in points: a host made visible, known or open to attack; a first refuge from detection
FOUND, SHOWN, UNLOCKED, REFUGE = 8.0, 8.0, 6.0, 4.0
OWNS = [OUTCOMES.index(name) for name in ("lateral-movement", "credential-access")]
EVADES, STOPS = OUTCOMES.index("defence-evasion"), OUTCOMES.index("denial-of-service")


class Planner:
    """Own what can be owned, but first explore, become administrator and remove traces in time."""

    name = "planner"

    def act(self, env: Any, rng: np.random.Generator, explore: bool = True) -> Any:
        """The attack with the highest worth, counting what it opens; ties at random."""
        env = env.unwrapped
        actions = env.valid_actions()
        if not len(actions):
            return None
        values = self._values(env, actions)
        best = np.flatnonzero(values >= values.max() - 1e-9)
        return actions[best[rng.integers(len(best))]]

    def _values(self, env: Any, actions: Any) -> Any:
        nodes = env.graph_views()["attack_G"].nodes
        target, position = actions[:, 1], actions[:, 2]
        ahead = np.asarray(nodes["ahead"], dtype=float)[target, position]
        fresh = ahead[:, 1 : 1 + len(OUTCOMES)] > 0
        found, shown, unlocked = np.expm1(ahead[:, -4:-1]).T
        risk = np.asarray(nodes["risk"], dtype=float)[target]
        owned = np.asarray(nodes["owned"], dtype=bool)
        refuge = (owned & np.asarray(nodes["evaded"], dtype=bool)).any()
        vigilance = env.instance.params.get("vigilance", 0.0)
        # removing traces pays until it is time to do so again
        attempts = np.sqrt(2.0 / vigilance) if vigilance else 0.0
        worth = OWNED_POINTS * (fresh[:, OWNS].any(axis=1) & ~owned[target])
        worth += FOUND * found + SHOWN * shown + UNLOCKED * unlocked
        worth += OWNED_POINTS * attempts * ahead[:, -1]
        if vigilance and not refuge:
            worth += REFUGE * (fresh[:, EVADES] & owned[target])
        worth -= 1000.0 * fresh[:, STOPS]
        cost = 0.5 * OWNED_POINTS * vigilance
        return (1.0 - risk) * worth - risk * cost + 1e-6 * env.preview(actions)


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
