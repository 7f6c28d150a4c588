"""Configuration, data, versions and hardware that determined the figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lagco.agents.config import train_config
from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.report.blocks import Block, Folded, Heading, Preformatted, Shown
from lagco.report.palette import methods_in_order, problems_in_order, unit_of
from lagco.report.reading import Study, count_of, grouped
from lagco.report.sections.common import by_setting, file_part
from lagco.report.tables import Column, Table, Value, plain_columns, table
from lagco.results.measures import MEASURES, RETURN
from lagco.study import Record, paper_tables
from lagco.study.planning.search_space import paper_space
from lagco.study.records.archive import host_of, machine_names
from lagco.study.results.paper import PAPER_JUDGES, paper_parameter

#: fields that runs of one table differ in by design
_VARIED = ("method", "strategy", "seed")


def blocks(study: Study) -> Sequence[Block]:
    """Tables, all runs as a file, and the settings of the studies."""
    found: list[Block] = [
        Heading("Problems"),
        Shown(_problems(study)),
        Heading("Hyper-parameters"),
        Shown(_hyperparameters(study)),
    ]
    if study.settings:
        found += [
            Heading("Training"),
            *by_setting(study, lambda setting: [Shown(_training(study, setting))]),
            Shown(_runs(study), files_only=True),
        ]
    if study.records("data"):
        found += [Heading("Data"), Shown(_data(study))]
    found += [Heading("Versions and machines"), Shown(_versions(study)), Shown(_machines(study))]
    if study.planned:
        inner: list[Block] = []
        for name, settings in study.planned.items():
            inner += [Heading(name), Preformatted(json.dumps(settings, indent=1))]
        found.append(Folded("Settings of the studies, as they were last started", inner))
    return found


def _problems(study: Study) -> Table:
    """Components and growth of the actions of every problem, as in the paper, and ours."""
    columns = (
        *plain_columns(
            "problem",
            components="components of an action",
            growth="worst-case growth",
            hard="hard constraints",
            unit="size counts",
        ),
        Column("smallest", "smallest", "instances here"),
        Column("largest", "largest", "instances here"),
        Column("actions", "most actions", "instances here"),
    )
    described = paper_tables()["environments"]
    entries = [
        (str(record.spec["problem"]), entry)
        for record in study.records("data")
        for entry in record.result["instances"]
    ]
    rows: list[tuple[Value, ...]] = []
    for problem in problems_in_order(str(record.spec["problem"]) for record in study.records()):
        about = described.get(problem)
        ours = [entry for name, entry in entries if name == problem]
        sizes = [int(entry["size"]) for entry in ours]
        actions = [int(e["extents"]["actions"]) for e in ours if "actions" in e["extents"]]
        rows.append(
            (
                problem,
                None if about is None else "; ".join(about["components"]),
                None if about is None else about["growth"],
                None if about is None else "yes" if about["hard"] else "no",
                unit_of(problem),
                min(sizes, default=None),
                max(sizes, default=None),
                max(actions, default=None),
            )
        )
    caption = (
        "Action spaces of the problems. Components and worst-case growth are as the paper gives "
        "them; with hard constraints, an invalid solution scores 0. Sizes are of this study."
    )
    return table("problems", caption, columns, rows)


def _hyperparameters(study: Study) -> Table:
    """Ranges of the paper's searches, its best values, our defaults, and what was found here."""
    columns = plain_columns(
        space="search space",
        parameter="parameter",
        range="range",
        paper="paper's best",
        default="our default",
        found="found here",
    )
    found: dict[tuple[str, str], list[str]] = {}
    for record in study.records("tune"):
        for path, value in record.result["best"]["params"].items():
            problem = str(record.spec["problem"])
            place = (str(record.spec["space"]), str(path))
            found.setdefault(place, []).append(f"{_text(value)} ({problem})")
    rows: list[tuple[Value, ...]] = []
    for space, parameters in paper_tables()["search_spaces"].items():
        domains = paper_space(space).domains
        for name, entry in parameters.items():
            path = paper_parameter(space, name)
            place = entry["choices"].index(entry["best"])
            rows.append(
                (
                    space,
                    path.partition(".")[2],
                    "; ".join(_text(choice) for choice in domains[path]),
                    _text(domains[path][place]),
                    _text(_default(space, path)),
                    ", ".join(found.get((space, path), ())) or None,
                )
            )
    caption = (
        "Hyper-parameters in the paper and here. Searched: the paper's ranges. Its best values "
        "stand next to our defaults for the same method and the best of this study's own searches."
    )
    return table("hyper-parameters", caption, columns, rows)


def _default(space: str, path: str) -> Any:
    """Our default of a parameter of one of the paper's spaces."""
    section, _, name = path.partition(".")
    owners = {"shape": EncoderConfig, "pretraining": PretrainConfig}
    if section in owners:
        return getattr(owners[section](), name)
    return train_config(method=PAPER_JUDGES[space]).as_dict()[name]


