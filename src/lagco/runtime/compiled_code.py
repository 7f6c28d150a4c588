"""How code is compiled, and the folder in which it is kept from one process to the next."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
#: whether neighbouring numbers that are treated alike are treated at a time, also outside of loops
SIDE_BY_SIDE = "NUMBA_SLP_VECTORIZE"


def is_ready() -> bool:
    """Whether an earlier process has left compiled code for the next ones."""
    chosen = os.environ.get(VARIABLE)
    return any((Path(chosen) if chosen else Path(__file__).parent.parent).rglob("*.nbi"))


def prepare_compiler() -> None:
    """Let numba put neighbouring numbers into one register, unless the user has decided on it.

    It changes no result, and makes sums of rows several times faster; see
    :mod:`lagco.embedding.inference.row_sums`.
    """
    if SIDE_BY_SIDE in os.environ:
        return
    os.environ[SIDE_BY_SIDE] = "1"
    numba = sys.modules.get("numba")
    if numba is not None:  # it has read the variable already
        numba.config.SLP_VECTORIZE = 1


def choose_folder() -> None:
    """Keep compiled code in the user's cache folder where the package's own is read-only.

    Where that cannot be written either, it is kept for this process alone: a folder that others
    may write to could hold code of theirs. A folder that the user has chosen stays.
    """
    if VARIABLE in os.environ or os.access(Path(__file__).parent.parent, os.W_OK):
        return
    import platformdirs

    folder = platformdirs.user_cache_path("lagco")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        writable = False
    else:
        writable = os.access(folder, os.W_OK)
    if not writable:
        import atexit
        import shutil
        import tempfile

        folder = Path(tempfile.mkdtemp(prefix="lagco-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[VARIABLE] = str(folder)
    numba = sys.modules.get("numba")
    if numba is not None:  # it has read the variable already
        numba.config.CACHE_DIR = str(folder)
