"""Answers for real networks are never worse than what is in force, and ties leave it as it is."""

import numpy as np
import pytest

import lagco
from lagco.core.changes import evaluated, incumbent_of
from lagco.instances.formats import read
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic
from tests.shared_instances import FOLDER

NETWORKS = [
    *((path, None) for path in sorted(FOLDER.glob("sndlib*/*.[tx][xm][tl]"))),
    *((path, None) for path in sorted(FOLDER.glob("topology_zoo/*.graphml"))),
    *(
        (path, demands)
        for path in sorted(FOLDER.glob("repetita/*.graph"))
        for demands in sorted(path.parent.glob(f"{path.stem}*.demands"))
    ),
]


def in_force(cls, path, demands):
    instance = read(path, cls.name, demands=demands)
    if incumbent_of(cls, instance) is not None:
        return instance
    if cls is OSPF:
        return OSPF.with_present(instance, np.ones(instance.size, dtype=np.int64))
    env = Traffic(instance, start="default", rewards=False)
    env.reset(seed=0)
    return Traffic.with_present(instance, env.solution())


@pytest.mark.slow
@pytest.mark.parametrize("by", ["greedy", "solver", "agent", "portfolio"])
@pytest.mark.parametrize("cls", [OSPF, Traffic])
@pytest.mark.parametrize(
    ("path", "demands"), NETWORKS, ids=[(demands or path).name for path, demands in NETWORKS]
)
def test_no_answer_is_worse_and_a_tie_changes_nothing(path, demands, cls, by):
    instance = in_force(cls, path, demands)
    if cls is Traffic and instance.size > 1000 and by != "solver":
        pytest.skip("steps of so many demands take long")
    first = lagco.solve(instance, by=by, max_changes=3, turns=3, progress=False)
    before = evaluated(cls, instance, incumbent_of(cls, instance))
    after = evaluated(cls, instance, first.solution)
    assert first.valid
    assert after <= before
    assert len(first.changes) <= 3
    if after == before:
        assert np.array_equal(first.solution, incumbent_of(cls, instance))
    held = lagco.solve(instance, by=by, fixed=cls.element_names(instance), turns=2, progress=False)
    assert not held.changes
    assert held.by == "incumbent"
