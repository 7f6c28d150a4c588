"""Long versions of what the other tests do briefly: many kills, long fuzzing (`make test-all`)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from lagco import InstanceError, read_instance
from lagco.generation import generate_instance
from lagco.instances.native import instance_bytes
from tests.agents.test_training import SCRIPT
from tests.latent.conftest import brief_encoder
from tests.test_generation import contents

pytestmark = pytest.mark.slow
ROOT = str(Path(__file__).resolve().parents[1])


def kill_at_random(command, rng, longest):
    """Start a command and kill it after a random time; True if it had finished by itself."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=rng.uniform(0.5, longest))
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def test_generation_survives_many_kills(tmp_path):
    command = [
        sys.executable,
        "-m",
        "lagco",
        "generate",
        "tsp",
        "-n",
        "30",
        "--sizes",
        "40-60",
        "--sweeps",
        "4000",
        "--workers",
        "2",
        "--json",
        "--out",
    ]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    rng = random.Random(1)
    kills = 0
    while kills < 12 and not kill_at_random([*command, str(tmp_path / "killed")], rng, 8.0):
        kills += 1
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    finished = {
        name: data
        for name, data in contents(tmp_path / "killed").items()
        if not name.endswith(".part")
    }
    assert finished == contents(tmp_path / "whole")
    assert kills > 0


@pytest.mark.parametrize("method", ["projection", "soft-projection"])
def test_training_survives_many_kills(method, tmp_path):
    brief_encoder("tsp").save(tmp_path / "encoder")

    def command(out):
        script = SCRIPT.format(
            root=ROOT, out=str(tmp_path / out), encoder=str(tmp_path / "encoder"), method=method
        )
        return [sys.executable, "-c", script]

    began = time.monotonic()
    subprocess.run(command("whole"), check=True)
    duration = time.monotonic() - began
    began = time.monotonic()
    rng = random.Random(2)
    kills = 0
    while time.monotonic() - began < 90:
        if kill_at_random(command("killed"), rng, 0.9 * duration):
            break
        kills += 1
    subprocess.run(command("killed"), check=True)
    whole, killed = (
        (tmp_path / name / "agent.safetensors").read_bytes() for name in ("whole", "killed")
    )
    assert whole == killed
    assert kills > 0


def test_damaged_instance_files_in_bulk(tmp_path):
    original = instance_bytes(generate_instance("max-cut", size=12, references="sweeps", sweeps=5))
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.npz"
    refused = 0
    for _ in range(20_000):
        content = bytearray(original)
        for _ in range(rng.integers(1, 4)):
            kind, place = rng.integers(3), int(rng.integers(len(content)))
            if kind == 0:
                content[place] ^= int(rng.integers(1, 256))
            elif kind == 1:
                del content[place : place + int(rng.integers(1, 50))]
            else:
                content[place:place] = rng.bytes(int(rng.integers(1, 20)))
        path.write_bytes(content)
        try:
            instance = read_instance(path)
        except InstanceError as error:
            refused += str(path) in str(error)
        else:
            assert instance_bytes(instance) == original
    assert refused > 15_000
