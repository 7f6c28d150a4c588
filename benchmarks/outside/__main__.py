"""Answers of lagco beside those of solvers by others, at equal time.

    python -m venv OUTSIDE
    OUTSIDE/bin/pip install elkai fast-tsp ortools dwave-samplers chszlablib scipy networkx
    python -m benchmarks.outside --python OUTSIDE/bin/python [--folder FOLDER] [--problems tsp,…]
    python -m benchmarks.outside --publish

None of these packages is needed by lagco. A solver may have an environment of its own
(`--python "LKH=…/bin/python"`). FOLDER has instance files in the subfolders `gset`, `sndlib`,
`sndlib_dynamic` and `repetita`; without it, instances that are drawn are all there is. Results go
to benchmarks/results/outside.json; nothing is computed twice, so the command can be stopped and
given again. `--publish` writes anew what stands between ``<!-- outside: NAME -->`` and
``<!-- /outside -->`` in the documents.
"""

from __future__ import annotations

import subprocess  # noqa: F401  (keeps the clock for its own limits)
import time

time.perf_counter = time.monotonic = time.process_time  # before lagco takes its clocks

import argparse  # noqa: E402
from pathlib import Path  # noqa: E402

from benchmarks.outside.comparisons import COMPARISONS  # noqa: E402
from benchmarks.outside.measuring import SECONDS, measure, recorded  # noqa: E402
from benchmarks.outside.tables import publish, table  # noqa: E402


def main() -> None:
    """Measure what is missing and print it, or publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], help="PATH or SOLVER=PATH")
    parser.add_argument("--folder", type=Path, help="Folder of instance files.")
    parser.add_argument("--problems", default=",".join(COMPARISONS))
    parser.add_argument("--seconds", default=",".join(f"{limit:g}" for limit in SECONDS))
    parser.add_argument("--only", default="", help="Beginning of the names of groups.")
    parser.add_argument("--publish", action="store_true")
    arguments = parser.parse_args()
    if arguments.publish:
        publish(recorded())
        return
    named = [given.rpartition("=")[::2] for given in arguments.python]
    interpreters = {"": "python"} | dict(named)
    for name in arguments.problems.split(","):
        limits = [float(limit) for limit in arguments.seconds.split(",")]
        measure(COMPARISONS[name], arguments.folder, interpreters, limits, arguments.only)
        print(table(recorded(), COMPARISONS[name]))


if __name__ == "__main__":
    main()
