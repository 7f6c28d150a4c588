"""Attributes that hide what lagco's classes need are named, before anything goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

import lagco
from examples.depots import Depots
from lagco.core.problem import Problem
from tests.core.toy import IndependentSet


class Unit(Depots):
    def _load(self, instance):
        self._unit = 1.0  # hides a method: rewards could not be computed
        super()._load(instance)


class Several(Depots):
    def _load(self, instance):
        super()._load(instance)
        self._steps, self._value = np.zeros(3), 0.0

    def objective(self):
        return float(self._value)


class Unmakable(Depots):
    def _load(self, instance):
        super()._load(instance)
        self._observe_columns = True  # called while the class is made


class ByAnotherName(Depots):
    def _load(self, instance):
        super()._load(instance)
        setattr(self, "solution", np.zeros(2))  # noqa: B010 - not seen in the source


class InTheBody(Depots):
    _unit = 1.0


class Environment(IndependentSet):
    def __init__(self):
        super().__init__()
        self.snapshot = []


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (Unit, ["self._unit: hides Scored._unit()"]),
        (
            Several,
            [
                "self._steps: is what Problem keeps under that name",
                "self._value: is what Problem keeps under that name",
            ],
        ),
        (Unmakable, ["self._observe_columns: hides Problem._observe_columns()"]),
        (ByAnotherName, ["self.solution: hides Hooks.solution() with [0.0, 0.0]"]),
        (InTheBody, ["self._unit: hides Scored._unit() with 1.0"]),
        (Environment, ["self.snapshot: hides ContinuousEnv.snapshot()"]),
    ],
)
def test_hidden_names_are_found(cls, expected):
    found = [str(finding) for finding in lagco.check(cls, episodes=1)]
    assert found == [f"[names] {text}; rename the attribute" for text in expected]


class Sound(Depots):
    """Overrides methods and a property, and has functions among its attributes."""

    episode_length = 9
    default_size = 12

    def __init__(self, *args, **options):
        self._step_of, self.label = 3, "mine"
        super().__init__(*args, **options)
        self.preview = super().preview
        self.has_valid_action = lambda: bool((self._open == 0).any())


def test_what_hides_nothing_is_left_alone():
    assert lagco.check(Sound, episodes=1) == []


def test_a_problem_without_a_name_has_that_of_its_class_and_passes_a_given_one_on():
    class JobShop(Problem):
        pass

    class OpenShop(JobShop):
        pass

    class Named(JobShop):
        name = "shop"

    class Heir(Named):
        pass

    names = [cls.name for cls in (JobShop, OpenShop, Named, Heir)]
    assert names == ["job-shop", "open-shop", "shop", "shop"]
