"""Records of the ablation: values of every instance, written one after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lagco
from lagco.instances import Instance
from lagco.store import write_atomically

FOLDER = Path(__file__).resolve().parents[1] / "results"
ABLATION, ENCODINGS = FOLDER / "ablation.json", FOLDER / "encodings.json"
#: what is measured, if not the gap to the solver in percent
MEASURED = {"cyber-path": "score", "placement": "solver_score_best"}

Record = dict[str, Any]


def recorded(path: Path) -> dict[str, Record]:
    """All records of a file by their keys."""
    found: dict[str, Record] = json.loads(path.read_text()) if path.exists() else {}
    return found


def once(path: Path, key: str, make: Callable[[], Record]) -> Record:
    """The record of a key, made and written if it is not there."""
    known = recorded(path)
    if key not in known:
        made = make()
        known = recorded(path) | {key: made}  # other runs may have gone on
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(known[k])}" for k in sorted(known))
        write_atomically(path, f"{{\n{lines}\n}}\n".encode())
        shown = [
            f"{sum(v) / len(v):.3f}"
            for which in ("first", "best", "values")
            if (v := [value for value in made.get(which, ()) if value is not None])
        ]
        print(f"{key}: {' / '.join(shown)} ({made['seconds']:.1f} s)", flush=True)
    return known[key]


def measured(policy: Any, instances: Sequence[Instance], episodes: int = 5, **more: Any) -> Record:
    """First and best episode on every instance, and processor seconds of all."""
    began = time.process_time()
    found = lagco.evaluate(policy, list(instances), episodes=episodes, progress=False)
    seconds = time.process_time() - began
    measure = MEASURED.get(instances[0].problem, "gap")
    values = {
        which: [_rounded(value) for value in found.values(measure, which)]
        for which in ("first", "best")
    }
    return {**values, "seconds": round(seconds, 2), **more}


def _rounded(value: float | None) -> float | None:
    """A value as records keep it; None where there is no solution."""
    return None if value is None or abs(value) == float("inf") else round(float(value), 5)
