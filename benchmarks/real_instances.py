"""Answers on real instance files: agent, solver and portfolio side by side.

    python benchmarks/real_instances.py FOLDER [--seconds 2] [--long 60] [--only tsplib] [--again]
                                        [--files Geant,G1] [--results FILE]

Byte code and compiled code are kept between the calls, as in an installation.

FOLDER has one subfolder per collection; files `optima.txt` and `best_known.txt` in them hold known
values as in `berlin52 : 7542`. Every answer is a call of the command `lagco solve` on one core, its
time counted from the start of the command to its end; in processor seconds, which are those of the
clock where nothing else runs (`--clock` counts by the clock). Topologies are answered as `ospf` and
as `traffic`. What is not known is compared with the best value of these runs and of all longer
ones there are, of which `--long` makes one more per file, of the portfolio. Results go to
benchmarks/results/real_instances.json or `--results`; nothing is computed twice, so the command can
be stopped and given again. `--again` forgets the answers of `--seconds` and keeps the longer
ones.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lagco.instances.formats import read
from lagco.problems import problem_class
from lagco.results.measures import gap, improvement
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "real_instances.json"
BY = ("agent", "solver", "portfolio")
_NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"
_NO_INSTANCE = {"optima.txt", "best_known.txt", "README.md"}


def known_values(folder: Path) -> dict[str, float]:
    """Name to value, as in `berlin52 : 7542`."""
    found: dict[str, float] = {}
    for path in folder.glob("*.txt"):
        if path.name in _NO_INSTANCE:
            for name, value in re.findall(r"(\w+)\W+(\d+)", path.read_text()):
                found[name] = float(value)
    return found


def files_of(folder: Path) -> Iterator[tuple[Path, str, int]]:
    """Every file, the problem as which it is answered, and its size."""
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        if path.name in _NO_INSTANCE or path.suffix == ".tour":
            continue
        instance = read(path)
        yield path, instance.problem, instance.size
        if instance.problem == "ospf":
            yield path, "traffic", read(path, "traffic").size


#: the command with a clock that counts its processor seconds
_BY_PROCESSOR = """
import time
time.perf_counter = time.process_time
from lagco.cli import main
main()
"""


def answer(path: Path, problem: str, by: str, seconds: float, clock: bool) -> dict[str, Any]:
    """What the command answers, and how long it took."""
    words = ["solve", str(path), "--problem", problem, "--by", by, "--seconds", str(seconds)]
    command = ["-m", "lagco"] if clock else ["-c", _BY_PROCESSOR]
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command, *words, "--json"],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != _NO_BYTE_CODE},
    )
    took = time.perf_counter() - began
    if not clock:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    if done.returncode:
        raise SystemExit(f"{path}, {by}: {done.stderr}")
    found = json.loads(done.stdout)
    assert found["valid"], path
    kept = {name: found[name] for name in ("objective", "bound", "by", "found_after")}
    return kept | {"took": round(took, 2)}


def measured(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One entry per file and problem: the answers, and what they are compared with."""
    kept = arguments.results
    results = json.loads(kept.read_text()) if kept.exists() else {}
    entries = []
    for folder in sorted(path for path in arguments.folder.iterdir() if path.is_dir()):
        if arguments.only and folder.name not in arguments.only.split(","):
            continue
        if arguments.again:
            for key in [key for key in results if key.startswith(f"{folder.name}/")]:
                if key.endswith(f"/{arguments.seconds:g}"):
                    del results[key]
        known = known_values(folder)
        for path, problem, size in files_of(folder):
            if not path.name.startswith(tuple(arguments.files.split(","))):
                continue
            maximise = problem_class(problem).maximise
            wanted = [(by, arguments.seconds) for by in BY]
            if path.stem not in known and arguments.long:
                wanted.append(("portfolio", arguments.long))
            about, answers = f"{folder.name}/{path.name}/{problem}/", {}
            for by, seconds in wanted:
                key = f"{about}{by}/{seconds:g}"
                if key not in results:
                    results[key] = answer(path, problem, by, seconds, arguments.clock)
                    write_atomically(kept, readable_json(results))
                answers[by, seconds] = results[key]
            values = [found["objective"] for k, found in results.items() if k.startswith(about)]
            best = known.get(path.stem, (max if maximise else min)(values))
            entries.append(
                {
                    "file": path.name,
                    "problem": problem,
                    "size": size,
                    "best": best,
                    "known": path.stem in known,
                    "maximise": maximise,
                    **{by: answers[by, arguments.seconds] for by in BY},
                }
            )
    return entries


def row(entry: dict[str, Any]) -> str:
    """One row of the table."""
    cells = [entry["file"], entry["problem"], str(entry["size"])]
    cells.append(f"{entry['best']:.6g}" + ("" if entry["known"] else " (best here)"))
    for by in BY:
        share = behind(entry, by)
        cells.append(f"{entry[by]['objective']:.6g} ({share:.2f} %)")
    found = entry["portfolio"]
    bound = "-" if found["bound"] is None else f"{found['bound']:.6g}"
    cells += [found["by"], bound, f"{max(entry[by]['took'] for by in BY):.1f}"]
    return f"| {' | '.join(cells)} |"


def behind(entry: dict[str, Any], by: str) -> float:
    """How far an answer is behind the best value, in percent of it."""
    found = gap(entry[by]["objective"], entry["best"], maximise=entry["maximise"])
    return round(found or 0.0, 6) + 0.0


def main() -> None:
    """Measure what is missing, print the table and what it says about the portfolio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--long", type=float, default=0.0, help="Seconds of a longer run.")
    parser.add_argument("--clock", action="store_true", help="Count by the clock.")
    parser.add_argument("--only", help="Subfolders, with commas.")
    parser.add_argument("--files", default="", help="Beginnings of files' names, with commas.")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--again", action="store_true", help="Answer everything once more.")
    entries = measured(parser.parse_args())
    columns = ("file", "problem", "size", "best", *BY, "found by", "bound", "seconds")
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    print("\n".join(row(entry) for entry in entries))
    changes = [
        improvement(e["portfolio"]["objective"], e["solver"]["objective"], maximise=e["maximise"])
        for e in entries
    ]
    open_ = [change for e, change in zip(entries, changes, strict=True) if behind(e, "solver") > 0]
    slack = 1e-9
    print(
        f"\nportfolio against solver: better on {sum(c > slack for c in changes)}, worse on "
        f"{sum(c < -slack for c in changes)} of {len(entries)}; the solver is not at the best "
        f"value on {len(open_)}, the portfolio is better on {sum(c > slack for c in open_)} of them"
    )


if __name__ == "__main__":
    main()
