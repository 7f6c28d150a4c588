"""Long versions of what the other tests do briefly: many kills, long fuzzing (`make test-all`)."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError
from lagco.instances import read
from lagco.instances.native import instance_bytes
from tests.attack.kills import COMMANDS, campaign, prepare

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_ends_the_same(name, long_inputs, tmp_path):
    kills, different = campaign(name, 4, 1, long_inputs, tmp_path)
    assert kills > 0
    assert different == 0


@pytest.fixture(scope="module")
def long_inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    prepare(folder)
    return folder


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
            instance = read(path)
        except InstanceError as error:
            refused += str(path) in str(error)
        else:
            assert instance_bytes(instance) == original
    assert refused > 15_000
