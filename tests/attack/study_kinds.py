"""Files of studies, and configurations."""

from __future__ import annotations

import functools
import lzma

from lagco.agents.config import train_config
from lagco.study.planning.search_space import read_space
from lagco.study.records.archive import Snapshot, export
from lagco.study.records.ledger import FAILURE, NOTE, RECORD, Ledger
from lagco.study.running.claims import CLAIM
from lagco.study.running.execute import last_settings
from lagco.study.settings import settings_class
from lagco.study.task import Task
from tests.attack.described import Layer
from tests.attack.variant import Overlooked, Variant, written


def _tasks():
    yield Task("data", "tsp", {"problem": "tsp", "n": 3, "code": "1" * 8})
    spec = {
        "problem": "tsp",
        "data": "0" * 64,
        "policy": "random",
        "config": {"envs": 2, "seed": 1},
    }
    yield Task("policy", "tsp/random", spec)
    yield Task("run", "tsp/projection", spec | {"method": "projection", "data_checksum": "1" * 64})


def record():
    def write(folder):
        for task in _tasks():
            Ledger(folder).write(task, {"score": 0.5, "episodes": [1.0, 2.0]}, {"seconds": 1.0})

    files = written(write)
    layers = tuple(Layer(RECORD, place) for place in sorted(files))

    def load_records(folder):
        ledger = Ledger(folder)
        return ledger, ledger.records()

    def about(loaded):
        ledger, records = loaded
        for found in records:
            ledger.find(found.kind, found.key)
        return [found.content() for found in records], ledger.contents()

    # the folders of a ledger may lie on other disks
    yield Variant(files, load_records, about, layers, follows=True)


class Inside(Variant):
    """Text inside a packed file: in its place nothing else can stand."""

    def odd(self, rng):
        return None


def archive():
    """Records in one file; what is inside is mutated, and then the packed bytes are."""

    def write(folder):
        for task in _tasks():
            Ledger(folder).write(task, {"score": 0.5, "episodes": [1.0, 2.0]}, {"seconds": 1.0})
        export(folder, folder / "r.jsonl.xz", name="study")

    def load_text(folder):
        packed = lzma.compress((folder / "r.jsonl").read_bytes())
        (folder / "r.jsonl.xz").write_bytes(packed)
        return Snapshot(folder / "r.jsonl.xz")

    def about(study):
        return study.contents(), study.settings(), study.failures(), study.name

    packed = written(write)["r.jsonl.xz"]
    yield Inside({"r.jsonl": lzma.decompress(packed)}, load_text, about)
    yield Variant({"r.jsonl.xz": packed}, lambda f: Snapshot(f / "r.jsonl.xz"), about)


def failure():
    """Damaged ones are overlooked: the task is done again."""
    task = next(_tasks())
    files = written(lambda folder: Ledger(folder).write_failure(task, ValueError("no")))
    mutable = tuple(sorted(files))
    yield Variant(
        files, Ledger, lambda ledger: (ledger.failures(), ledger.failure(task)), mutable=mutable
    )
    layers = (Layer(FAILURE, mutable[0]),)
    yield Overlooked(files, Ledger, lambda ledger: ledger.failures(), layers)


def claim():
    def write(folder):
        content = {"owner": "a", "host": "b", "machine": "c", "pid": 1, "born": "2"}
        CLAIM.write_file(folder / "claims" / "data-x.json", content)

    def about(ledger):
        claims = ledger.claims
        return claims.abandoned("data-x"), claims.silent("data-x")

    yield Overlooked(written(write), Ledger, about, (Layer(CLAIM, "claims/data-x.json"),))


def study():
    for name in ("generalization", "tune"):
        settings = settings_class(name).of(problems=("tsp",)).as_dict()
        files = written(lambda f, n=name, s=settings: Ledger(f).write_settings(n, s))
        layer = Layer(NOTE, f"studies/{name}.json")
        yield Variant(files, functools.partial(last_settings, name), repr, (layer,), follows=True)


_CONFIG = b"""method = "projection"
steps = 1000
hidden = [64, 32]
learning_rate = 3e-4
decoder = "nearest"
k = 5
seed = 1
"""
_SEARCH = b"""name = "mine"
method = "projection"
[agent]
learning_rate = {low = 1e-5, high = 1e-3, log = true}
hidden = [[64, 64], [128]]
[shape]
[pretraining]
states = [100, 200]
"""


def config():
    yield Variant({"train.toml": _CONFIG}, lambda f: train_config(f / "train.toml"), repr)
    yield Variant({"space.toml": _SEARCH}, lambda f: read_space(str(f / "space.toml")), repr)
