"""Events of machines: where virtual machines go, who waits, and what cannot happen."""

import itertools

import numpy as np
import pytest

import lagco
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.placement import Placement
from lagco.problems.placement.events.changes import REJECTED


def machines(hosts, cores, capacity=8.0, **params):
    """VMs of some cores on PMs of the same capacity."""
    vms, pms = len(cores), max(hosts) + 2
    links = np.stack([np.zeros(pms - 1, dtype=int), np.arange(1, pms)])
    demands = np.zeros((vms, 4))
    demands[:, 0] = cores
    arrays = {
        "vm_demands": demands,
        "pm_capacities": np.full((pms, 4), capacity),
        "tenants": np.zeros(vms, dtype=int),
        "vm_vulnerability": np.zeros(vms),
        "pm_escape": np.zeros(pms),
        "pm_idle": np.ones(pms),
        "pm_peak": np.full(pms, 2.0),
        "traffic_pairs": np.array([[0], [1]]),
        "traffic": np.ones(1),
        "latency_links": links,
        "latencies": np.ones(pms - 1),
        "allocation": np.array(hosts),
    }
    return Instance("placement", "machines", vms, arrays, params)


def happened(instance, *events):
    for event in events:
        instance = Placement.after(instance, event).instance
    return instance


def hosts(instance):
    names = instance.array("vm_names").tolist()
    return dict(zip(names, instance.array("allocation").tolist(), strict=True))


def test_machines_go_where_they_fit_best_or_first():
    instance = machines([0, 1], [2, 6])
    best = happened(instance, {"event": "vm", "vm": "new", "pe": 2})
    assert hosts(best) == {"vm1": 0, "vm2": 1, "new": 1}
    first = happened(
        machines([0, 1], [2, 6], arrivals="first-fit"), {"event": "vm", "vm": "new", "pe": 2}
    )
    assert hosts(first)["new"] == 0


def test_machines_without_room_wait_and_are_served_when_there_is_some():
    instance = machines([0, 1], [6, 6])
    full = happened(instance, *({"event": "vm", "vm": name, "pe": 8} for name in ("a", "b")))
    assert hosts(full) == {"vm1": 0, "vm2": 1, "a": 2}
    assert full.params[REJECTED] == 1
    assert Placement.unserved(full) == pytest.approx(8 / 28)
    served = happened(full, {"event": "vm-gone", "vm": "vm1"})
    assert hosts(served) == {"vm2": 1, "a": 2, "b": 0}
    assert Placement.unserved(served) == 0.0
    assert served.array("traffic_pairs").shape == (2, 0)  # vm1 has no peer any more
    left = happened(full, {"event": "vm-gone", "vm": "b"})
    assert Placement.unserved(left) == 0.0


def test_machines_that_grow_move_where_they_have_to():
    instance = machines([0, 0], [4, 2])
    assert hosts(happened(instance, {"event": "vm-size", "vm": "vm1", "pe": 6}))["vm1"] == 0
    moved = happened(instance, {"event": "vm-size", "vm": "vm1", "pe": 7})
    assert hosts(moved)["vm1"] == 1
    refused = happened(instance, {"event": "vm-size", "vm": "vm1", "pe": 9})
    assert refused.array("vm_demands")[0, 0] == 4.0
    assert refused.params[REJECTED] == 1


def test_a_failed_host_loses_its_machines_and_one_to_be_emptied_keeps_them():
    instance = machines([0, 0, 1], [4, 2, 4])
    failed = happened(instance, {"event": "pm-down", "pm": "pm1"})
    assert hosts(failed) == {"vm1": 1, "vm2": 2, "vm3": 1}
    drained = happened(instance, {"event": "pm-drain", "pm": "pm1"})
    assert hosts(drained) == {"vm1": 0, "vm2": 0, "vm3": 1}
    answer = lagco.solve(drained, by="solver", turns=4, progress=False)
    assert not answer.faults
    assert 0 not in answer.solution
    env = Placement(drained, start="current")
    env.reset(seed=0)
    assert not env.is_valid_action((2, 0))
    back = happened(drained, {"event": "pm-up", "pm": "pm1"})
    assert not back.array("drained").any()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"event": "vm", "vm": "vm1", "pe": 1}, "there is a virtual machine 'vm1' already"),
        ({"event": "vm-gone", "vm": "vm9"}, "unknown virtual machine 'vm9'"),
        ({"event": "vm-size", "vm": "v1"}, "did you mean 'vm1'"),
        ({"event": "pm-down", "pm": "pm"}, "unknown physical machine 'pm'"),
        ({"event": "pm-up", "pm": "pm1"}, "takes virtual machines already"),
        ({"event": "vm", "vm": "new"}, "has no 'pe'"),
    ],
)
def test_events_that_cannot_happen_say_why(event, message):
    with pytest.raises(InstanceError, match=message):
        happened(machines([0, 1], [2, 6]), event)


def test_synthetic_timelines_keep_their_load_and_every_allocation_holds():
    instance = Placement.generate(20, seed=4)
    timeline = Placement.draw_timeline(
        instance, until=4e4, lifetime=3600.0, load=0.85, failures=0.1, drains=0.5, resized=0.2
    )
    kinds = set()
    env = Placement(instance, start="default")
    env.reset(seed=0)
    changed = Placement.with_present(instance, env.solution())
    loads = []
    for moment in itertools.islice(timeline, 800):
        kinds.add(moment.event.kind)
        changed = happened(changed, moment.event)
        Placement.evaluate_solution(changed, changed.array("allocation"))  # which checks capacities
        used, cores = changed.array("vm_demands")[:, 0], changed.array("pm_capacities")[:, 0]
        loads.append(used.sum() / cores.sum())
    assert kinds == {"vm", "vm-gone", "vm-size", "pm-down", "pm-up", "pm-drain"}
    assert 0.5 < np.mean(loads[200:]) < 1.0
