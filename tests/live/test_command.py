"""`lagco live` as a user types it: tables, going on after a kill, and errors that lose nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lagco.cli import app, load_command
from lagco.cli.syntax import in_command_syntax
from lagco.core.events import Event
from lagco.errors import LagcoError
from lagco.instances.timelines import Timeline, write_timeline
from lagco.live.records import RECORDS, RUN
from lagco.problems.ospf import OSPF

NETWORK = OSPF.generate(8, seed=4)
DAY = OSPF.draw_timeline(NETWORK, seed=1, until=1500.0, failures=0.3)
WORDS = ("--turns", "3", "--max-changes", "2")

#: dies of a signal in its third decision, the first time
DEADLY = f"""
import os
from pathlib import Path

class Deadly:
    name = "deadly"

    def decide(self, situation):
        marker = Path(__file__).with_name("died")
        if situation.number == 2 and not marker.exists():
            marker.write_text("")
            os.kill(os.getpid(), {int(signal.SIGKILL)})
        return None
"""


def run(*words):
    result = CliRunner().invoke(app, ["live", *map(str, words)], env={"COLUMNS": "200"})
    if isinstance(result.exception, LagcoError):
        message = in_command_syntax(str(result.exception), load_command("live"), words)
        return 1, result.output, message
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output, result.stderr


@pytest.fixture
def day(tmp_path):
    path = tmp_path / "day.jsonl"
    write_timeline(DAY, path)
    return path


def test_a_replay_prints_a_table_and_leaves_records_table_and_picture(day, tmp_path):
    out = tmp_path / "run"
    code, shown, _ = run(day, "--controllers", "hold,greedy", "--out", out, *WORDS)
    assert code == 0
    assert "regret %" in shown and "greedy" in shown
    assert {p.name for p in out.iterdir()} >= {RUN, RECORDS, "table.csv", "day.png"}
    assert (out / "day.png").read_bytes().startswith(b"\x89PNG")
    assert len((out / RECORDS).read_text().splitlines()) == 2 * 6
    code, shown, _ = run(day, "--controllers", "hold,greedy", "--out", out, *WORDS, "--json")
    table = json.loads(shown)["table"]
    assert [row["by"] for row in table] == ["hold", "greedy"]
    assert table[1]["mean"] < table[0]["mean"]


def test_a_killed_replay_goes_on_and_ends_equal(day, tmp_path):
    (tmp_path / "deadly.py").write_text(DEADLY)
    command = [sys.executable, "-m", "lagco", "live", "day.jsonl", *WORDS]
    command += ["--controllers", "greedy,deadly:Deadly", "--out"]
    codes = [
        subprocess.run([*command, out], cwd=tmp_path, capture_output=True).returncode
        for out in ("killed", "killed", "whole")
    ]
    assert codes == [-signal.SIGKILL, 0, 0]
    for name in (RUN, RECORDS, "table.csv"):
        killed, whole = ((tmp_path / out / name).read_text() for out in ("killed", "whole"))
        if name == "table.csv":  # without the time that decisions took
            killed, whole = (
                [line.split(",")[:9] for line in text.splitlines()] for text in (killed, whole)
            )
        assert killed == whole


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"time": 3000, "event": "matr', "broken, no JSON"),
        ('{"time": 10.0, "event": "matrix", "volumes": []}', "time runs backwards"),
        ('{"time": 3000, "event": "matrix", "volumes": [["1", "Z", 2.0]]}', "unknown node 'Z'"),
        ('{"time": 3000, "event": "nodedown", "node": "1"}', "did you mean 'node-down'"),
    ],
)
def test_a_wrong_line_is_named_and_the_decisions_before_it_are_kept(day, tmp_path, line, reason):
    number = len(day.read_text().splitlines()) + 1
    day.write_text(day.read_text() + line + "\n")
    out = tmp_path / "run"
    code, _, errors = run(day, "--controllers", "hold", "--out", out, *WORDS)
    assert code == 1
    assert f"day.jsonl, line {number}: " in errors and reason in errors
    assert (
        len((out / RECORDS).read_text().splitlines()) >= 5
    )  # of the last time more events could have come
    day.write_text(day.read_text().replace(line + "\n", ""))
    assert run(day, "--controllers", "hold", "--out", out, *WORDS)[0] == 0


def test_an_event_for_a_dead_element_is_named(tmp_path):
    path = tmp_path / "dead.jsonl"
    moments = [(0.0, Event("node-down", node="1")), (5.0, Event("node-down", node="1"))]
    write_timeline(Timeline.of(NETWORK, moments), path)
    code, _, errors = run(path, "--controllers", "hold", "--out", tmp_path / "run", *WORDS)
    assert code == 1
    assert "dead.jsonl, line 3: " in errors and "the node '1' is down already" in errors
    assert len((tmp_path / "run" / RECORDS).read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--controllers", "greddy"), "did you mean 'greedy'"),
        (("--deadline", "soon", "--controllers", "hold"), "--deadline soon: give a time such as"),
        (("--turns", "3", "--deadline", "20ms"), "--deadline 20ms: give --turns 3 or a deadline"),
        (("--series", "x.tgz"), "--series x.tgz: the source is a timeline"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_the_syntax_of_the_command(day, words, message):
    code, _, errors = run(day, *words)
    assert code == 1
    assert message in errors


@pytest.mark.skipif(not hasattr(signal, "SIGTERM") or os.name == "nt", reason="no signals")
def test_a_stopped_replay_says_how_it_goes_on(day, tmp_path):
    stopping = DEADLY.replace(str(int(signal.SIGKILL)), str(int(signal.SIGTERM)))
    (tmp_path / "deadly.py").write_text(stopping)
    command = [sys.executable, "-m", "lagco", "live", "day.jsonl", *WORDS]
    command += ["--controllers", "deadly:Deadly", "--out", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 128 + signal.SIGTERM
    assert "decisions are in run; the same command goes on" in done.stderr
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
