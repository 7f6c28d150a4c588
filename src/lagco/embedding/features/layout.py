"""Layout of feature matrices: the columns of each attribute, and their description in files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lagco.core.pooling import POOLINGS, Pooling
from lagco.core.spec import Attribute
from lagco.errors import SpecError, suggest
from lagco.store import canonical_json, sha256


@dataclass(frozen=True)
class AttributeLayout:
    """The columns of one attribute.

    Attributes:
        name: of the attribute.
        attribute: its declaration; of a loaded encoder, callables in it are :class:`Missing`.
        start: first column.
        stop: one past the last column.
    """

    name: str
    attribute: Attribute
    start: int
    stop: int

    @property
    def type(self) -> str:
        """``binary``, ``categorical`` or ``continuous``."""
        return self.attribute.type

    @property
    def static(self) -> bool:
        """Whether it never changes within an episode."""
        return self.attribute.static

    @property
    def columns(self) -> slice:
        """The columns as a slice."""
        return slice(self.start, self.stop)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.stop - self.start

    def signature(self) -> dict[str, Any]:
        """Everything that decides the columns, as JSON values; callables by qualified name."""
        return {"start": self.start, "width": self.width, **attribute_signature(self.attribute)}


@dataclass(frozen=True)
class TableLayout:
    """Columns of a node or edge matrix. Without attributes there is a single column of ones."""

    attributes: tuple[AttributeLayout, ...]

    @cached_property
    def width(self) -> int:
        """Number of columns, at least 1."""
        return self.attributes[-1].stop if self.attributes else 1

    @property
    def constant(self) -> bool:
        """Whether there is nothing to read, just a column of ones."""
        return not self.attributes

    def __iter__(self) -> Iterator[AttributeLayout]:
        return iter(self.attributes)

    def __contains__(self, name: object) -> bool:
        return any(entry.name == name for entry in self.attributes)

    def __getitem__(self, name: str) -> AttributeLayout:
        for entry in self.attributes:
            if entry.name == name:
                return entry
        known = [entry.name for entry in self.attributes]
        raise SpecError(f"{suggest('attribute', name, known)}; only declared ones have columns")

    def columns(self, names: list[str] | tuple[str, ...]) -> list[int]:
        """Column numbers of several attributes, in the order of `names`."""
        return [c for name in names for c in range(self[name].start, self[name].stop)]


@dataclass(frozen=True)
class ViewLayout:
    """Layout of one graph view.

    Attributes:
        nodes: columns of the node matrix (n, d_v).
        edges: columns of the edge matrix (E, d_e).
        directed: whether the view's edges have a direction.
    """

    nodes: TableLayout
    edges: TableLayout
    directed: bool

    def signature(self) -> dict[str, Any]:
        """The layout as JSON values."""
        return {
            "directed": self.directed,
            "nodes": {entry.name: entry.signature() for entry in self.nodes},
            "edges": {entry.name: entry.signature() for entry in self.edges},
        }


def table_layout(attributes: Mapping[str, Attribute], widths: Mapping[str, int]) -> TableLayout:
    """Lay attributes side by side, in the order declared."""
    entries = []
    start = 0
    for name, attribute in attributes.items():
        entries.append(AttributeLayout(name, attribute, start, start + widths[name]))
        start += widths[name]
    return TableLayout(tuple(entries))


def layout_hash(layouts: Mapping[str, ViewLayout]) -> str:
    """Identity of the layouts of all views."""
    content = {name: layout.signature() for name, layout in layouts.items()}
    return sha256(canonical_json(content).encode())


# -- declarations as JSON


def callable_name(function: Any) -> str:
    """A name for a callable that is the same in every process."""
    if isinstance(function, Missing):
        return function.name
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}:{name}"


def attribute_signature(attribute: Attribute) -> dict[str, Any]:
    """An attribute as JSON values: the parts on which its columns depend."""
    extractor, pooling, categories = attribute.extractor, attribute.pooling, attribute.categories
    return {
        "type": attribute.type,
        "norm": attribute.norm,
        "extractor": extractor
        if extractor is None or isinstance(extractor, str)
        else {"callable": callable_name(extractor)},
        "size": attribute.size,
        "categories": categories
        if categories is None or isinstance(categories, int)
        else [_json_category(value) for value in categories],
        "pooling": pooling.name
        if isinstance(pooling, Pooling) and POOLINGS.get(pooling.name) is pooling
        else {"callable": callable_name(pooling)},
        "reduce": attribute.reduce,
        "static": attribute.static,
    }


@dataclass(frozen=True)
class Missing:
    """Stands for a callable of a stored layout until the declaration supplies it."""

    name: str

    def __call__(self, *_: Any) -> Any:
        raise SpecError(
            f"{self.name} is not stored with the encoder; give the problem's declaration: "
            "Encoder.load(folder, declaration=...) or encoder.bind(declaration)"
        )


def attribute_from_signature(content: Mapping[str, Any]) -> Attribute:
    """The inverse of :func:`attribute_signature`, with :class:`Missing` for callables."""
    extractor, pooling, categories = content["extractor"], content["pooling"], content["categories"]
    return Attribute(
        type=content["type"],
        norm=content["norm"],
        extractor=_missing(extractor) if isinstance(extractor, dict) else extractor,
        size=content["size"],
        categories=[_category(value) for value in categories]
        if isinstance(categories, list)
        else categories,
        pooling=_missing(pooling) if isinstance(pooling, dict) else POOLINGS[pooling],
        reduce=content["reduce"],
        static=content["static"],
    )


def _missing(content: Mapping[str, Any]) -> Missing:
    return Missing(str(content["callable"]))


def _json_category(value: Any) -> Any:
    """Strings and numbers as they are, tuples of them as ``{"tuple": [...]}``, the rest refused."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_json_category(part) for part in value]}
    raise SpecError(
        f"category {value!r} cannot be written to a file; use strings, numbers or tuples of them"
    )


def _category(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_category(part) for part in value["tuple"])
    if isinstance(value, list):
        raise ValueError(f"category {json.dumps(value)}")
    return value


# -- comparing a stored layout with a declaration


def bind_table(owner: str, table: TableLayout, attributes: Mapping[str, Attribute]) -> TableLayout:
    """The table with the callables of `attributes`; an error says what differs."""
    stored = [entry.name for entry in table]
    if stored != list(attributes):
        raise SpecError(
            f"{owner}: the encoder was trained with the attributes {', '.join(stored) or 'none'}, "
            f"the environment declares {', '.join(attributes) or 'none'}"
        )
    bound = []
    for entry in table:
        declared = attribute_signature(attributes[entry.name])
        trained = attribute_signature(entry.attribute)
        differing = [key for key in trained if trained[key] != declared[key]]
        if differing:
            said = "; ".join(f"{k}={declared[k]!r}, trained {trained[k]!r}" for k in differing)
            raise SpecError(f"{owner}, attribute {entry.name!r}: the environment declares {said}")
        bound.append(AttributeLayout(entry.name, attributes[entry.name], entry.start, entry.stop))
    return TableLayout(tuple(bound))
