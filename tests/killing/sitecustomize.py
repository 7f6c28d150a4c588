"""A kill at a chosen moment: just before a process renames a file into place.

Python imports this module at the start of every process that has this folder in ``PYTHONPATH``;
:func:`tests.killed.killed_at` says which file it is. No clock decides, so neither does the load.
"""

import os
import signal
import sys
from fnmatch import fnmatch

pattern, count, marker = (os.environ.get(f"TEST_KILL_{n}", "") for n in ("AT", "COUNT", "MARKER"))
seen = 0


def kill(event, arguments):
    global seen
    if event != "os.rename" or not fnmatch(os.fspath(arguments[1]), pattern):
        return
    seen += 1
    if seen < int(count):
        return
    try:  # one process alone
        handle = os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    os.write(handle, str(os.getpid()).encode())
    os.kill(os.getpid(), signal.SIGKILL)


if pattern:
    sys.addaudithook(kill)
