"""Real instance files that may lie beside the repository; tests that need one skip without it."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "instances"


def shared_instance(name: str) -> Path:
    """Path of a shared instance file."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no shared instance {name}")
    return path
