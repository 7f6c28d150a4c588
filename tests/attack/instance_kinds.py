"""Files of instances: texts of all formats, lagco's own, demands, solutions, data sets."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from lagco.commands.generate import generate, generate_instance
from lagco.instances import DataSet, read, read_solution, write, write_solution
from lagco.instances.dataset import DATA_SET, TIMES
from lagco.instances.native import INSTANCE
from lagco.policies import plain_policy
from lagco.problems import list_problems, problem_class, registered_class
from lagco.rollout import Episode
from tests.attack.described import Layer
from tests.attack.variant import Variant, written

_DATA = Path(__file__).parents[1] / "data"
_PROBLEMS = [entry.name for entry in list_problems()]


def _act(instance):
    """A few steps on an instance."""
    env = registered_class(instance.problem, "file")(instance)
    episode = Episode(env, 0).run(plain_policy("random"), steps=3)
    env.graph_views()
    objective = env.objective()
    assert np.isfinite(objective), f"objective {objective}"
    return instance.checksum, objective, len(episode.actions)


def instance_text():
    names = (
        "towns.tsp",
        "legs.tsp",
        "harbours.tsp",
        "kite.col",
        "kite.gr",
        "ring.rud",
        "islands.txt",
    )
    names += ("islands.xml", "backbone.graphml", "cluster.json", "cluster.csv", "office.json")
    for name in names:
        yield Variant(_own(name), functools.partial(_read_only, name), _act)


def _own(*names):
    return {name: (_DATA / name).read_bytes() for name in names}


def _read_only(name, folder):
    return read(folder / name)


def instance_native():
    for name in _PROBLEMS:
        instance = generate_instance(name, size=8, references=["sweeps"], sweeps=3)
        files = written(lambda folder, instance=instance: write(instance, folder / "a.npz"))
        layer = Layer(INSTANCE, "a.npz", form="zip")
        yield Variant(files, functools.partial(_read_only, "a.npz"), _act, (layer,), follows=True)


def demands():
    for network, table in (
        ("backbone.graphml", "backbone-demands.csv"),
        ("islands.txt", "islands-matrix.csv"),
    ):

        def load_both(folder, network=network, table=table):
            return read(folder / network, demands=folder / table)

        yield Variant(_own(network, table), load_both, _act, mutable=(table,))


def solution():
    for name in _PROBLEMS:
        instance = generate_instance(name, size=8, references=["sweeps"], sweeps=3)
        best = instance.references.sweeps.best_solution
        if best is None:  # the sweeps of some problems keep none
            best = problem_class(name).solve(instance, 0, effort=0.01).solver.solution
        files = written(lambda f, i=instance, s=best: write_solution(i, s, f / "solution.txt"))

        def load_solution(folder, instance=instance):
            return read_solution(instance, folder / "solution.txt")

        def value(found, instance=instance):
            cost = problem_class(instance.problem).evaluate_solution(instance, found)
            assert not np.isnan(cost)
            return cost

        yield Variant(files, load_solution, value)


def data_set():
    def write(folder):
        generate("tsp", 2, out=folder, sizes=6, references=(), workers=1, progress=False)

    files = written(write)
    layers = (Layer(DATA_SET, "manifest.json"), Layer(TIMES, "timings.json"))

    def load_all(folder):
        data = DataSet.load(folder)
        return data, list(data)

    def about(loaded):
        data, instances = loaded
        return data.checksum, data.extents, [instance.checksum for instance in instances]

    layers = tuple(layer for layer in layers if layer.place in files)
    read = tuple(name for name in sorted(files) if name != TIMES.description)
    yield Variant(files, load_all, about, layers, read)
