"""The standing attack: no mutant of any file does harm.

``LAGCO_ATTACK_SEED`` gives the long attack another seed.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.attack.campaign import attack
from tests.attack.corpus import CORPUS
from tests.attack.judge import Finding, try_mutant
from tests.attack.kinds import KINDS
from tests.attack.variant import Variant

#: mutants per kind in every run; loading an agent or a checkpoint takes longest
SHORT = dict.fromkeys(KINDS, 150) | {
    "agent": 30, "checkpoint": 20, "encoder": 60, "space": 40, "demonstrations": 300,
}  # fmt: skip
LONG = 20_000


@pytest.mark.parametrize("kind", KINDS)
def test_mutants_do_no_harm(kind):
    _, findings = attack(kind, SHORT[kind], seed=0)
    assert not findings


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_mutants_do_no_harm(kind, tmp_path):
    seed = int(os.environ.get("LAGCO_ATTACK_SEED", "1"))
    _, findings = attack(kind, LONG, seed, keep=tmp_path)
    assert not findings


@pytest.mark.parametrize("name", CORPUS)
def test_what_was_found_once_is_refused(name, tmp_path):
    original, files = CORPUS[name]()
    folder = tmp_path / "mutant"
    original.write(folder, files)
    assert try_mutant(original, folder, sealed=True) == "refused"


def test_a_mutant_depends_on_its_number_alone():
    original = Variant({"a.txt": b"one 2 three\nfour 5"}, None, None)
    first, second = (original.mutant(random.Random("a")) for _ in range(2))
    assert first == second
    assert original.mutant(random.Random("b")) != first


def judged(load, use=lambda loaded: 1, sealed=True, folder=None):
    original = Variant({}, load, use)
    original.__dict__["behaviour"] = 1
    return try_mutant(original, folder, sealed)


def test_what_is_no_refusal_is_a_finding(tmp_path):
    def crash(folder):
        raise KeyError("x")

    with pytest.raises(Finding, match="loading: KeyError"):
        judged(crash, folder=tmp_path)
    with pytest.raises(Finding, match="using: KeyError"):
        judged(lambda folder: 1, crash, folder=tmp_path)


def test_a_refusal_that_names_no_file_is_a_finding(tmp_path):
    from lagco.errors import LagcoError

    def refuse(folder):
        raise LagcoError("no")

    with pytest.raises(Finding, match="names no file"):
        judged(refuse, folder=tmp_path)


def test_other_behaviour_under_the_old_checksum_is_a_finding(tmp_path):
    assert judged(lambda folder: 1, lambda loaded: 2, folder=tmp_path) == "other"
    with pytest.raises(Finding, match="other behaviour"):
        judged(lambda folder: 1, lambda loaded: 2, sealed=False, folder=tmp_path)


def test_much_memory_is_a_finding(tmp_path):
    with pytest.raises(Finding, match=r"took \d+ MB"):
        judged(lambda folder: bytearray(600 << 20), lambda loaded: 1, folder=tmp_path)
