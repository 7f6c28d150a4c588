"""The benchmark's records, and that its searches agree."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lagco.bench.decoding import STRUCTURES, VALIDITIES, bench_decode

KEYS = {
    "structure", "actions", "metric", "validity", "ours_us", "flat_build_us", "flat_query_us",
    "agree",
}  # fmt: skip


@pytest.mark.parametrize("flat_gb", [1.0, 0.0])
def test_records(flat_gb):
    if flat_gb:
        pytest.importorskip("faiss")
    records = bench_decode(actions=[100, 10_000], repeats=2, dimension=4, flat_gb=flat_gb)
    assert len(records) == 2 * 3 * len(STRUCTURES) * len(VALIDITIES)
    for record in records:
        assert set(record) == KEYS
        assert record["agree"] is True
        assert record["ours_us"] > 0
        assert (record["flat_build_us"] is None) == (flat_gb == 0.0)


def test_importing_the_package_loads_neither_compiled_loops_nor_index():
    code = (
        "import sys, lagco; before = set(sys.modules); "
        "import lagco.search, lagco.bench.decoding; new = set(sys.modules) - before; "
        "print([m for m in ('faiss', 'torch', 'numba', 'lagco.search.products.kernels') if m in new])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
