"""RL4CO's attention model, trained for the processor time of our `tsp` agent, on the same maps.

The peer lives in an environment of its own and is no dependency of lagco:

    python -m venv peer
    peer/bin/pip install torch==2.13.0        # first, so that no other build is pulled in
    peer/bin/pip install rl4co==0.7.0
    python benchmarks/peer_attention_model.py --peer peer/bin/python [--seconds 254]

It trains `AttentionModel` on uniform maps of 50 cities with its default settings (REINFORCE with a
rollout baseline) until the processor time is used up, one thread, and decides on the test maps of
benchmarks/default_agents.py: one greedy tour, and the best of that and four sampled ones. Gaps to
the solver in percent go to benchmarks/results/peer_attention_model.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

#: cities, and maps of each size
SIZES = {20: 20, 50: 20, 100: 20, 200: 10}
TRAINED_ON = 50
SEED = 20261
RESULTS = Path(__file__).parent / "results" / "peer_attention_model.json"


def decide(maps: str, seconds: float, out: str) -> None:
    """Train and decide, in the peer's environment: tours (5, maps, cities) per size."""
    import torch
    from lightning.pytorch.callbacks import Callback
    from rl4co.envs import TSPEnv
    from rl4co.models import AttentionModel
    from rl4co.utils import RL4COTrainer
    from tensordict import TensorDict

    torch.set_num_threads(1)
    torch.manual_seed(7)

    class Stop(Callback):
        """Ends the training when its processor time is over."""

        steps = 0

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            self.steps += 1
            if time.process_time() - began > seconds:
                trainer.should_stop = True

    env = TSPEnv(generator_params={"num_loc": TRAINED_ON})
    model = AttentionModel(
        env,
        batch_size=256,
        train_data_size=12_800,
        val_data_size=256,
        val_batch_size=256,
        optimizer_kwargs={"lr": 1e-4},
        dataloader_num_workers=0,
    )
    stop = Stop()
    trainer = RL4COTrainer(
        max_epochs=10_000,
        accelerator="cpu",
        devices=1,
        callbacks=[stop],
        logger=None,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
        limit_val_batches=0,
    )
    began = time.process_time()
    trainer.fit(model)
    trained = time.process_time() - began
    policy = model.policy.eval()
    tours: dict[str, Any] = {}
    began = time.process_time()
    with torch.inference_mode():
        for size, places in np.load(maps).items():
            locations = torch.from_numpy(places).float()
            given = TensorDict({"locs": locations}, batch_size=[len(locations)])
            found = []
            for episode in range(5):
                state = TSPEnv(generator_params={"num_loc": int(size)}).reset(given.clone())
                kind = "greedy" if episode == 0 else "sampling"
                said = policy(state, env, phase="test", decode_type=kind, return_actions=True)
                found.append(said["actions"].numpy())
            tours[size] = np.stack(found)
    tours["seconds"] = np.array([trained, time.process_time() - began])
    tours["steps"] = np.array([stop.steps])
    np.savez(out, **tours)


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
        maps, out = Path(folder, "maps.npz"), Path(folder, "tours.npz")
        places = {}
        for size, listed in instances.items():
            unit = [one.array("coordinates") / one.params["max_coord"] for one in listed]
            places[str(size)] = np.stack(unit)
        np.savez(maps, **places)
        command = [str(arguments.peer), __file__, "--seconds", str(arguments.seconds)]
        alone = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        subprocess.run([*command, "--decide", str(maps), str(out)], check=True, env=alone)
        tours = dict(np.load(out))
    rows: dict[str, Any] = {
        "training": {"seconds": float(tours["seconds"][0]), "steps": int(tours["steps"][0])},
        "deciding": {"seconds": float(tours["seconds"][1])},
    }
    for size, listed in instances.items():
        gaps = np.empty((5, len(listed)))
        for number, instance in enumerate(listed):
            known = instance.references.solver
            assert known is not None
            for episode in range(5):
                value = TSP.evaluate_solution(instance, tours[str(size)][episode, number])
                gaps[episode, number] = 100.0 * (value / known.value - 1.0)
        best = gaps.min(axis=0)
        rows[str(size)] = {"first": float(gaps[0].mean()), "best": float(best.mean())}
        print(f"{size} cities: {gaps[0].mean():.2f} / {best.mean():.2f}", flush=True)
    write_atomically(RESULTS, readable_json(rows))
    print(json.dumps(rows["training"]))


if __name__ == "__main__":
    main()
