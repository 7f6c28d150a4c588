"""The decision service under load, under kills, and under hostile requests.

python -m benchmarks.service load | kills | hostile [--seconds S] [--publish]

Prints what was measured. With --publish the records go to benchmarks/results/service.json, which
docs/results/service.md shows. All on loopback: service and clients share the machine.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.service.hostile import measure_hostile
from benchmarks.service.kills import measure_kills
from benchmarks.service.load import measure_load
from benchmarks.service.page import PAGE, RECORDS, published
from lagco.store import write_atomically


def main() -> None:
    """Measure one part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=("load", "kills", "hostile"))
    parser.add_argument("--seconds", type=int, default=120, help="of load or kills")
    parser.add_argument("--uploads", type=int, default=20000)
    parser.add_argument("--schemathesis", help="its command, for the part hostile")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    if given.part == "hostile":
        record = measure_hostile(given.uploads, given.schemathesis)
    else:
        record = (measure_load if given.part == "load" else measure_kills)(given.seconds)
    print(json.dumps(record, indent=1))
    if given.publish:
        records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
        records[given.part] = record
        write_atomically(RECORDS, (json.dumps(records, indent=1, sort_keys=True) + "\n").encode())
        write_atomically(PAGE, published(PAGE.read_text(), records).encode())


if __name__ == "__main__":
    main()
