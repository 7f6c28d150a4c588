"""Numbers as people read them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.problems.placement.generator import draw_cloud
from lagco.results.numbers import of_things


@pytest.mark.parametrize(
    ("number", "things", "said"),
    [
        (1, "instances", "1 instance"),
        (2, "instances", "2 instances"),
        (0, "parallel links", "0 parallel links"),
        (1, "cities", "1 city"),
        (1, "entries", "1 entry"),
        (2, "cities", "2 cities"),
    ],
)
def test_count_and_unit_agree(number, things, said):
    assert of_things(number, things) == said


def test_messages_agree_too():
    with pytest.raises(InstanceError, match=re.escape("1 VM and 3 PMs are too few")):
        draw_cloud(np.random.default_rng(0), n_vms=1, n_pms=3)
