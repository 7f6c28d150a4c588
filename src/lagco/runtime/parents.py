"""Worker processes that end with the process which they work for, however that ended."""

from __future__ import annotations

import os
import threading
import time

#: seconds between looks at the parent process
_LOOK = 1.0
_watching: set[int] = set()


def end_with(parent: int) -> None:
    """End this process when its parent has ended; nothing if it is that process itself."""
    if parent in _watching or os.getpid() == parent:
        return
    _watching.add(parent)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
