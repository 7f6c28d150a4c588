"""Timed training runs: the seconds of a whole training, as the paper reports them.

The agent is trained as in a run of the generalisation study but not tested, and a study of them
does one at a time, so that nothing slows it down.
"""

from __future__ import annotations

import time

from lagco.study.records.ledger import significant
from lagco.study.running.worker import Context, Outcome
from lagco.study.tasks.run import train_agent


def do(context: Context) -> Outcome:
    """Train the agent, on one thread."""
    import torch

    torch.set_num_threads(1)
    began = time.process_time()
    agent, rows = train_agent(context)
    train_cpu_s = time.process_time() - began
    training = agent.description["training"]
    train_s = float(rows[-1]["seconds"])
    result = {
        "training": {name: training[name] for name in ("steps", "instances", "sizes")},
        "weights": agent.description["sha256"],
    }
    measured = {
        "train_s": round(train_s, 2),
        "train_cpu_s": round(train_cpu_s, 2),
        "steps_per_s": significant(training["steps"] / train_s if train_s else None, 4),
    }
    return result, measured
