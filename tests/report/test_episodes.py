"""Episodes of real agents, drawn; and the command."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import sys

import pytest
from PIL import Image

import lagco
import lagco.report
from lagco.study.records.ledger import RECORD
from tests.report.fabricated import Extent, file_name, write_ledger
from tests.report.markup import Markup


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A made-up ledger whose data set and one agent are real."""
    folder = tmp_path_factory.mktemp("drawn")
    ledger = write_ledger(
        folder / "study",
        Extent(
            problems=("tsp", "own.module:Problem"),
            methods=("p-discrete-m",),
            strategies=("small",),
            seeds=(42,),
            instances=6,
            missing=0,
        ),
    )
    run = json.loads(next((ledger / "records" / "run").glob("tsp-*")).read_text())
    path = next((ledger / "records" / "data").glob("tsp-*"))
    data = lagco.generate("tsp", 6, sizes="6-9", sweeps=10, out=ledger / "data" / path.stem)
    # the record's checksum is made up, so the data's own is written there
    described = json.loads(path.read_text())
    _rewrite(path, described, {"result": described["result"] | {"checksum": data.checksum}})
    spec = run["spec"] | {"data_checksum": data.checksum}
    run_path = next((ledger / "records" / "run").glob("tsp-*"))
    for row, entry in zip(run["result"]["instances"], data.entries, strict=True):
        row |= {"size": entry.size, "refused": None, "score": [0.5] * 5}
    _rewrite(run_path, run, {"spec": spec, "result": run["result"]})
    lagco.train(
        "tsp",
        [data[0]],
        ledger / "agents" / file_name(run["name"], run["key"]),
        method="p-discrete-m",
        steps=64,
        rollout=64,
        envs=2,
        pad_to=data,
    )
    return ledger


def _rewrite(path, record, changes):
    record |= changes
    own = ("format", "version", "measured", "sha256")
    content = {k: v for k, v in record.items() if k not in own}
    RECORD.write_file(path, content, record["measured"])


def pictures(page):
    return [
        attrs["src"]
        for tag, attrs in page.elements
        if tag == "img" and attrs["src"].startswith("data:image/png;base64,")
    ]


def test_an_agent_is_drawn_step_by_step(drawn, tmp_path):
    text = lagco.report.build(drawn, tmp_path / "r.html").read_text()
    page = Markup(text)
    found = pictures(page)
    assert 5 <= len(found) <= 8
    sizes = []
    for source in found:
        content = base64.b64decode(source.partition(",")[2])
        image = Image.open(io.BytesIO(content))
        assert image.size == (512, 512)
        sizes.append(len(content))
    assert len(set(found)) > 3, "the states differ"
    assert sum(sizes) < 200_000
    assert "p-discrete-m, trained on small instances with seed 42" in page.text
    assert "Step 0: objective" in page.text and "End: complete." in page.text
    slider = next(a for tag, a in page.elements if a.get("type") == "range")
    assert slider["max"] == str(len(found) - 1)
    assert "Problem: not one of lagco's problems" in page.text, "and not imported"
    assert "lagco report --problem own.module:Problem" in page.text


def test_a_damaged_agent_costs_its_film_alone(drawn, tmp_path):
    copy = shutil.copytree(drawn, tmp_path / "study")
    next(copy.glob("agents/*/agent.safetensors")).write_bytes(b"damaged")
    page = Markup(lagco.report.build(copy, tmp_path / "r.html").read_text())
    assert not pictures(page)
    assert "tsp: the episode could not be drawn (BundleError:" in page.text
    assert "agent.safetensors: damaged" in page.text


def test_the_command(drawn, tmp_path):
    command = [sys.executable, "-m", "lagco", "report", str(drawn), "--out", "page.html"]
    done = subprocess.run([*command, "--no-episodes"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "page.html" in done.stdout and "page.tables" in done.stdout
    assert "Drawing episodes was switched off" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "page.tables" / "generalization-score-best.tex").exists()
