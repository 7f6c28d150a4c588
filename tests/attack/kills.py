"""Kills at random moments: ``python -m tests.attack.kills --count 200 --seed 7``.

Each long command is run once undisturbed. Then it is started, killed (SIGKILL, with its workers or
alone) at a random moment and started again, a few times, and at last let go to its end. What it
wrote must equal what the undisturbed run wrote, but for what is measured (seconds, processes), and
nothing half written may be left.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.study.small import SCRIPT, SMALLEST

_BRIEF = "steps=3072", "rollout=256", "envs=4", "epochs=2"
#: kills between two comparisons
_CYCLE = 4


@dataclass(frozen=True)
class Command:
    """Arguments of Python, where ``{in}`` and ``{out}`` are folders, and what they result in."""

    arguments: tuple[str, ...]
    result: object

    def argv(self, inputs, out):
        filled = (a.replace("{in}", str(inputs)).replace("{out}", str(out)) for a in self.arguments)
        return [sys.executable, *filled]


def lagco_command(*arguments, result=None):
    """A command of lagco, as a user types it."""
    return Command(("-m", "lagco", *arguments), result)


def _files(*without):
    """Bytes of all files but those with measurements."""

    def read(out):
        return {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.is_file() and path.name not in without and "tensorboard" not in path.parts
        }  # fmt: skip

    return read


def _encoder(out):
    return (out / "encoder.safetensors").read_bytes(), json.loads(
        (out / "encoder.json").read_text()
    )["sha256"]


def _agent(out):
    with (out / "progress.csv").open() as stream:
        curve = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(stream)]
    description = json.loads((out / "agent.json").read_text())
    return (out / "agent.safetensors").read_bytes(), description["sha256"], curve


def _ledger(out):
    from lagco.study import Ledger

    assert not list(out.glob("claims/*.json"))
    return Ledger(out).contents()


def _table(out):
    with (out / "table.csv").open() as stream:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(stream)]


def _train(method, *more):
    return lagco_command(
        "train", "tsp", "--data", "{in}/data", "--encoder", "{in}/encoder", "--method", method,
        "--seed", "5", "--out", "{out}", *more, result=_agent,
    )  # fmt: skip


def _brief(method, *more):
    """A run of some ten rounds."""
    return _train(method, *more, *(part for name in _BRIEF for part in ("--set", name)))


def _study(**more):
    return Command(("-c", SCRIPT, "{out}", json.dumps(SMALLEST | more)), _ledger)


#: every long command
COMMANDS = {
    "generate": lagco_command(
        "generate", "tsp", "-n", "24", "--sizes", "40-60", "--sweeps", "4000", "--workers", "1",
        "--out", "{out}", result=_files("timings.json"),
    ),
    "generate, two workers": lagco_command(
        "generate", "ospf", "-n", "12", "--sizes", "10-14", "--sweeps", "400", "--workers", "2",
        "--out", "{out}", result=_files("timings.json"),
    ),
    "pretrain": lagco_command(
        "pretrain", "tsp", "--data", "{in}/data", "--steps", "120", "--out", "{out}",
        result=_encoder,
    ),
    "train projection": _brief("projection"),
    "train soft-projection": _brief("soft-projection"),
    "train g-discrete": _brief("g-discrete"),
    "train g-discrete-m": _brief("g-discrete-m"),
    "train p-discrete": _brief("p-discrete"),
    "train p-discrete-m": _brief("p-discrete-m"),
    "train iterative": _train("iterative", "--steps", "3000"),
    "train from the solver": _brief("taught-projection", "--teacher", "solver"),
    "train from search": _brief("taught-projection", "--teacher", "search"),
    "train from greedy": _brief("taught-projection", "--teacher", "greedy"),
    "study": _study(workers=1),
    "study, two workers": _study(workers=2),
    "study, Ray": _study(workers=2, engine="ray"),
    "report": lagco_command("report", "{in}/study", "--out", "{out}/page.html", result=_files()),
    "solve a folder": lagco_command(
        "solve", "{in}/data", "--turns", "3", "--out", "{out}/table.csv", result=_table
    ),
}  # fmt: skip


def prepare(inputs, *, study=True):
    """Data, an encoder and a finished study."""
    inputs.mkdir(parents=True, exist_ok=True)
    data = ("generate", "tsp", "-n", "8", "--sizes", "8-12", "--sweeps", "20", "--out", "{in}/data")
    _run(lagco_command(*data).argv(inputs, inputs))
    encoder = ("--data", "{in}/data", "--steps", "30", "--out", "{in}/encoder")
    _run(lagco_command("pretrain", "tsp", *encoder).argv(inputs, inputs))
    if study:
        _run(_study(workers=2).argv(inputs, inputs / "study"))


def _run(argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}\n{done.stdout}{done.stderr}")


def _killed(argv, seconds, whole_group):
    """Start a command and kill it after so many seconds; False if it had ended by then."""
    process = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        if whole_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        return True
    return False


def campaign(name, count, seed, inputs, root):
    """Kill a command `count` times.

    Args:
        name: of :data:`COMMANDS`.
        count: kills in all, a few between two comparisons.
        seed: of the moments.
        inputs: folder made by :func:`prepare`.
        root: folder for what is written.

    Returns:
        number of kills, number of comparisons that differed.
    """
    command, rng = COMMANDS[name], random.Random(f"{name}/{seed}")
    whole = root / "whole"
    whole.mkdir(parents=True)
    began = time.monotonic()
    _run(command.argv(inputs, whole))
    longest = time.monotonic() - began
    wanted, kills, different = command.result(whole), 0, 0
    for cycle in range(count):
        if kills >= count:
            break
        out = root / f"killed-{cycle}"
        out.mkdir()
        for _ in range(min(_CYCLE, count - kills)):
            moment = longest * rng.uniform(0.1, 1.0)
            if not _killed(command.argv(inputs, out), moment, rng.random() < 0.5):
                break
            kills += 1
        _run(command.argv(inputs, out))
        different += command.result(out) != wanted or bool(list(out.rglob("*.part")))
    return kills, different


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.attack.kills", description=__doc__)
    parser.add_argument("--command", action="append", choices=sorted(COMMANDS), help="all without")
    parser.add_argument("--count", type=int, default=200, help="kills over all commands")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = given.command or list(COMMANDS)
    total = failed = 0
    with tempfile.TemporaryDirectory(prefix="kills") as folder:
        inputs = Path(folder) / "inputs"
        prepare(inputs)
        for number, name in enumerate(names):
            share = given.count * (number + 1) // len(names) - given.count * number // len(names)
            kills, different = campaign(name, share, given.seed, inputs, Path(folder) / str(number))
            print(f"{name}: {kills} kills, {different} differences", flush=True)
            total, failed = total + kills, failed + different
    print(f"{total} kills, {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
