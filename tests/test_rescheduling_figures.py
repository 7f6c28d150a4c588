"""The page about rescheduling shows the records of its benchmarks."""

import json
from pathlib import Path

import pytest

from benchmarks import arrivals, rescheduling

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "results" / "rescheduling.md").read_text()


@pytest.mark.parametrize("benchmark", [rescheduling, arrivals])
def test_tables_are_those_of_the_records(benchmark):
    records = json.loads(benchmark.RESULTS.read_text())
    for line in benchmark.table(records):
        assert f"\n{line}\n" in PAGE


def test_no_method_is_better_than_the_bound():
    for row in json.loads(rescheduling.RESULTS.read_text())["rows"]:
        for by in rescheduling.METHODS:
            assert row["bound"] - 1e-9 <= row[by]["rate"] <= row["before"] + 1e-9
            assert row[by]["moved"] <= row["migrations allowed"]
