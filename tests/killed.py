"""Environment variables that make a process, or one of its children, die at a chosen moment."""

from __future__ import annotations

import os
from pathlib import Path


def killed_at(pattern, marker, count=1):
    """The environment in which one process is killed, by SIGKILL.

    Args:
        pattern: the process dies just before it renames a file into place whose path is like this.
        marker: a file that is not there yet; the process writes its id to it.
        count: which of these files of a process it is.
    """
    paths = [str(Path(__file__).parent / "killing"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "TEST_KILL_AT": pattern,
        "TEST_KILL_COUNT": str(count),
        "TEST_KILL_MARKER": str(marker),
    }
