"""Few changes under a deadline while traffic changes: agents, search and greedy.

    python -m benchmarks.live_traffic PART… [--instances FOLDER] [--out FILE] [--picture FILE]
    python -m benchmarks.live_traffic --page

PART is abilene, geant or germany50 (SNDlib's dynamic series, in FOLDER), or the number of nodes of
a generated network. Every controller decides on `ospf` with at most 3 changes per matrix, goes on
from its own last weights, and has 20 ms or 100 ms of processor time; `search` is the solver with
3 s and the same budget. Records go to benchmarks/results/live_traffic.json, part by part; the page
shows them, and those of benchmarks/live_events.py. The picture is of the first deadline.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sparse_networks import sparse_network
from lagco.instances import read
from lagco.instances.timelines import Timeline, read_series
from lagco.live import LiveResult, live
from lagco.problems.ospf import OSPF
from lagco.results.statistics import bootstrap_interval
from lagco.results.statistics import mean as average
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "live_traffic.json"
EVENTS = RESULTS.with_name("live_events.json")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "live.md"
FOLDER = Path(__file__).resolve().parents[2] / "shared" / "instances" / "sndlib_dynamic"
#: archive of each series, and every which matrix is decided on
SERIES = {
    "abilene": ("abilene-5min-20040301-02.tgz", 32),
    "geant": ("geant-15min-20050504-05.tgz", 8),
    "germany50": ("germany50-1day-200502a.tgz", 1),
}
CONTROLLERS = "hold,greedy,solver,agent,portfolio"
DEADLINES, SEARCH, CHANGES = ("20ms", "100ms"), "3s", 3
#: name of the search with much time
LONG = f"search {SEARCH}"
#: parts in the order in which the page shows them
PARTS = (*SERIES, "100", "150", "200")
#: matrices of a generated day, and seconds between them
GENERATED, STEP, SEED = 6, 7200.0, 11


def timeline_of(part: str, folder: Path) -> Timeline:
    """The matrices of a part."""
    if part.isdigit():
        network = sparse_network(int(part), SEED, share=1 / 3)
        day = OSPF.draw_timeline(network, seed=SEED, until=float("inf"), step=STEP)
        moments = list(islice(day, GENERATED))
    else:
        archive, every = SERIES[part]
        network = read(folder / f"{part}.xml", "ospf")
        moments = list(islice(read_series(folder / archive, network), 0, None, every))
    return Timeline.of(network, [(moment.time, moment.event) for moment in moments], part)


def replays(timeline: Timeline) -> Iterator[tuple[str, LiveResult]]:
    """All controllers at each deadline, and the search."""
    for deadline in (*DEADLINES, SEARCH):
        yield (
            deadline,
            live(
                timeline,
                problem="ospf",
                controllers="solver" if deadline == SEARCH else CONTROLLERS,
                deadline=deadline,
                clock="processor",
                max_changes=CHANGES,
                progress=False,
            ),
        )


def compared(values: dict[str, Any], first: str, second: str) -> dict[str, Any]:
    """By how much the first is above the second, in percent of the second, matrix by matrix."""
    above = 100.0 * (np.array(values[first]) / np.array(values[second]) - 1.0)
    low, high = bootstrap_interval(above, average)
    of_means = 100.0 * (average(values[first]) / average(values[second]) - 1.0)
    return {"of_means": of_means, "mean": average(above), "low": low, "high": high}


def measured(part: str, folder: Path, picture: Path | None) -> dict[str, Any]:
    """Table and comparisons of a part."""
    timeline = timeline_of(part, folder)
    rows, values = [], {}
    for deadline, result in replays(timeline):
        for row in result.rows():
            by = row["by"]
            row["by"] = LONG if deadline == SEARCH else f"{by} {deadline}"
            rows.append(row)
            values[row["by"]] = result.course(by)[1].tolist()
        if picture is not None and deadline == DEADLINES[0]:
            result.draw(picture)
    pairs = [
        (f"agent {deadline}", other)
        for deadline in DEADLINES
        for other in (f"greedy {deadline}", f"solver {deadline}", LONG)
    ]
    return {
        "links": timeline.instance.size,
        "nodes": timeline.instance.params["nodes"],
        "matrices": len(values[LONG]),
        "rows": rows,
        "agent": {
            f"{first} against {second}": compared(values, first, second) for first, second in pairs
        },
        "values": values,
    }


def known_parts(records: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Parts that were measured, by the name that the page gives them."""
    for part in PARTS:
        if part in records:
            yield f"{part} nodes" if part.isdigit() else part, records[part]


def table(records: Mapping[str, Any]) -> list[str]:
    """Rows of the page: a controller each, its mean also as distance to the search, in percent."""
    found = [
        "| network | decides | mean | above the search | 95 % | changes | late | ms |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for part, record in known_parts(records):
        search = next(row["mean"] for row in record["rows"] if row["by"] == LONG)
        for row in record["rows"]:
            above = 100.0 * (row["mean"] / search - 1.0)
            late = f"{row['late']} of {record['matrices']}"
            cells = [part, row["by"], f"{row['mean']:.4g}", f"{above:+.1f} %", f"{row['p95']:.4g}"]
            cells += [f"{row['changes']:.1f}", late, f"{row['milliseconds']:.1f}"]
            found.append(f"| {' | '.join(cells)} |")
    return found


def verdicts(records: Mapping[str, Any]) -> list[str]:
    """Rows of the page: the agent against another, matrix by matrix, with 95 % intervals."""
    found = [
        "| network | who | means | matrix by matrix | 95 % interval |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for part, record in known_parts(records):
        for pair, d in record["agent"].items():
            interval = f"{d['low']:+.1f} to {d['high']:+.1f}"
            cells = part, pair, f"{d['of_means']:+.1f} %", f"{d['mean']:+.1f} %", interval
            found.append(f"| {' | '.join(cells)} |")
    return found


def filled(page: str, records: Mapping[str, Any], events: Mapping[str, Any]) -> str:
    """The page with its tables as they were measured."""
    tables = {"decisions": table(records), "verdicts": verdicts(records), "events": costs(events)}
    for name, lines in tables.items():
        before, begin, rest = page.partition(f"<!-- {name}: begin -->\n")
        _, end, after = rest.partition(f"<!-- {name}: end -->")
        page = f"{before}{begin}\n{chr(10).join(lines)}\n\n{end}{after}"
    return page


def costs(events: Mapping[str, Any]) -> list[str]:
    """Rows of the page: what events cost, in microseconds."""
    found = [
        "| problem | event | instance | state of the live agent | environment | and embeddings |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for problem, kinds in events.items():
        for kind, row in kinds.items():
            shown = (f"{row[name]:.0f}" for name in ("after", "moves", "environment", "encoded"))
            found.append(f"| `{problem}` | {kind} | {' | '.join(shown)} |")
    return found


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--page", action="store_true", help="write the tables of the page")
    parser.add_argument("--instances", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if arguments.page:
        read_records = [json.loads(file.read_text()) for file in (RESULTS, EVENTS)]
        PAGE.write_text(filled(PAGE.read_text(), *read_records))
    for part in arguments.parts:
        found = measured(part, arguments.instances, arguments.picture)
        records = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
        write_atomically(arguments.out, readable_json(records | {part: found}))
        for row in found["rows"]:
            shown = {k: row[k] for k in ("by", "mean", "p95", "changes", "late", "milliseconds")}
            print(part, *(f"{k} {v:.5g}" if k != "by" else v for k, v in shown.items()), flush=True)


if __name__ == "__main__":
    main()
