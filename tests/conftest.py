"""Settings of all tests."""

from __future__ import annotations

import torch

# with more threads, small networks are many times slower on a busy machine
torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Start the longest test first, so that the other worker is busy meanwhile."""
    items.sort(key=lambda item: "test_wheel" not in item.nodeid)
