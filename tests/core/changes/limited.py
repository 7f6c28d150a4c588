"""Random incumbents and limits for the instances of any problem."""

from dataclasses import replace

import numpy as np

from lagco.core.changes import FIXED, MAX_CHANGES
from lagco.problem_table import ENTRIES

#: problems that know what is in force
HELD = [name for name, entry in ENTRIES.items() if entry.load().present is not None]
SIZES = {"ospf": 6, "traffic": 6, "placement": 8}


def limited(instance, fixed=None, most=None, **arrays):
    """An instance with limits."""
    params = dict(instance.params)
    if most is not None:
        params[MAX_CHANGES] = most
    if fixed is not None:
        arrays[FIXED] = np.asarray(fixed, dtype=np.int8)
    return replace(instance, arrays={**instance.arrays, **arrays}, params=params)


def random_solution(cls, instance, rng, steps=12):
    """Where some random actions lead from the default start, to a solution at least."""
    env = cls(instance, start="default", features="paper", rewards=False)
    env.reset(seed=int(rng.integers(1 << 30)))
    while steps > 0 or not env.is_feasible():
        action = None if env.is_complete() else env.sample_valid_action(rng)
        if action is None:
            break
        env.carry_out(action)
        steps -= 1
    return env.solution()


def held(name, rng, size=None):
    """A class and a random instance of it with an incumbent."""
    cls = ENTRIES[name].load()
    instance = cls.generate(size or SIZES.get(name, 9), seed=int(rng.integers(1 << 30)))
    return cls, cls.with_present(instance, random_solution(cls, instance, rng))


def restricted(name, rng, size=None):
    """The same with random limits: fixed elements, a budget, or both."""
    cls, instance = held(name, rng, size)
    count = len(cls.elements(instance, instance.array(cls.present)))
    kind = int(rng.integers(3))
    fixed = rng.random(count) < rng.choice([0.1, 0.4]) if kind != 1 else None
    most = int(rng.integers(0, 5)) if kind != 0 else None
    return cls, limited(instance, fixed, most)
