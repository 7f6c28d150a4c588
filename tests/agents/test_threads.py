"""Weights and decisions do not depend on the number of threads."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.inference.q_values import ActionValues
from lagco.runtime.one_thread import one_thread

_SCRIPT = """
import sys
from tests.agents.test_threads import trained_weights
print(trained_weights())
"""


def test_values_of_many_actions_do_not_depend_on_threads(rng):
    width, hidden, actions = 12, 400, 1300
    shapes = [(hidden, 2 * width), (1, hidden)]
    layers = [
        (rng.standard_normal(shape).astype(np.float32), np.zeros(shape[0], np.float32))
        for shape in shapes
    ]
    table = rng.standard_normal((actions, width)).astype(np.float32)
    sets = [ActionTables((table,), (0,), None)] * 3
    observations = rng.standard_normal((3, width)).astype(np.float32)
    q, found = ActionValues(layers, width), []
    for threads in (1, 2, 4):
        with ThreadpoolController().limit(limits=threads):
            values = q.values(observations[0], sets[0])
            found.append((values.tobytes(), q.maxima(observations, sets).tobytes()))
    assert found[0] == found[1] == found[2]


def test_one_thread_holds_inside_and_is_undone():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with ThreadpoolController().limit(limits=2):
            with one_thread():
                inside = _blas_threads()
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 2
            assert inside == {1}
            assert _blas_threads() == {2}
    finally:
        torch.set_num_threads(before)


def _blas_threads():
    found = ThreadpoolController().select(user_api="blas").info()
    return {entry["num_threads"] for entry in found}


@pytest.mark.slow
def test_training_does_not_depend_on_the_number_of_threads():
    found = [
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env=os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert found[0] == found[1] != ""


def trained_weights():
    """Digest of the weights of `iterative` after a few steps on `placement`."""
    from tests.agents.runs import trained

    folder = trained("iterative", "placement", steps=192, hidden=(400,))
    return hashlib.sha256((folder / "agent.safetensors").read_bytes()).hexdigest()
