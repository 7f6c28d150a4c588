"""Signals and time limits end long work with what it has found."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numba import njit

import lagco
from lagco.instances.formats import read_solution
from lagco.instances.native import instance_bytes
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.runtime.stopping import (
    Interrupted,
    interruption,
    signals_interrupt,
    stop_flag,
    stopping,
)
from tests.attack.signals import (
    PROBLEMS,
    SIGNALS,
    interrupt_other,
    interrupt_solve,
    lose_terminal,
    prepare,
)
from tests.shared_instances import DATA


@njit(nogil=True)
def spin(stop, turns):
    while not stop[0]:
        turns[0] += 1


def send(number):
    os.kill(os.getpid(), number)
    time.sleep(100)  # it arrives meanwhile


def test_the_moment_is_that_of_the_clock_however_long_a_wait_took():
    """As with a clock that counts processor time, on a busy machine."""
    now = 0.0
    with stopping() as stop:
        stop.after(0.01, lambda: now)
        time.sleep(0.1)
        assert not stop_flag()[0]
        now += 0.01
        spin(stop_flag(), np.zeros(1))


def test_a_compiled_loop_ends_at_the_moment_and_on_a_signal():
    with stopping() as stop:
        stop.after(0.01)
        spin(stop_flag(), np.zeros(1))
        assert stop.signal is None
        stop.after(None)
        assert not stop_flag()[0]
        stop.keeps = True
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        spin(stop_flag(), np.zeros(1))
        while stop.signal is None:  # the handler runs after the loop
            time.sleep(0.01)
        assert stop.signal == signal.SIGINT
        stop.after(100.0)
        assert stop_flag()[0], "a signal is not forgotten"
    assert not stop_flag()[0]


def test_a_signal_before_there_is_anything_to_lose_raises_and_so_does_a_second_one():
    with stopping() as stop:
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
        stop.keeps = True
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            send(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_that_ends_a_command_is_an_interruption(number):
    with signals_interrupt(), pytest.raises(Interrupted) as raised:
        send(number)
    assert raised.value.number == number


def test_signals_that_a_process_was_started_to_ignore_stay_ignored_but_sigterm():
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        with signals_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGHUP)
            with pytest.raises(Interrupted) as raised:
                send(signal.SIGTERM)
        assert raised.value.number == signal.SIGTERM
        assert all(signal.getsignal(number) is signal.SIG_IGN for number in SIGNALS)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_an_interruption_that_compiled_code_hides_is_found():
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    assert interruption(error) is error.__cause__
    assert interruption(SystemError("another")) is None


@pytest.mark.parametrize("name", ENTRIES)
def test_every_local_search_ends_when_it_is_asked_to(name):
    cls = problem_class(name)
    instance = cls.generate()
    with stopping() as stop:
        stop.flag[0] = 1
        solution = cls.improve(instance, None, 0, 1e9)  # for years
        again = cls.improve(instance, solution, 1, 1e9)
    assert np.isfinite(cls.evaluate_solution(instance, again))


def test_a_large_cut_is_annealed_no_longer_than_it_should_be():
    cls = problem_class("max-cut")
    instance = cls.generate(260)
    with stopping() as stop:
        stop.flag[0] = 1
        assert cls.evaluate_solution(instance, cls.improve(instance, None, 0, 1e9)) > 0


def test_a_signal_ends_solve_with_the_best_in_a_thread_of_python():
    instance = problem_class("tsp").generate(30)

    def interrupt(found):
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    sent = []
    answer = lagco.solve(instance, by="solver", seconds=1e6, on_improvement=interrupt)
    assert answer.interrupted
    assert answer.valid


def test_solve_works_in_another_thread_where_no_signal_arrives():
    found = []
    instance = problem_class("tsp").generate(10)
    thread = threading.Thread(target=lambda: found.append(lagco.solve(instance, turns=3)))
    thread.start()
    thread.join()
    assert found[0].valid


@pytest.mark.parametrize("number", SIGNALS)
def test_a_command_that_has_found_nothing_yet_ends_with_the_code_of_the_signal(number, tmp_path):
    script = (
        "import os, signal, sys, lagco, lagco.solving\n"
        "from lagco.cli import main\n"
        f"lagco.solve = lambda *_, **__: os.kill(os.getpid(), {int(number)})\n"
        "main()"
    )
    file = tmp_path / "a.tsp"
    file.write_text("NAME: a\nTYPE: TSP\nDIMENSION: 3\n")
    done = subprocess.run(
        [sys.executable, "-c", script, "solve", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 128 + number
    assert done.stderr == "stopped\n"


def test_a_signal_keeps_the_solution(tmp_path):
    interrupt_solve("tsp", 0, tmp_path)


#: the terminal goes while the solution is written, after the answer was printed
_GOING = """
import os, signal
from lagco.cli import main
from lagco.solving.answer import Answer
write = Answer.write_solution
def going(answer, path):
    write(answer, path)
    for number in (1, 2):
        os.dup2(os.open("/dev/full", os.O_WRONLY), number)
    os.kill(os.getpid(), signal.SIGHUP)
Answer.write_solution = going
main()
"""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="of Linux")
def test_a_terminal_that_goes_while_files_are_written_is_a_signal_and_no_error(tmp_path):
    file, out = str(DATA / "towns.tsp"), str(tmp_path / "towns.tour")
    command = [sys.executable, "-c", _GOING, "solve", file, "--turns", "2", "--out", out]
    found = subprocess.run(command, capture_output=True)
    assert found.returncode == 128 + signal.SIGHUP


def test_a_terminal_that_is_gone_loses_no_solution(tmp_path):
    file, out = tmp_path / "a.npz", tmp_path / "a.json"
    instance = problem_class("tsp").generate(20)
    file.write_bytes(instance_bytes(instance))
    lose_terminal(file, out, ("--seconds", "600"), 0.5)
    assert read_solution(instance, out).shape == (20,)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_closed_pipe_loses_no_solution(options, tmp_path):
    out = tmp_path / "a.tour"
    command = [sys.executable, "-m", "lagco", "solve", str(DATA / "towns.tsp"), "--turns", "2"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([*command, "--out", str(out), *options], stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_signals_keep_the_solution_of_every_problem(problem, tmp_path):
    for seed in range(1, 4):
        interrupt_solve(problem, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["generate, two workers", "train projection", "solve a folder", "study"]
)
def test_signals_at_random_moments_leave_no_process_and_no_traceback(name, tmp_path):
    prepare(tmp_path / "inputs", study=False)
    for seed in range(3):
        interrupt_other(name, seed, tmp_path / "inputs", tmp_path)
