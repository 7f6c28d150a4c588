"""Whatever happens to a file: the outcome is a valid instance, or an InstanceError that names it."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagco.errors import InstanceError
from lagco.instances import Instance, detect, read, read_solution, write_solution
from lagco.problems import problem_class
from tests.instances.formats.samples import DEMANDS, FORMATS, sample

EXAMPLES = 300
MANY_EXAMPLES = 3_000
#: no sample is longer than 5 kB, so nothing made of one may take more than this
MOST_BYTES = 4 << 20

NUMBERS = (
    b"0", b"-1", b"1", b"2", b"3", b"7", b"1e9", b"-0.0", b"1e-320", b"1e308", b"1e999", b"nan",
    b"inf", b"-inf", b"NaN", b"99999999999", b"4294967296", b"-9223372036854775808",
    b"9" * 400, b"9" * 5000, b"0x10", b"1_000", b"1,5", b"1.5.2", b"+", b"", b"\xd9\xa3",
)  # fmt: skip
BYTES = (
    b"\x00", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t", b"(", b")", b"{", b"]", b'"',
    b"<", b">", b"&amp;", b"&x;", b"<!DOCTYPE a>", b"<!ENTITY a 'b'>", b"<!-- -->", b"<![CDATA[", b"#",
    b"?", b",", b";", b":", b"-1", b"EOF", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\x1f\x8b",
)  # fmt: skip
TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+")
NUMBER = re.compile(rb"-?[0-9][0-9.e+]*")


def damaged(content):
    """Strategy for `content` after one to three mishaps."""

    def spoil(seed):
        chance = random.Random(seed)
        changed = content
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            changed = chance.choice(MISHAPS)(changed, chance)
        return changed

    return st.integers(0, 2**64).map(spoil)


def spoil_lines(content, chance):
    lines = content.split(b"\n")
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.choice(("delete", "double", "swap"))
    if how == "delete":
        del lines[i]
    elif how == "double":
        lines.insert(j, lines[i])
    else:
        lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def spoil_tokens(content, chance):
    places = [m.span() for m in TOKEN.finditer(content)]
    if len(places) < 2:
        return content
    (a, b), (c, d) = sorted(chance.sample(places, 2))
    first, second = content[a:b], content[c:d]
    how = chance.choice(("delete", "double", "swap"))
    if how == "delete":
        first = b""
    elif how == "double":
        first += b" " + first
    else:
        first, second = second, first
    return content[:a] + first + content[b:c] + second + content[d:]


def spoil_number(content, chance):
    places = [m.span() for m in NUMBER.finditer(content)]
    if not places:
        return content
    a, b = chance.choice(places)
    return content[:a] + chance.choice(NUMBERS) + content[b:]


def spoil_bytes(content, chance):
    at = chance.randint(0, len(content))
    new = chance.choice((*BYTES, chance.randbytes(1), chance.randbytes(3)))
    return content[:at] + new + content[at + chance.randint(0, 1) :]


def cut(content, chance):
    return content[: chance.randint(0, len(content))]


MISHAPS = (spoil_lines, spoil_lines, spoil_tokens, spoil_number, spoil_number, spoil_bytes, cut)


def try_to_read(path, problem=None, demands=None):
    """The instance, checked to be one that its problem can be played on; None if it was refused."""
    try:
        instance = read(path, problem, demands)
    except InstanceError as error:
        assert any(str(file) in str(error) for file in (path, demands) if file)
        str(error).encode()  # and it can be shown
        return None
    assert isinstance(instance, Instance)
    assert sum(array.nbytes for array in instance.arrays.values()) < MOST_BYTES
    env = problem_class(instance.problem)(instance, start="default")
    try:
        env.reset(seed=0)
    except InstanceError as error:
        # whether all machines have room together is a question for the problem's own heuristic
        assert "first fit finds no room" in str(error)
        return instance
    assert np.isfinite(env.objective())
    action = env.sample_valid_action()
    if action is not None:
        env.step(action)
        assert np.isfinite(env.objective())
    return instance


def fuzz_instances(name, folder, examples):
    path = folder / name
    content = sample(name).read_bytes()
    problems = {"ring.rud": "min-vertex", "kite.gr": "max-cut", "islands.xml": "traffic"}

    @settings(max_examples=examples)
    @given(damaged(content), st.booleans())
    def run(changed, other):
        path.write_bytes(changed)
        try_to_read(path, problems.get(name) if other else None)

    run()


def fuzz_demands(name, folder, examples):
    path = folder / name

    @settings(max_examples=examples)
    @given(damaged(sample(name).read_bytes()))
    def run(changed):
        path.write_bytes(changed)
        try_to_read(sample(DEMANDS[name]), demands=path)
        try:
            detect(path)
        except InstanceError as error:
            assert str(path) in str(error)

    run()


def fuzz_solutions(name, folder, examples):
    instance = read(sample(name))
    problem = problem_class(instance.problem)
    env = problem(instance)
    env.reset(seed=0)
    ended = False
    while not ended:
        *_, terminated, truncated, _ = env.step(env.sample_valid_action())
        ended = terminated or truncated
    path = folder / "solution"
    write_solution(instance, env.solution(), path)
    content = path.read_bytes()

    @settings(max_examples=examples)
    @given(damaged(content))
    def run(changed):
        path.write_bytes(changed)
        try:
            solution = read_solution(instance, path)
        except InstanceError as error:
            assert str(path) in str(error)
            str(error).encode()
        else:
            assert isinstance(solution, np.ndarray)
            write_solution(instance, solution, folder / "again")

    run()


SOLVED = ("towns.tsp", "ring.rud", "kite.gr", "islands.txt", "cluster.json", "office.json")


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_instances(name, tmp_path):
    fuzz_instances(name, tmp_path, EXAMPLES)


@pytest.mark.parametrize("name", DEMANDS)
def test_damaged_demands(name, tmp_path):
    fuzz_demands(name, tmp_path, EXAMPLES)


@pytest.mark.parametrize("name", SOLVED)
def test_damaged_solutions(name, tmp_path):
    fuzz_solutions(name, tmp_path, EXAMPLES // 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_instances_at_length(name, tmp_path):
    fuzz_instances(name, tmp_path, MANY_EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEMANDS)
def test_damaged_demands_at_length(name, tmp_path):
    fuzz_demands(name, tmp_path, MANY_EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVED)
def test_damaged_solutions_at_length(name, tmp_path):
    fuzz_solutions(name, tmp_path, MANY_EXAMPLES // 3)
