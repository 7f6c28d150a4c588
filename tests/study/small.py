"""The smallest study that has everything, and how tests run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

#: one problem, a padded and a latent method, one training instance: data, policy, encoder, two runs
SMALLEST = {
    "problems": ("tsp",),
    "methods": ("p-discrete-m", "projection"),
    "strategies": ("small",),
    "seeds": (42,),
    "steps": (384,),
    "instances": 5,
    "sizes": "5-8",
    "sweeps": 10,
    "episodes": 2,
    "config": {"rollout": 64, "envs": 2, "epochs": 1},
    "pretraining": {"states": 30, "max_steps": 5},
    "policies": ("random",),
}

SCRIPT = """
import json, sys, lagco.study
settings = json.loads(sys.argv[2])
lagco.study.generalization(sys.argv[1], **settings)
"""


class InProcess:
    """An engine that does tasks here, one after the other: no process has to start."""

    workers, children = 1, False

    def map(self, function, given):
        return map(function, given)

    def close(self):
        pass


def start(folder, workers=1, env=None, **changes):
    """The smallest study in a process, and a session, of its own."""
    settings = json.dumps(SMALLEST | {"workers": workers} | changes)
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), settings],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=(env or os.environ) | {"PYTHONUNBUFFERED": "1"},
    )


def finish(process):
    _, errors = process.communicate(
        timeout=3000
    )  # workers of Ray are niced: a busy machine is no failure
    assert process.returncode == 0, errors.decode()


def command(*arguments, cwd=None):
    """`lagco study …`, as a user types it."""
    listed = [sys.executable, "-m", "lagco", "study", *map(str, arguments)]
    return subprocess.run(listed, capture_output=True, text=True, cwd=cwd)
