"""One solver on one instance, in the solver's own environment; lagco is not needed here.

    python tsp.py SOLVER INSTANCE SECONDS ANSWER

INSTANCE is a JSON file with the arrays of an instance, ANSWER the JSON file that is written.
Imports, reading and what a solver takes as its input (a table of distances, a model) come before
its time begins.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
#: takes the seconds, gives `solution` and what else is known: `bound`, `proven`
Solver = Callable[[float], dict[str, Any]]


def answer(solvers: Mapping[str, Callable[[Arrays], Solver]]) -> None:
    """Let the solver that is named on the command line answer."""
    name, instance, seconds, out = sys.argv[1:]
    given = json.loads(Path(instance).read_text("utf-8"))
    solve = solvers[name]({key: np.array(values) for key, values in given.items()})
    began, used = time.perf_counter(), time.process_time()
    found = solve(float(seconds))
    took, used = time.perf_counter() - began, time.process_time() - used
    solution = found.pop("solution", None)
    if solution is not None:
        solution = np.asarray(solution).tolist()
    written = {"solution": solution, "took": took, "processor": used, **found}
    Path(out).write_text(json.dumps(written), "utf-8")
