"""All declarations of a problem, resolved against its views: names filled in, links checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from lagco.core.env import Attributes, ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.graphs.columns import Column
from lagco.core.spec import (
    Attribute,
    Component,
    Edge,
    Function,
    Graph,
    Node,
    Object,
)
from lagco.errors import SpecError, suggest


@dataclass(frozen=True)
class Declaration:
    """Declarations of a problem.

    Attributes:
        node_attributes: view to name to attribute.
        edge_attributes: likewise.
        observation: name to part, each with its view filled in.
        action: name to component, each with its view filled in (objects have none).
    """

    node_attributes: Mapping[str, Mapping[str, Attribute]]
    edge_attributes: Mapping[str, Mapping[str, Attribute]]
    observation: Mapping[str, Graph | Function]
    action: Mapping[str, Component]


def read_declaration(env: ContinuousEnv, views: Mapping[str, GraphView]) -> Declaration:
    """Resolve the declarations of `env` against its present `views`.

    Raises:
        SpecError: names each declaration that does not fit and what would.
    """
    faults: list[SpecError] = []
    found = _resolved(env, views, faults)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecError("\n".join(map(str, faults)))
    return found


def declaration_faults(env: ContinuousEnv, views: Mapping[str, GraphView]) -> list[SpecError]:
    """Every declaration of `env` that does not fit its present `views`."""
    faults: list[SpecError] = []
    _resolved(env, views, faults)
    return faults


@contextmanager
def _noted(faults: list[SpecError]) -> Iterator[None]:
    try:
        yield
    except SpecError as error:
        faults.append(error)


def _resolved(
    env: ContinuousEnv, views: Mapping[str, GraphView], faults: list[SpecError]
) -> Declaration:
    """What is declared; what does not fit is added to `faults`."""
    if not views:
        faults.append(SpecError("get_graphs() returned no graph; return at least one view"))
        return Declaration({}, {}, {}, {})
    nodes = {name: view.nodes for name, view in views.items()}
    edges = {name: view.edge_attributes for name, view in views.items()}
    node_attributes = _per_view("_node_attributes", env._node_attributes, nodes, faults)
    edge_attributes = _per_view("_edge_attributes", env._edge_attributes, edges, faults)
    observation: dict[str, Graph | Function] = {}
    for name, part in env._observation_type.items():
        owner = f"_observation_type[{name!r}]"
        with _noted(faults):
            if not isinstance(part, Graph | Function):
                raise SpecError(f"{owner} is {part!r}; use Graph or Function")
            part = observation[name] = _with_view(owner, part, views)
            if isinstance(part, Graph):
                _check_names(owner, part, nodes[part.graph or ""])
    if not env._action_type:
        faults.append(SpecError(f"{type(env).__name__} declares no _action_type"))
    action: dict[str, Component] = {}
    for name, component in env._action_type.items():
        owner = f"_action_type[{name!r}]"
        with _noted(faults):
            if not isinstance(component, Component):
                known = "Node, Edge, Path, SubGraph or Object"
                raise SpecError(f"{owner} is {component!r}; use {known}")
            earlier = dict(action)
            action[name] = component  # whatever is wrong with it, others may refer to it
            _check_links(owner, component, earlier)
            if not isinstance(component, Object):
                component = action[name] = _with_view(owner, component, views)
                columns = edges if isinstance(component, Edge) else nodes
                _check_names(owner, component, columns[component.graph or ""])
    return Declaration(node_attributes, edge_attributes, observation, action)


def _per_view(
    owner: str,
    declared: Attributes,
    columns: Mapping[str, Mapping[str, Column]],
    faults: list[SpecError],
) -> dict[str, dict[str, Attribute]]:
    resolved: dict[str, dict[str, Attribute]] = {view: {} for view in columns}
    for name, value in declared.items():
        with _noted(faults):
            for view, attributes in _carried(owner, name, value, columns).items():
                resolved[view].update(attributes)
    for view, attributes in resolved.items():
        for name in attributes:
            if name not in columns[view]:
                missing = (
                    f"{owner}[{name!r}]: view {view!r} has no such attribute; "
                    f"it has {', '.join(columns[view]) or 'none'}"
                )
                faults.append(SpecError(missing))
    return resolved


def _carried(
    owner: str, name: str, value: object, columns: Mapping[str, Mapping[str, Column]]
) -> dict[str, dict[str, Attribute]]:
    """Attributes by view, of one entry of a declaration."""
    if isinstance(value, Mapping):
        if name not in columns:
            raise SpecError(f"{owner}: {suggest('view', name, columns)}")
        return {name: dict(value)}
    if not isinstance(value, Attribute):
        raise SpecError(f"{owner}[{name!r}] is {value!r}; use Attribute(...)")
    wanted = [value.graph] if isinstance(value.graph, str) else value.graph
    for view in wanted or ():
        if view not in columns:
            raise SpecError(f"{owner}[{name!r}]: {suggest('view', view, columns)}")
    carriers = [v for v in columns if value.on(v) and (wanted or name in columns[v])]
    if not carriers:
        raise SpecError(
            f"{owner}[{name!r}]: no view has an attribute {name!r}; views have {_listing(columns)}"
        )
    return {view: {name: value} for view in carriers}


Part = TypeVar("Part", bound="Graph | Function | Component")


def _with_view(owner: str, part: Part, views: Mapping[str, GraphView]) -> Part:
    if part.graph is None:
        if len(views) > 1:
            raise SpecError(f"{owner} needs graph=: the views are {', '.join(views)}")
        return replace(part, graph=next(iter(views)))
    if part.graph not in views:
        raise SpecError(f"{owner}: {suggest('view', part.graph, views)}")
    return part


def _check_links(owner: str, component: Component, earlier: Mapping[str, Component]) -> None:
    kinds: dict[str, tuple[type[Component], ...]] = {
        "different_from": (Node,),
        "ends": (Edge,),
        "reference": (Node, Edge),
    }
    for link, other in component.linked().items():
        if other not in earlier:
            raise SpecError(
                f"{owner}: {link}={other!r} must name a component declared before it; "
                f"those are {', '.join(earlier) or 'none'}"
            )
        if not isinstance(earlier[other], kinds[link]):
            wanted = " or ".join(kind.__name__ for kind in kinds[link])
            raise SpecError(
                f"{owner}: {link}={other!r} is a {type(earlier[other]).__name__}, "
                f"it must be a {wanted}"
            )
        if link != "different_from" and getattr(earlier[other], "none", False):
            raise SpecError(
                f"{owner}: {link}={other!r} may be none of the elements (none=True), which has "
                "nothing to refer to; leave none out, or give the choice an Object of its own"
            )


def _check_names(owner: str, part: Component | Graph, columns: Mapping[str, Column]) -> None:
    named = [*part.spec, *(part.attributes if isinstance(part, Component) else ())]
    for name in named:
        if name not in columns:
            raise SpecError(f"{owner}: {suggest('attribute', name, columns)}")


def _listing(columns: Mapping[str, Mapping[str, Column]]) -> str:
    return "; ".join(f"{view}: {', '.join(names) or 'none'}" for view, names in columns.items())
