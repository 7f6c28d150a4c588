"""Settings of all tests."""

from __future__ import annotations

import os
import tempfile

import hypothesis
import torch

# with more threads, small networks are many times slower on a busy machine
torch.set_num_threads(1)

# the same examples in every run, however long they take
hypothesis.settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("fixed")

#: variables of the user's that change what commands print
for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
    os.environ.pop(name, None)


def pytest_configure(config):
    """Keep encoders and text vectors in a folder of this run, not in the user's cache."""
    if not hasattr(config, "workerinput"):  # workers get the variables of the main process
        folder = tempfile.TemporaryDirectory(prefix="lagco-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ["LAGCO_CACHE"] = folder.name


def pytest_collection_modifyitems(items):
    """Start the longest test first, so that the other worker is busy meanwhile."""
    items.sort(key=lambda item: "test_wheel" not in item.nodeid)
