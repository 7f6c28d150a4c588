"""The methods by name."""

from __future__ import annotations

from lagco.agents.config import METHODS
from lagco.agents.method import Method
from lagco.errors import UnknownName, suggest


def method_of(name: str) -> Method:
    """The method of that name; its module is imported when it is asked for."""
    if name not in METHODS:
        raise UnknownName(suggest("method", name, METHODS))
    if name == "projection":
        from lagco.agents.projection import ProjectionMethod

        return ProjectionMethod()
    if name == "soft-projection":
        from lagco.agents.soft_projection import SoftProjectionMethod

        return SoftProjectionMethod()
    if name == "iterative":
        from lagco.agents.iterative import IterativeMethod

        return IterativeMethod()
    from lagco.agents.discrete import DISCRETE_METHODS

    return next(method for method in DISCRETE_METHODS if method.name == name)
