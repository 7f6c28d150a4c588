"""Settings of all tests."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import hypothesis
import pytest
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

# a run in the background may have been started to ignore them, which tests of signals would inherit
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config):
    """Keep encoders and text vectors in a folder of this run, not in the user's cache."""
    if not hasattr(config, "workerinput"):  # workers get the variables of the main process
        folder = tempfile.TemporaryDirectory(prefix="lagco-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ["LAGCO_CACHE"] = folder.name


def pytest_collection_modifyitems(items):
    """Start the longest test first, so that the other worker is busy meanwhile."""
    items.sort(key=lambda item: "test_wheel" not in item.nodeid)


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium; tests that need it are skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no Chromium; on Debian: apt install chromium")
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()
