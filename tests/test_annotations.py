"""Annotations of the public functions and declarations resolve at run time."""

import inspect
import typing

import gymnasium as gym
import pytest

import lagco

#: gymnasium's own annotations of `Env` do not resolve, hence neither do those of classes below it
PUBLIC = [
    value
    for value in (getattr(lagco, name) for name in lagco.__all__)
    if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, gym.Env))
]


@pytest.mark.parametrize("value", PUBLIC, ids=lambda value: value.__name__)
def test_annotations_resolve(value):
    hints = typing.get_type_hints(value)
    if inspect.isfunction(value):
        assert set(inspect.signature(value).parameters) <= set(hints)


def test_all_functions_are_there():
    assert {"train", "solve", "evaluate", "check", "load"} <= {value.__name__ for value in PUBLIC}
