"""The flow bound in any units."""

from dataclasses import replace

import pytest

from lagco.generation import generate_instance
from lagco.problems.ospf.solver import lower_bound


def test_the_bound_does_not_depend_on_units():
    instance = generate_instance("ospf", size=12)
    arrays = dict(instance.arrays)
    bound = lower_bound(instance)
    huge = {name: arrays[name] * 1e9 for name in ("capacities", "volumes")}
    assert lower_bound(replace(instance, arrays={**arrays, **huge})) == pytest.approx(bound)
    wide = {"capacities": arrays["capacities"] * 1e9}
    assert lower_bound(replace(instance, arrays={**arrays, **wide})) == pytest.approx(bound / 1e9)
