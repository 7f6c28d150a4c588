"""Many mutants of a kind, each determined by kind, seed and number."""

from __future__ import annotations

import random
import shutil
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
            odd = chosen.odd(rng)
            chosen.write(folder, chosen.files if odd else files)
            if odd:
                odd.make(folder)
            try:
                outcome = try_mutant(chosen, folder, sealed or odd is not None)
                if odd and outcome != "refused" and chosen.stays_inside and "link" in odd.kind:
                    raise Finding(f"a link was followed ({outcome})")
                outcomes[outcome] += 1
            except Finding as finding:
                outcomes["failed"] += 1
                findings.append((number, f"{odd}: {finding}" if odd else str(finding)))
                if keep is not None:
                    chosen.write(Path(keep) / kind / f"{seed}-{number}", files)
            shutil.rmtree(folder)
            shutil.rmtree(folder.with_name(f"{folder.name}-kept"), ignore_errors=True)
    return outcomes, findings
