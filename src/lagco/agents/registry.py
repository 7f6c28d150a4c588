"""The methods by name: one line each; packages add theirs by entry points ``lagco.methods``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagco.errors import LagcoError
from lagco.registry import Registry

if TYPE_CHECKING:
    from lagco.agents.method import Method

#: in the order of the paper's tables, ours last; a method's module is imported when it is needed
METHODS: Registry[Method] = Registry(
    "method",
    "lagco.methods",
    {
        "p-discrete": "lagco.agents.methods.discrete:P_DISCRETE",
        "p-discrete-m": "lagco.agents.methods.discrete:P_DISCRETE_M",
        "g-discrete": "lagco.agents.methods.discrete:G_DISCRETE",
        "g-discrete-m": "lagco.agents.methods.discrete:G_DISCRETE_M",
        "iterative": "lagco.agents.methods.iterative:METHOD",
        "projection": "lagco.agents.methods.projection:METHOD",
        "soft-projection": "lagco.agents.methods.soft_projection:METHOD",
        "taught-projection": "lagco.agents.methods.taught_projection:METHOD",
    },
)


def method_names() -> tuple[str, ...]:
    """Names of all methods, in order."""
    return tuple(METHODS)


def method_of(name: str) -> Method:
    """The method of that name."""
    from lagco.agents.method import Method

    method = METHODS[name]
    if not isinstance(method, Method) or method.name != name:
        raise LagcoError(
            f"the entry point {name!r} of the group 'lagco.methods' names {method!r}; it must be a "
            f"lagco.agents.method.Method called {name!r}"
        )
    return method
