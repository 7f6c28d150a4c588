"""Limits of a worker process, set by the operating system before it sees anything of a user's."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

_MIB = 1 << 20
#: what a worker gives way to server and clients
_NICENESS = 5


def confine(max_memory: int) -> None:
    """Limit the memory of this process, and let it write no core files.

    Args:
        max_memory: MiB beyond what it has now.
    """
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = _data_bytes() + max_memory * _MIB
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    if highest == resource.RLIM_INFINITY or most <= highest:
        resource.setrlimit(resource.RLIMIT_DATA, (most, highest))


def _data_bytes() -> int:
    """Bytes that the system counts as this process's data; 0 where it does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0
