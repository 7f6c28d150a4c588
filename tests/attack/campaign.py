"""Many mutants of a kind, each determined by kind, seed and number."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path

from tests.attack.judge import Finding, try_mutant
from tests.attack.kinds import variants


def attack(kind, count, seed, first=0, keep=None):
    """Try mutants `first` to `first + count`.

    Args:
        kind: of :data:`tests.attack.kinds.KINDS`.
        count: number of mutants.
        seed: of all of them.
        first: number of the first.
        keep: folder for the files of those that are failures.

    Returns:
        How many were refused, same or other; and per failure its number and the reason.
    """
    outcomes, findings = Counter(), []
    with tempfile.TemporaryDirectory(prefix="attack") as root:
        for number in range(first, first + count):
            rng = random.Random(f"{kind}/{seed}/{number}")
            chosen = rng.choice(variants(kind))
            _ = chosen.behaviour
            files, sealed = chosen.mutant(rng)
            folder = Path(root) / f"mutant-{number}"
            chosen.write(folder, files)
            try:
                outcomes[try_mutant(chosen, folder, sealed)] += 1
            except Finding as finding:
                outcomes["failed"] += 1
                findings.append((number, str(finding)))
                if keep is not None:
                    chosen.write(Path(keep) / kind / f"{seed}-{number}", files)
            _remove(folder)
    return outcomes, findings


def _remove(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()
