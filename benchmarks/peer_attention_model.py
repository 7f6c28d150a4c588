"""RL4CO's attention model, trained for the processor time of our `tsp` agent, on the same maps.

The peer lives in an environment of its own and is no dependency of lagco:

    python -m venv peer
    peer/bin/pip install torch==2.13.0        # first, so that no other build is pulled in
    peer/bin/pip install rl4co==0.7.0
    python benchmarks/peer_attention_model.py --peer peer/bin/python [--seconds 254]

It trains `AttentionModelPolicy` on uniform maps of 50 cities until the processor time is used up,
in one thread, by REINFORCE with a moving average as the baseline, as the peer's own recipe does in
its first epoch (which is longer than this). It decides on the test maps of
benchmarks/default_agents.py: one greedy tour, and the best of that and four sampled ones, after
half of the time and at the end. Gaps to the solver in percent go to
benchmarks/results/peer_attention_model.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

#: cities, and maps of each size
SIZES = {20: 20, 50: 20, 100: 20, 200: 10}
TRAINED_ON, BATCH = 50, 256
#: shares of the processor time after which it decides
MARKS = (0.5, 1.0)
SEED = 20261
RESULTS = Path(__file__).parent / "results" / "peer_attention_model.json"


def decide(maps: str, seconds: float, out: str) -> None:
    """Train in the peer's environment; tours (5, maps, cities) per size at every mark."""
    import torch
    from rl4co.envs import TSPEnv
    from rl4co.models import AttentionModelPolicy
    from tensordict import TensorDict

    torch.set_num_threads(1)
    torch.manual_seed(7)
    env = TSPEnv(generator_params={"num_loc": TRAINED_ON})
    policy = AttentionModelPolicy(env_name="tsp")
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-4)
    usual, steps, used = None, 0, 0.0
    for mark in MARKS:
        policy.train()
        began = time.process_time() - used
        while used < mark * seconds:
            said = policy(env.reset(batch_size=[BATCH]), env, phase="train")
            reward = said["reward"]
            usual = reward.mean() if usual is None else 0.8 * usual + 0.2 * reward.mean()
            loss = -((reward - usual.detach()) * said["log_likelihood"]).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            steps, used = steps + 1, time.process_time() - began
        print(f"{used:.0f} s, {steps} updates, mean length {-usual:.3f}", flush=True)
        tours = _tours(policy.eval(), np.load(maps), TSPEnv, TensorDict)
        np.savez(out.format(mark), training=np.array([used, steps]), **tours)


def _tours(policy: Any, maps: Any, environment: Any, table: Any) -> dict[str, Any]:
    """A greedy tour and four sampled ones of every map."""
    import torch

    tours = {}
    with torch.inference_mode():
        for size, places in maps.items():
            env = environment(generator_params={"num_loc": int(size)})
            given = table({"locs": torch.from_numpy(places).float()}, batch_size=[len(places)])
            found = []
            for kind in ("greedy", *4 * ["sampling"]):
                said = policy(env.reset(given.clone()), env, phase="test", decode_type=kind)
                found.append(said["actions"].numpy())
            tours[size] = np.stack(found)
    return tours


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, help="Python of the peer's environment.")
    parser.add_argument("--seconds", type=float, default=254.0, help="Of training, processor time.")
    parser.add_argument("--decide", nargs=2, metavar=("MAPS", "OUT"), help="In the peer's own.")
    arguments = parser.parse_args()
    if arguments.decide:
        decide(arguments.decide[0], arguments.seconds, arguments.decide[1])
        return
    if arguments.peer is None:
        parser.error("--peer is missing; see the beginning of this file")
    from default_agents import instance_of

    from lagco.problems.tsp.env import TSP
    from lagco.store import readable_json, write_atomically

    instances = {
        size: [instance_of("tsp", size, SEED, index) for index in range(count)]
        for size, count in SIZES.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        maps, out = Path(folder, "maps.npz"), str(Path(folder, "tours-{}.npz"))
        places = {}
        for size, listed in instances.items():
            unit = [one.array("coordinates") / one.params["max_coord"] for one in listed]
            places[str(size)] = np.stack(unit)
        np.savez(maps, **places)
        command = [str(arguments.peer), __file__, "--seconds", str(arguments.seconds)]
        alone = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"} | {
            "OMP_NUM_THREADS": "1"
        }
        subprocess.run([*command, "--decide", str(maps), out], check=True, env=alone)
        found = [dict(np.load(out.format(mark))) for mark in MARKS]
    rows = []
    for tours in found:
        row: dict[str, Any] = dict(
            zip(("seconds", "updates"), tours["training"].tolist(), strict=True)
        )
        for size, listed in instances.items():
            gaps = np.array(
                [
                    [
                        100.0 * (TSP.evaluate_solution(one, tour) / solved(one) - 1.0)
                        for tour in five
                    ]
                    for one, five in zip(listed, tours[str(size)].swapaxes(0, 1), strict=True)
                ]
            )
            row[str(size)] = {
                "first": float(gaps[:, 0].mean()),
                "best": float(gaps.min(axis=1).mean()),
            }
        rows.append(row)
        print(row, flush=True)
    write_atomically(RESULTS, readable_json(rows))


def solved(instance: Any) -> float:
    """Length of the solver's tour."""
    return float(instance.references.solver.value)


if __name__ == "__main__":
    main()
