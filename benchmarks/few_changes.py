"""Value against number of changes: greedy, solver, agent and portfolio within budgets.

    python benchmarks/few_changes.py FOLDER [--agent NAME=FOLDER] [--long 15] [--only NAME,…]
    python benchmarks/few_changes.py --page

FOLDER has files of SNDlib, REPETITA networks with their demands, and series of traffic matrices
(subfolders `sndlib`, `repetita`, `sndlib_dynamic`). What is in force: the weights in the file, unit
weights where it has none; of a series the weights that the solver found for the matrix two hours
before. Every answer is a call of `lagco.solve` with `max_changes`, in a process in which code and
agents are loaded; its time is that of the clock, on one core of an idle machine. `--long` makes one
more run of the solver per network, with the largest budget, with which all are compared. Results go
to benchmarks/results/few_changes.json; nothing is computed twice. `--page` writes
docs/results/few-changes.md and its picture from them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from lagco.core.changes import MAX_CHANGES, judge
from lagco.core.pictures.files import save_figure
from lagco.instances import Instance
from lagco.instances.formats import read
from lagco.instances.timelines import read_series
from lagco.live.agents import default_live_agent
from lagco.live.contract import Situation
from lagco.problems.ospf import OSPF
from lagco.solving.portfolio import Limit
from lagco.store import readable_json, write_atomically

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "few_changes.json"
PAGE = ROOT / "docs" / "results" / "few-changes.md"
PICTURE = ROOT / "docs" / "figures" / "few-changes.png"
BUDGETS = (1, 3, 5)
#: the default agent plays as in `solve`; the live agent was trained for few changes
BY = ("greedy", "solver", "agent", "live agent", "portfolio")
LIVE = "live agent"
SECONDS = (0.1, 2.0)
#: matrices of a series that are asked about, and how many before the weights in force were found
SERIES = {
    "geant": ("geant-15min-20050504-05.tgz", (40, 60, 80), 8),
    "abilene": ("abilene-5min-20040301-02.tgz", (100, 200), 24),
}
#: part of the page that is written from the records
BEGIN, END = "<!-- few changes: begin -->\n", "<!-- few changes: end -->\n"


def networks(folder: Path) -> Iterator[tuple[str, Instance]]:
    """Every network by name, with the weights in force."""
    for path in sorted((folder / "sndlib").glob("*.txt")):
        yield path.stem, _in_force(read(path, "ospf"))
    for path in sorted((folder / "repetita").glob("*.graph")):
        for demands in sorted(path.parent.glob(f"{path.stem}*.demands")):
            yield f"repetita {demands.stem}", _in_force(read(path, "ospf", demands=demands))
    for name, (archive, numbers, before) in SERIES.items():
        topology = folder / "sndlib_dynamic" / f"{name}.xml"
        if topology.exists():
            instance = _in_force(read(topology, "ospf"))
            yield from _matrices(name, instance, topology.parent / archive, numbers, before)


def _in_force(instance: Instance) -> Instance:
    if "weights" in instance.arrays:
        return instance
    links = instance.array("edges").shape[1]
    return OSPF.with_present(instance, np.ones(links, dtype=np.int64))


def _matrices(
    name: str, instance: Instance, archive: Path, numbers: tuple[int, ...], before: int
) -> Iterator[tuple[str, Instance]]:
    moments = list(read_series(archive, instance))
    for number in numbers:
        earlier = OSPF.after(instance, moments[number - before].event).instance
        found = lagco.solve(earlier, by="solver", turns=60, progress=False)
        in_force = OSPF.with_present(earlier, found.solution)
        yield f"{name} {number}", OSPF.after(in_force, moments[number].event).instance


def answer(instance: Instance, by: str, agent: Any, seconds: float, most: int) -> dict[str, Any]:
    """Value and changes of one answer."""
    if by == LIVE:
        return decided(instance, seconds, most)
    options = {} if agent is None else {"agent": agent}
    found = lagco.solve(
        instance, by=by, seconds=seconds, max_changes=most, progress=False, **options
    )
    assert found.valid
    return {
        "before": found.before,
        "objective": found.objective,
        "changes": len(found.changes),
        "took": round(found.seconds, 3),
    }


def decided(instance: Instance, seconds: float, most: int) -> dict[str, Any]:
    """Value and changes of a decision of the live agent; what is worse is not put in force."""
    limited = replace(instance, params={**instance.params, MAX_CHANGES: most})
    in_force = instance.array("weights")
    limit = Limit(seconds)
    found = default_live_agent(OSPF).decide(Situation(OSPF, limited, limit, 42, 0))
    took, before = limit.elapsed(), judge(OSPF, limited, in_force)
    after = before if found is None else judge(OSPF, limited, found)
    if not after.beats(before, maximise=False):
        after = before
    return {
        "before": before.objective,
        "objective": after.objective,
        "changes": after.changes,
        "took": round(took, 3),
    }


def measure(arguments: argparse.Namespace) -> None:
    """Answer what is not in the records yet."""
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    named = dict(given.split("=", 1) for given in arguments.agent)
    everyone = {by: (by, None) for by in BY} | {n: ("agent", f) for n, f in named.items()}
    for name, instance in networks(arguments.folder):
        if arguments.only and not name.startswith(tuple(arguments.only.split(","))):
            continue
        wanted = [
            (f"{name}/{who}/{seconds:g}/{most}", by, agent, seconds, most)
            for who, (by, agent) in everyone.items()
            for seconds in SECONDS
            for most in BUDGETS
        ]
        if arguments.long:
            wanted = [
                (f"{name}/long/{arguments.long:g}/{most}", "solver", None, arguments.long, most)
                for most in BUDGETS[-1:]
            ]
        wanted = [row for row in wanted if row[0] not in records]
        if wanted:
            for by, agent in {(row[1], row[2]) for row in wanted}:
                if by == LIVE:
                    decided(instance, 1.0, 2)
                else:
                    lagco.solve(
                        instance, by=by, agent=agent, turns=2, max_changes=2, progress=False
                    )
        for key, by, agent, seconds, most in wanted:
            records[key] = answer(instance, by, agent, seconds, most)
            print(key, records[key], flush=True)
            write_atomically(RESULTS, readable_json(records))


def best_known(records: Mapping[str, Any], name: str, most: int) -> float:
    """The lowest value of any run with at most so many changes."""
    own = [found for key, found in records.items() if key.startswith(f"{name}/")]
    values = [found["objective"] for found in own if found["changes"] <= most]
    return float(min([own[0]["before"], *values]))


def behind(records: Mapping[str, Any], key: str) -> float:
    """How far a record is above the best known for its budget, in percent."""
    name, _, _, most = key.split("/")
    best = best_known(records, name, int(most))
    return 100.0 * (float(records[key]["objective"]) / best - 1.0)


def names_of(records: Mapping[str, Any]) -> list[str]:
    """Networks in the order of the records."""
    return list(dict.fromkeys(key.split("/")[0] for key in records))


def members_of(records: Mapping[str, Any]) -> list[str]:
    """Who was measured."""
    found = dict.fromkeys(key.split("/")[1] for key in records)
    return [*(who for who in BY if who in found), *(w for w in found if w not in (*BY, "long"))]


def tables(records: Mapping[str, Any]) -> str:
    """The tables of the page."""
    who = members_of(records)
    lines = []
    for seconds in SECONDS:
        lines += [f"**{seconds:g} seconds**, mean percent above the best known (largest):", ""]
        lines += ["| changes | " + " | ".join(who) + " |", "| --- |" + " --- |" * len(who)]
        for most in BUDGETS:
            cells = [str(most)]
            for member in who:
                gaps = [
                    behind(records, f"{name}/{member}/{seconds:g}/{most}")
                    for name in names_of(records)
                ]
                cells.append(f"{np.mean(gaps):.2f} ({max(gaps):.2f})")
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    lines += ["**At most 5 changes, network by network**, percent above the best known:", ""]
    columns = [f"{member}, {seconds:g} s" for seconds in SECONDS for member in who]
    lines.append("| network | in force | best known | " + " | ".join(columns) + " |")
    lines.append("| --- |" + " --- |" * (len(columns) + 2))
    for name in names_of(records):
        before = next(found for key, found in records.items() if key.startswith(f"{name}/"))
        cells = [name, f"{before['before']:.5g}", f"{best_known(records, name, 5):.5g}"]
        for seconds in SECONDS:
            cells += [f"{behind(records, f'{name}/{m}/{seconds:g}/5'):.2f}" for m in who]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def ahead(records: Mapping[str, Any]) -> str:
    """A table of how far the live agent is ahead of greedy, with intervals."""
    lines = ["**Live agent against greedy**, percent ahead (95 % interval over networks):", ""]
    lines += ["| changes | " + " | ".join(f"{seconds:g} s" for seconds in SECONDS) + " |"]
    lines += ["| --- |" + " --- |" * len(SECONDS)]
    for most in BUDGETS:
        cells = [str(most)]
        for seconds in SECONDS:
            gains = np.array(
                [
                    behind(records, f"{name}/greedy/{seconds:g}/{most}")
                    - behind(records, f"{name}/{LIVE}/{seconds:g}/{most}")
                    for name in names_of(records)
                ]
            )
            draws = np.random.default_rng(0).choice(gains, (4000, len(gains))).mean(axis=1)
            low, high = np.percentile(draws, [2.5, 97.5])
            wins, losses = int((gains > 1e-6).sum()), int((gains < -1e-6).sum())
            cells.append(
                f"{gains.mean():.2f} ({low:.2f} to {high:.2f}), {wins} better, {losses} worse"
            )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def filled(page: str, records: Mapping[str, Any]) -> str:
    """The page with the tables of the records."""
    head, _, rest = page.partition(BEGIN)
    written = f"\n{tables(records)}\n{ahead(records)}\n"
    return head + BEGIN + written + END + rest.partition(END)[2]


def draw(records: Mapping[str, Any]) -> None:
    """The picture: mean value against changes, as a share of the value in force."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    budgets = (0, *BUDGETS)
    for axes, seconds in zip(figure.subplots(1, 2, sharey=True), SECONDS, strict=True):
        for member in members_of(records):
            axes.plot(budgets, [1.0, *_shares(records, member, seconds)], "o-", label=member)
        best = [_mean_share(records, lambda n, k: best_known(records, n, k), k) for k in BUDGETS]
        axes.plot(budgets, [1.0, *best], "k:", label="best known")
        axes.set_title(f"{seconds:g} seconds", fontsize=9)
        axes.set_xlabel("changes allowed")
        axes.set_xticks(budgets)
    figure.axes[0].set_ylabel("largest utilisation, in force = 1")
    figure.axes[1].legend(fontsize=8, frameon=False)
    save_figure(figure, PICTURE)


def _shares(records: Mapping[str, Any], member: str, seconds: float) -> list[float]:
    def value(name: str, most: int) -> float:
        return float(records[f"{name}/{member}/{seconds:g}/{most}"]["objective"])

    return [_mean_share(records, value, most) for most in BUDGETS]


def _mean_share(records: Mapping[str, Any], value: Callable[[str, int], float], most: int) -> float:
    """Mean over networks of a value over what is in force."""
    before = {key.split("/")[0]: found["before"] for key, found in records.items()}
    return float(np.mean([value(name, most) / before[name] for name in names_of(records)]))


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--agent", action="append", default=[], help="NAME=FOLDER")
    parser.add_argument("--long", type=float, default=0.0, help="Seconds of a longer run.")
    parser.add_argument("--only", default="", help="Beginnings of names, with commas.")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    if arguments.page:
        records = json.loads(RESULTS.read_text())
        write_atomically(PAGE, filled(PAGE.read_text(), records).encode())
        draw(records)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
