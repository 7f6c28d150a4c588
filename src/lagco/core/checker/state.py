"""Checks of one state: its attributes against their declarations, and the changes it notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.checker.finding import Finding, shown
from lagco.core.declaring.declaration import Declaration
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.graphs.columns import Column, as_column, differing_rows
from lagco.core.spec import Attribute, Function
from lagco.results.numbers import of_things

#: view to (the view itself, a copy of it, its clock), taken before a step
Before = Mapping[str, tuple[GraphView, GraphView, int]]


def check_attributes(
    declared: Declaration,
    views: Mapping[str, GraphView],
    first: Mapping[str, GraphView],
    step: int,
) -> Iterator[Finding]:
    """Every declared attribute is there, with its type, range and shape; static ones stay."""
    for view, graph in views.items():
        for owner, attributes, columns, before in (
            (
                "_node_attributes",
                declared.node_attributes.get(view, {}),
                graph.nodes,
                first[view].nodes,
            ),
            (
                "_edge_attributes",
                declared.edge_attributes.get(view, {}),
                graph.edge_attributes,
                first[view].edge_attributes,
            ),
        ):
            for name, attribute in attributes.items():
                who = f"{owner}[{name!r}]"
                if name not in columns:
                    yield Finding(
                        "attribute",
                        who,
                        f"is missing in view {view!r}",
                        "keep it on every node and edge in every state",
                        step,
                    )
                    continue
                wrong = _wrong_values(attribute, columns[name], _places(graph, owner))
                if wrong is not None:
                    yield Finding("attribute", who, *wrong, step)
                if attribute.static and differing_rows(before[name], columns[name]).size:
                    row = int(differing_rows(before[name], columns[name])[0])
                    yield Finding(
                        "attribute",
                        who,
                        f"is declared static, but row {row} changed from "
                        f"{shown(before[name][row])} to {shown(columns[name][row])}",
                        "leave out static=True",
                        step,
                    )


#: from a row to the node or edge that it is about, as messages name it
_Places: TypeAlias = Callable[[int], str]


def _places(graph: GraphView, owner: str) -> _Places:
    labels = range(graph.num_nodes) if graph.labels is None else graph.labels
    if owner == "_node_attributes":
        return lambda row: f"at node {shown(labels[row])}"
    ends = graph.edges
    return lambda row: f"at edge {shown(labels[ends[0, row]])}-{shown(labels[ends[1, row]])}"


def _wrong_values(attribute: Attribute, column: Column, at: _Places) -> tuple[str, str] | None:
    """Fault of a column, and the remedy."""
    if attribute.extractor is not None:
        return None  # any value will do, the extractor decides
    if attribute.type == "categorical":
        return _wrong_categories(attribute, column, at)
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "biuf":
        column = as_column(list(column))
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "biuf":
        for row, value in enumerate(column):
            numbers = _numbers(value)
            if numbers is None:
                return (
                    f"is {shown(value)} {at(row)}, which is not a number",
                    "give numbers, or an extractor= for them",
                )
            # those of size 1 may be several numbers, which are pooled
            if attribute.size > 1 and numbers.size != attribute.size:
                return (
                    f"is {shown(value)} {at(row)}, {_counted(numbers.size)} where "
                    f"size={attribute.size} declares {attribute.size}",
                    "give equally many numbers everywhere, and declare the right size=",
                )
        return None
    shape = (len(column),) if attribute.size == 1 else (len(column), attribute.size)
    if column.shape != shape and not (attribute.size == 1 and column.shape == (len(column), 1)):
        return (
            f"has shape {column.shape}, size={attribute.size} declares {shape}",
            "declare the right size=",
        )
    numbers = column.astype(np.float64)
    if not np.isfinite(numbers).all():
        return f"is {_first(column, ~np.isfinite(numbers), at)}", "keep every value finite"
    if attribute.type == "binary" and not np.isin(numbers, (0.0, 1.0)).all():
        odd = _first(column, ~np.isin(numbers, (0.0, 1.0)), at)
        return f"is declared binary and is {odd}", "use 0 and 1, or declare another type="
    slack = 1e-6
    if attribute.low is not None and (numbers < attribute.low - slack).any():
        odd = _first(column, numbers < attribute.low - slack, at)
        return f"is {odd}, below low={attribute.low}", "declare the right low="
    if attribute.high is not None and (numbers > attribute.high + slack).any():
        odd = _first(column, numbers > attribute.high + slack, at)
        return f"is {odd}, above high={attribute.high}", "declare the right high="
    return None


def _counted(number: int) -> str:
    return f"{number} number" + ("" if number == 1 else "s")


def _numbers(value: Any) -> Array | None:
    """A number or a list of numbers as an array, as encoders read it; None for anything else."""
    try:
        return np.asarray(
            list(value) if isinstance(value, set | frozenset) else value, dtype=np.float64
        )
    except (TypeError, ValueError):
        return None


def _wrong_categories(attribute: Attribute, column: Column, at: _Places) -> tuple[str, str] | None:
    categories = attribute.categories
    allowed = range(categories) if isinstance(categories, int) else list(categories or ())
    for row, listed in enumerate(column):
        several = isinstance(listed, list | tuple | set | frozenset | np.ndarray)
        for value in listed if several and listed not in allowed else [listed]:
            if value in allowed:
                continue
            return (
                f"is {shown(value)} {at(row)}, not one of the {len(allowed)} categories",
                "declare all categories=",
            )
    return None


def _first(column: Array, where: Array, at: _Places) -> str:
    row = int(np.argwhere(where)[0][0])
    return f"{shown(column[where][0])} {at(row)}"


def check_functions(
    declared: Declaration, views: Mapping[str, GraphView], step: int
) -> Iterator[Finding]:
    """Every `Function` of the observation returns as many finite numbers as it declares."""
    for name, part in declared.observation.items():
        if not isinstance(part, Function):
            continue
        who = f"_observation_type[{name!r}]"
        try:
            value = np.asarray(part.function(views[part.graph or ""]), dtype=np.float64)
        except Exception as error:
            raised = f"raised {type(error).__name__}: {error}"
            yield Finding("observation", who, raised, "it takes a GraphView", step)
            continue
        if value.size != part.size:
            yield Finding(
                "observation",
                who,
                f"returns {of_things(value.size, 'numbers')}, size={part.size} declares "
                f"{part.size}",
                "declare the right size=",
                step,
            )
        elif not np.isfinite(value).all():
            yield Finding("observation", who, f"returns {value}", "return finite numbers", step)


def check_tracking(before: Before, views: Mapping[str, GraphView], step: int) -> Iterator[Finding]:
    """Everything that differs from before the step was noted as changed."""
    for name, view in views.items():
        if name not in before or before[name][0] is not view:
            continue  # a new view is read as a whole
        _, old, clock = before[name]
        changes = view.changes_since(clock)
        if changes.structure:
            continue
        same = old.num_nodes == view.num_nodes and np.array_equal(old.edges, view.edges)
        if not same and not changes.wiring:
            yield Finding(
                "tracking",
                f"get_graphs()[{name!r}]",
                "its nodes or edges changed unnoticed",
                "change them with replace(), extend() or move_edges() of the GraphView",
                step,
            )
            continue
        for kind, was, now, noted in (
            ("node", old.nodes, view.nodes, changes.nodes),
            ("edge", old.edge_attributes, view.edge_attributes, changes.edges),
        ):
            for attribute, column in now.items():
                # where nodes or edges were added, those there were come first
                differing = differing_rows(was[attribute], column[: len(was[attribute])])
                known = noted.get(attribute, np.zeros(0, dtype=np.int64))
                missed = differing[:0] if known is None else np.setdiff1d(differing, known)
                if missed.size:
                    row = int(missed[0])
                    yield Finding(
                        "tracking",
                        f"get_graphs()[{name!r}], {kind} attribute {attribute!r}",
                        f"row {row} changed from {shown(was[attribute][row])} to "
                        f"{shown(column[row])} unnoticed",
                        f"write it with set_{kind}(), or call touch_{kind}() after writing",
                        step,
                    )


def check_possible(
    env: ContinuousEnv, names: Sequence[str], valid: Any, step: int
) -> Iterator[Finding]:
    """`possible_parts` names components and rules out nothing that a valid action has."""
    declaration = "possible_parts()"
    possible = env.possible_parts()
    unknown = [name for name in possible if name not in names]
    if unknown:
        yield Finding(
            "validity",
            declaration,
            f"names {unknown[0]!r}, which is not a component",
            f"use the names of _action_type: {', '.join(names)}",
            step,
        )
        return
    parts = env.parts_from_actions(valid) if len(valid) and possible else np.empty((0, len(names)))
    for name, mask in possible.items():
        if np.asarray(mask).dtype != np.bool_:
            yield Finding(
                "validity",
                declaration,
                f"has {np.asarray(mask).dtype} for {name!r}",
                "return bool arrays over node, edge or option indices",
                step,
            )
            continue
        for row, chosen in enumerate(parts[:, names.index(name)].astype(int).tolist()):
            if not (chosen < len(mask) and mask[chosen]):
                yield Finding(
                    "validity",
                    declaration,
                    f"rules out {chosen} for {name!r}, but action {shown(valid[row])} is valid",
                    "rule out only what no valid action has",
                    step,
                )
                break