def _training(study: Study, setting: str) -> Table:
    """Fields that all methods share in one column, others per method."""
    configs: dict[str, list[Mapping[str, Any]]] = {}
    for (_, method, _), records in study.runs(setting).items():
        configs.setdefault(method, []).extend(record.spec["config"] for record in records)
    methods = methods_in_order(configs)
    listed = (name for method in methods for config in configs[method] for name in config)
    rows = []
    for name in dict.fromkeys(listed):
        values = {
            method: _together(config[name] for config in configs[method] if name in config)
            for method in methods
            if any(name in config for config in configs[method])
        }
        if name in _VARIED:
            continue
        counts = Counter(values.values())
        usual = max(counts, key=lambda value: counts[value])
        others = [f"{method}: {value}" for method, value in values.items() if value != usual]
        only = "" if len(values) == len(methods) else ", ".join(values)
        rows.append((name, usual, ", ".join(others), only))
    columns = plain_columns("field", "value", "except", only="only of")
    caption = (
        "Training configuration of the runs. Methods that differ from the others are named, and "
        "those that have a field which not all have."
    )
    return table(f"training-configuration{file_part(study, setting)}", caption, columns, rows)


def _together(values: Any) -> str:
    return " or ".join(dict.fromkeys(_text(value) for value in values))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _runs(study: Study) -> Table:
    measures = (*MEASURES, RETURN)
    columns = [
        *(Column(n, n) for n in ("setting", "problem", "method", "strategy", "fold", "seed")),
        *(Column(f"unseen {m} {s}", f"{m} {s}") for m in measures for s in ("best", "first")),
        Column("delta score", "delta"),
        Column("train_s", "seconds"),
        Column("train_cpu_s", "processor seconds"),
    ]
    rows = []
    for setting in study.settings:
        for (problem, method, strategy), records in study.runs(setting).items():
            for record in records:
                unseen = record.result["summary"]["unseen"]
                rows.append(
                    (
                        setting,
                        problem,
                        method,
                        strategy,
                        int(record.spec["fold"]),
                        int(record.spec["seed"]),
                        *(unseen[m][s] for m in measures for s in ("best", "first")),
                        record.result["summary"]["delta"].get("score"),
                        record.measured.get("train_s"),
                        record.measured.get("train_cpu_s"),
                    )
                )
    caption = (
        f"All {count_of(len(rows), 'run')} as a file. One row each, with its interquartile means "
        "over unseen instances."
    )
    return table("runs", caption, columns, rows)


def _data(study: Study) -> Table:
    columns = plain_columns(
        "problem",
        "instances",
        "smallest",
        "largest",
        "seed",
        solver="solver's values",
        checksum="checksum",
    )
    names = problems_in_order(str(record.spec["problem"]) for record in study.records("data"))
    ordered = sorted(
        study.records("data"), key=lambda r: (names.index(str(r.spec["problem"])), r.name, r.key)
    )
    rows = []
    for record in ordered:
        instances = record.result["instances"]
        sizes = [int(entry["size"]) for entry in instances]
        statuses: dict[str, int] = {}
        for entry in instances:
            status = str(entry.get("solver_status") or "none")
            statuses[status] = statuses.get(status, 0) + 1
        rows.append(
            (
                str(record.spec["problem"]),
                len(instances),
                min(sizes, default=None),
                max(sizes, default=None),
                record.spec.get("seed"),
                ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())),
                str(record.result["checksum"])[:12],
            )
        )
    caption = "Data sets: sizes of their instances and what the solvers' values are worth."
    return table("data", caption, columns, rows)


def _versions(study: Study) -> Table:
    names: dict[str, dict[str, int]] = {}
    for record in study.records():
        for name, version in record.environment.items():
            text = "not installed" if version is None else str(version)
            names.setdefault(str(name), {}).setdefault(text, 0)
            names[str(name)][text] += 1
    codes = grouped(study.records(), _code)
    columns = (Column("package", "package"), Column("version", "version"))
    rows = [
        (name, ", ".join(v if len(found) == 1 else f"{v} ({n} records)" for v, n in found.items()))
        for name, found in sorted(names.items())
    ]
    rows.append(("code hashes", ", ".join(f"{h[:12]} ({len(r)})" for h, r in codes.items())))
    caption = (
        "Versions that the records were computed with. A code hash covers the source files that a "
        "task uses, one per problem; several per problem mean that code changed between records."
    )
    return table("versions", caption, columns, rows)


def _code(record: Record) -> str:
    return str(record.spec["code"]["hash"])


def _machines(study: Study) -> Table:
    names = machine_names(study.records())
    found = grouped(study.records(), lambda r: (names[host_of(r)], *_hardware(r)))
    columns = plain_columns(
        host="machine",
        cpu="processor",
        cores="cores",
        memory_gib="memory, GiB",
        records="records",
        hours="hours",
        cpu_hours="CPU hours",
        first="first finished",
        last="last finished",
    )
    rows = []
    for about, records in sorted(found.items(), key=lambda entry: str(entry[0])):
        times = sorted(str(record.measured.get("finished", "")) for record in records)
        spent = (
            sum(float(record.measured.get(name) or 0.0) for record in records) / 3600
            for name in ("seconds", "cpu_s")
        )
        rows.append((*about, len(records), *spent, *(_minute(t) for t in (times[0], times[-1]))))
    caption = (
        "Machines that the records were computed on. Hours by the clock and of processor time are "
        "sums over tasks; times are in UTC."
    )
    return table("machines", caption, columns, rows)


def _hardware(record: Record) -> tuple[str, int | None, int | None]:
    measured = record.measured
    return str(measured.get("cpu", "unknown")), measured.get("cores"), measured.get("memory_gib")


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
