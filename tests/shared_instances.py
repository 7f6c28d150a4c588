"""Instance files that tests share: small ones of every problem, and real ones.

The real ones may lie beside the repository; tests that need one skip without it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
#: a small file of every problem, in that folder
FILES = {
    "tsp": "towns.tsp",
    "min-vertex": "kite.gr",
    "max-cut": "ring.rud",
    "ospf": "islands.txt",
    "traffic": "islands.xml",
    "placement": "cluster.json",
    "cyber-path": "office.json",
}
FOLDER = Path(__file__).resolve().parents[2] / "shared" / "instances"


def shared_instance(name: str) -> Path:
    """Path of a shared instance file."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no shared instance {name}")
    return path
