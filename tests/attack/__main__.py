"""A long attack: ``python -m tests.attack --kind agent --count 20000 --seed 7``."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time

from tests.attack.campaign import attack
from tests.attack.kinds import KINDS

_BATCH = 100


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="all without")
    parser.add_argument("--count", type=int, default=300, help="mutants per kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--keep", help="folder for the files of mutants that are failures")
    given = parser.parse_args()
    faulthandler.enable()
    failed = 0
    for kind in given.kind or KINDS:
        began, total = time.process_time(), {}
        for first in range(given.first, given.first + given.count, _BATCH):
            count = min(_BATCH, given.first + given.count - first)
            outcomes, findings = attack(kind, count, given.seed, first, given.keep)
            for name, number in outcomes.items():
                total[name] = total.get(name, 0) + number
            for number, reason in findings:
                print(f"{kind} --seed {given.seed} --first {number}: {reason}", flush=True)
            failed += len(findings)
        shown = ", ".join(f"{number} {name}" for name, number in sorted(total.items()))
        print(f"{kind}: {shown}; {time.process_time() - began:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
