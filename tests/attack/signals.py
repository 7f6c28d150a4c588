"""Signals at random moments: ``python -m tests.attack.signals --count 100 --seed 7``.

A long command is started and gets SIGINT, SIGTERM or SIGHUP at a random moment after it has begun
(while Python still imports the command, a signal ends it as any other program). It has to end soon,
with the exit code of that signal and without a traceback, leave no process behind, and what it had
found has to be there: the solution of `solve`, the finished files of the others, from which the
same command goes on. In one of four, `solve` loses its terminal, which is SIGHUP and an end of all
printing.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import random
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from tests.attack.kills import COMMANDS as KILLED
from tests.attack.kills import lagco_command, prepare

#: the command line, which writes a line as soon as a first solution is known
_TELLING = """
import contextlib, sys
import lagco, lagco.solving
from lagco.cli import main
solve = lagco.solving.solve
def told(found):
    sys.stderr.write("found\\n")
    sys.stderr.flush()
def telling(*arguments, **options):
    return solve(*arguments, on_improvement=told, **options)
lagco.solve = telling
sys.argv[0] = "lagco"
main()
"""
PROBLEMS = ("tsp", "max-cut", "min-vertex", "ospf", "traffic", "placement", "cyber-path")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: commands other than `solve` of one file
OTHERS = (
    "generate", "generate, two workers", "pretrain", "train projection", "train iterative",
    "solve a folder", "study",
)  # fmt: skip
#: a study of one small data set, policies and one run, as a command
_STUDY = lagco_command(
    "study", "generalization", "--preset", "tiny", "--problems", "tsp", "--methods", "projection",
    "--strategies", "small", "--seeds", "42", "--instances", "6", "--workers", "2", "--out", "{out}",
)  # fmt: skip
#: seconds after which a command counts as one that does not end; machines may be very busy
PATIENCE = 600.0


def solving(file, out, *options, terminal=None):
    """A process that solves a file as long as it is let, in a session of its own."""
    argv = [sys.executable, "-c", _TELLING, "solve", str(file), "--out", str(out), *options]
    return _started(argv, terminal)


def _started(argv, terminal=None):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background; it is inherited
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if terminal is None:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, text=True, start_new_session=True, **pipes)
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    return subprocess.Popen(
        argv,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # the terminal of its session
        **ends,
    )


def begun(process):
    """Wait until a process handles SIGTERM itself, or has ended."""
    handled = 0
    while process.poll() is None and not handled >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.01)
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            handled = int(status.partition("SigCgt:")[2].split()[0], 16)


def ended(process, number):
    """Seconds, output and errors until a process ends that was sent a signal.

    Raises:
        AssertionError: it did not end well.
    """
    began = time.monotonic()
    said, errors = process.communicate(timeout=PATIENCE)
    if process.returncode not in (0, 128 + number):
        raise AssertionError(f"exit code {process.returncode} after {number}\n{said}{errors}")
    if errors and "Traceback" in errors:
        raise AssertionError(f"a traceback after {number}\n{errors}")
    if _members(process.pid):
        raise AssertionError(f"processes left behind after {number}: {_members(process.pid)}")
    return time.monotonic() - began, said, errors


def _members(session):
    """Processes of a session that live some seconds after its leader."""
    for _ in range(100):
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
            except OSError:  # it has just ended
                continue
            if int(of) == session and state != "Z":
                found.append(stat.parent.name)
        if not found:
            break
        time.sleep(0.1)
    return found


def interrupt_solve(problem, seed, folder):
    """Interrupt `solve` some time after its first solution; seconds until it ended."""
    from lagco.instances.formats import read, read_solution

    rng, out = random.Random(f"{problem}/{seed}"), folder / f"{problem}-{seed}.json"
    file = folder / f"{problem}.npz"
    if not file.exists():
        from lagco.commands.generate import generate_instance
        from lagco.instances.native import instance_bytes

        instance = generate_instance(problem, size=rng.choice([20, 25]))
        file.write_bytes(instance_bytes(instance))
    workers = rng.choice(["1", "1", "2"])
    options = ("--seconds", "600", "--workers", workers)
    number = rng.choice([*SIGNALS, None])
    if number is None:
        number, said, errors = signal.SIGHUP, "", ""
        seconds = lose_terminal(file, out, options, rng.uniform(0.0, 3.0))
    else:
        process = solving(file, out, *options)
        while process.stderr.readline() not in ("found\n", ""):
            pass
        time.sleep(rng.uniform(0.0, 3.0))
        process.send_signal(number)
        seconds, said, errors = ended(process, number)
    if not out.exists():
        raise AssertionError(f"{problem}: lost after {number}\n{said}{errors}")
    read_solution(read(file), out)
    return seconds


def lose_terminal(file, out, options, seconds):
    """Solve in a terminal that is closed so many seconds after the first solution.

    Returns:
        seconds until the process ended.
    """
    ours, theirs = pty.openpty()
    process = solving(file, out, *options, terminal=theirs)
    os.close(theirs)
    said = b""
    while b"found" not in said:
        said += os.read(ours, 1000)
    reading_until = time.monotonic() + seconds
    while time.monotonic() < reading_until:  # what is not read would block the process
        os.read(ours, 1000)
    os.close(ours)
    return ended(process, signal.SIGHUP)[0]


def interrupt_other(name, seed, inputs, folder):
    """Interrupt another command at a random moment, and let the same command end.

    Returns:
        seconds until it ended, 0 where it had ended before.
    """
    rng, out = random.Random(f"{name}/{seed}"), folder / f"{name}-{seed}".replace(" ", "-")
    out.mkdir()
    command = _STUDY if name == "study" else KILLED[name]
    process = _started(command.argv(inputs, out))
    begun(process)
    seconds = 0.0
    try:
        process.wait(rng.uniform(0.0, 8.0))
    except subprocess.TimeoutExpired:
        number = rng.choice(SIGNALS)
        process.send_signal(number)
        seconds = ended(process, number)[0]
    else:
        process.communicate()
    done = subprocess.run(command.argv(inputs, out), capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{name} does not go on: {done.stdout}{done.stderr}")
    return seconds


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.attack.signals", description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*PROBLEMS, *OTHERS])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    given = parser.parse_args()
    began, sent, failed, longest = time.monotonic(), 0, 0, 0.0
    with tempfile.TemporaryDirectory(prefix="signals") as root:
        folder, inputs = Path(root), Path(root) / "inputs"
        names = [given.only] if given.only else [*PROBLEMS, *OTHERS]
        if any(name in OTHERS for name in names):
            prepare(inputs, study=False)
        for number in range(given.count):
            if time.monotonic() - began > given.seconds:
                break
            sent += 1
            name = names[number % len(names)]
            try:
                if name in OTHERS:
                    seconds = interrupt_other(name, given.seed + number, inputs, folder)
                else:
                    seconds = interrupt_solve(name, given.seed + number, folder)
                longest = max(longest, seconds)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{name}, seed {given.seed + number}: {error}", flush=True)
    print(f"{sent} signals, {failed} failures, the slowest end took {longest:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main())
