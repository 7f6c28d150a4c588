"""What was measured, as the tables of docs/results/service.md."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.service.running import ROOT

RECORDS = ROOT / "benchmarks" / "results" / "service.json"
PAGE = ROOT / "docs" / "results" / "service.md"
_BLOCK = re.compile(r"(<!-- service: ([a-z]+) -->\n\n).*?(\n\n<!-- /service -->)", re.S)


def published(text: str, records: dict[str, Any]) -> str:
    """The page with its tables written anew."""

    def table(match: re.Match[str]) -> str:
        record = records.get(match[2])
        return match[0] if record is None else match[1] + TABLES[match[2]](record) + match[3]

    return _BLOCK.sub(table, text)


def load_table(record: dict[str, Any]) -> str:
    """Saturation, half of it, four times as much."""
    full, half, storm = (record[name] for name in ("saturated", "half", "four times"))
    rate, seen = full["decisions_per_second"], (full["wrk"], half, storm)
    parts = (full, half, storm)
    rows = {
        "": ["saturated", "half of it", "four times"],
        "seconds": [f"{_seconds(full):.0f}", *(f"{one['seconds']:.0f}" for one in parts[1:])],
        "decisions asked per second": [f"{times * rate:.0f}" for times in (1, 0.5, 4)],
        "answered with a decision": [_all(full["wrk"]), _share(half), _share(storm)],
        "median, ms": [f"{one['median_ms']:.1f}" for one in seen],
        "99th percentile, ms": [f"{one['p99_ms']:.1f}" for one in seen],
        "decisions within 50 ms": ["", *(f"{one['within_deadline']:.2%}" for one in parts[1:])],
        "later than 70 ms, refusals included": ["", _late(half), _late(storm)],
        "slowest, ms": [f"{one['slowest_ms']:.0f}" for one in seen],
        "the server's share of a core": [f"{one['server_share_of_a_core']:.0%}" for one in parts],
        "memory of all processes, MiB: before, at most in each half": ["", "", _memory(storm)],
    }
    lines = ["| " + " | ".join((name, *cells)) + " |" for name, cells in rows.items()]
    return "\n".join([lines[0], "| --- | ---: | ---: | ---: |", *lines[1:]])


def kills_table(record: dict[str, Any]) -> str:
    """Kills and what became of requests."""
    return _pairs(
        ("kills of server or worker, at random", f"{record['kills']} in {record['seconds']} s"),
        ("requests that were answered", str(record["requests"])),
        ("not answered to clients that retry", str(record["unanswered"])),
        ("acknowledged and lost", str(record["lost"])),
        ("zombies", str(record["zombies"])),
        ("replay of the log", record["audit"]),
    )


def hostile_table(record: dict[str, Any]) -> str:
    """Files that were tampered with, and requests drawn from the description."""
    statuses = ", ".join(f"{count} x {status}" for status, count in record["statuses"].items())
    memory, cases = record["memory_mib"], record.get("schemathesis")
    rows = [
        ("files that were tampered with", str(record["uploads"])),
        ("statuses", statuses),
        ("slowest answer, ms", f"{record['slowest_ms']:.0f}"),
        ("workers lost", f"{record['workers_lost']:.0f}"),
        ("memory of all processes, MiB", f"{memory[0]:.0f} to {memory[1]:.0f}"),
    ]
    if cases is not None:
        rows.append(("cases of schemathesis", f"{cases['cases']}, {cases['outcome']}"))
    return _pairs(*rows)


TABLES = {"load": load_table, "kills": kills_table, "hostile": hostile_table}


def _pairs(*rows: tuple[str, str]) -> str:
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)])


def _all(wrk: dict[str, Any]) -> str:
    return f"{1.0 - wrk['refused'] / wrk['requests']:.1%} of all requests"


def _share(part: dict[str, Any]) -> str:
    return f"{part['answers'] / sum(part['statuses'].values()):.1%}"


def _seconds(part: dict[str, Any]) -> float:
    """How long wrk asked."""
    return float(part["wrk"]["requests"] / part["wrk"]["requests_per_second"])


def _memory(part: dict[str, Any]) -> str:
    before, *later = part["memory_mib"]
    halves = later[: len(later) // 2], later[len(later) // 2 :]
    return ", ".join(f"{most:.0f}" for most in (before, *(max(half) for half in halves if half)))


def _late(part: dict[str, Any]) -> str:
    return f"{part['beyond_spare']} of {sum(part['statuses'].values())}"
