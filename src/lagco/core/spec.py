"""Declarations of a problem: attributes of its graphs, observations and actions.

The spelling is the paper's (its two listings run as they stand there). Every declaration is
checked when it is made, so a mistake is reported where it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.pooling import AnyPooling, Concat, Mean
from lagco.errors import SpecError, suggest

TYPES = ("binary", "categorical", "continuous")
NORMS = ("min_max", "z_score", "l1", "l2")
EXTRACTORS = ("onehot", "bert")

#: Attribute name to the value it must have, or to a predicate over the attribute's array.
Condition: TypeAlias = Mapping[str, Any]
Extractor: TypeAlias = str | Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute of nodes or edges that the encoder reads and learns to reconstruct.

    Attributes:
        type: ``continuous``, ``binary`` (0 or 1) or ``categorical``; decides the decoder head.
        norm: how values are scaled within a graph: ``min_max``, ``z_score``, ``l1``, ``l2``, None.
        extractor: for values that are not numbers: ``'onehot'``, ``'bert'`` (a sentence embedding
            of a text), or a callable from a value to a vector.
        size: numbers per node or edge, before an extractor; more than 1 means rows are vectors.
        categories: the values a categorical attribute takes, or how many (0 … categories-1).
        low: smallest value it may take, where there is one.
        high: largest value it may take.
        pooling: combines the vectors of a list-valued attribute into one.
        reduce: width to which an extracted vector is reduced; None leaves it to the feature set.
        graph: view or views that carry it; by default every view that has it.
        static: whether it never changes within an episode, so that it is read once.
    """

    type: str = "continuous"
    norm: str | None = None
    extractor: Extractor | None = None
    size: int = 1
    categories: int | Sequence[Hashable] | None = None
    low: float | None = None
    high: float | None = None
    pooling: AnyPooling = Mean
    reduce: int | None = None
    graph: str | Sequence[str] | None = None
    static: bool = False

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise SpecError(f"Attribute: {suggest('type', self.type, TYPES)}")
        if self.norm == "none":
            object.__setattr__(self, "norm", None)
        if self.norm is not None and self.norm not in NORMS:
            raise SpecError(f"Attribute: {suggest('norm', self.norm, (*NORMS, 'none'))}")
        _check_extractor("Attribute", self.extractor)
        if self.type == "categorical" and self.categories is None:
            raise SpecError(
                "Attribute(type='categorical') needs categories=: the values it takes, "
                "or how many they are"
            )
        if self.type != "continuous" and self.norm is not None:
            raise SpecError(
                f"Attribute(type={self.type!r}, norm={self.norm!r}): norms are for continuous "
                "attributes; leave norm out"
            )
        if self.size < 1:
            raise SpecError(f"Attribute(size={self.size}): a row has at least one number")
        if self.reduce is not None and self.reduce < 1:
            raise SpecError(f"Attribute(reduce={self.reduce}): a reduction keeps at least 1 number")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise SpecError(f"Attribute(low={self.low}, high={self.high}): low is above high")
        _check_pooling("Attribute", self.pooling)

    @property
    def num_categories(self) -> int:
        """Number of categories (0 if it is not categorical)."""
        if self.categories is None:
            return 0
        return self.categories if isinstance(self.categories, int) else len(self.categories)

    def on(self, view: str) -> bool:
        """Whether the attribute may stand in that view."""
        return self.graph is None or view == self.graph or view in tuple(self.graph)


@dataclass(frozen=True, kw_only=True)
class Component:
    """One part of an action; the action is the tuple of its parts, in the order declared.

    Attributes:
        graph: view the part is chosen from; may be left out where there is just one.
        spec: conditions on the attributes of what may be chosen.
        attributes: attributes of the chosen element appended to its embedding.
    """

    graph: str | None = None
    spec: Condition = field(default_factory=dict)
    attributes: Sequence[str] = ()
    #: the component's declarations that name another component
    links: ClassVar[tuple[str, ...]] = ()

    @property
    def takes_nodes(self) -> bool:
        """Whether the raw value is several nodes, padded with n; an action has one such at most."""
        return False

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if self.spec is None:
            object.__setattr__(self, "spec", {})
        if not isinstance(self.spec, Mapping):
            raise SpecError(
                f"{kind}(spec={self.spec!r}): a spec maps attribute names to values, "
                "for instance {'visited': False}"
            )
        if isinstance(self.attributes, str):
            object.__setattr__(self, "attributes", (self.attributes,))

    def linked(self) -> dict[str, str]:
        """Declarations that name another component, with the name."""
        named = {link: getattr(self, link) for link in self.links}
        return {link: name for link, name in named.items() if name is not None}


@dataclass(frozen=True, kw_only=True)
class Node(Component):
    """A node; its raw value is its index.

    Attributes:
        different_from: another node component that must not choose the same node.
        none: whether "none of them" may be chosen, too, to do nothing or to reject; its raw value
            is the number of nodes.
    """

    links: ClassVar[tuple[str, ...]] = ("different_from",)
    different_from: str | None = None
    none: bool = False


@dataclass(frozen=True, kw_only=True)
class Edge(Component):
    """An edge; its raw value is its index.

    Attributes:
        pooling: combines the embeddings of its two ends.
        none: whether "none of them" may be chosen, too; its raw value is the number of edges.
    """

    pooling: AnyPooling = Concat
    none: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_pooling("Edge", self.pooling)


@dataclass(frozen=True, kw_only=True)
class Path(Component):
    """A simple path; its raw value is its node indices, padded with n.

    Attributes:
        pooling: combines the embeddings of its nodes; `Concat` pads with zeros.
        ends: edge component whose two ends the path joins; None leaves the ends free.
        max_len: most hops it may have (where its ends are farther apart than that, as many as
            they are apart); None for n - 1, up to what was seen in training.
    """

    links: ClassVar[tuple[str, ...]] = ("ends",)
    pooling: AnyPooling = Concat
    ends: str | None = None
    max_len: int | None = None

    @property
    def takes_nodes(self) -> bool:
        """Whether the raw value is several nodes."""
        return True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_pooling("Path", self.pooling)
        if self.max_len is not None and self.max_len < 1:
            raise SpecError(f"Path(max_len={self.max_len}): a path has at least one hop")


@dataclass(frozen=True, kw_only=True)
class SubGraph(Component):
    """A set of nodes, with ``max_size`` any connected one, with ``candidates`` one of a list.

    The raw value of a connected set is its nodes in ascending order, padded with n to `max_size`
    numbers; such sets are searched without listing them. The raw value of a listed one is its
    number in the list.

    Attributes:
        pooling: combines the vectors of its nodes, which are embeddings and `attributes`; `Concat`
            pads with zeros to `max_size` nodes.
        max_size: most nodes of a connected set; its nodes meet `spec`, and edges count in both
            directions.
        connected: whether sets of up to `max_size` nodes are connected; all others are listed.
        candidates: from the view to the sets of node indices that may be chosen.
    """

    pooling: AnyPooling = Mean
    max_size: int | None = None
    connected: bool = True
    candidates: Callable[[Any], Sequence[Sequence[int]]] | None = None

    @property
    def takes_nodes(self) -> bool:
        """Whether the raw value is several nodes."""
        return self.candidates is None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_pooling("SubGraph", self.pooling)
        if (self.candidates is None) == (self.max_size is None):
            raise SpecError(
                "SubGraph needs either max_size= (any connected set of up to so many nodes) or "
                "candidates= (a function from the graph view to the node sets that may be chosen)"
            )
        if self.max_size is not None and self.max_size < 1:
            raise SpecError(f"SubGraph(max_size={self.max_size}): a set has at least one node")
        if self.max_size is not None and not self.connected:
            raise SpecError(
                "SubGraph(connected=False): sets that need not be connected are listed; give "
                "candidates= instead of max_size="
            )

    def fits(self, view: GraphView, values: Array) -> Array:
        """Whether raw values are connected sets as declared: bool (k,).

        Args:
            view: the present state of its view.
            values: (k, max_size), each nodes in ascending order, padded with n.
        """
        allowed = np.zeros(view.num_nodes, dtype=bool)
        allowed[view.select_nodes(self.spec)] = True
        rows = np.ascontiguousarray(values, dtype=np.int64)
        from lagco.core.graphs.connected import connected_rows  # compiled: loaded when needed

        found: Array = connected_rows(np.ascontiguousarray(view.edges), allowed, rows)
        return found


@dataclass(frozen=True, kw_only=True)
class Object(Component):
    """Something outside the graph: an option, or an object attached to a chosen node.

    Attributes:
        extractor: from the object to a vector, as for :class:`Attribute`.
        choices: the options, the same in every state; the raw value is the index.
        reference: component whose chosen element carries the objects.
        key: attribute of that element that lists them; the raw value is the position in the list.
        reduce: width to which an extracted vector is reduced.

    With a reference, ``attributes`` name arrays (n, L) or (n, L, w) of the view: what belongs to
    the object at a position of an element's list, and so tells how the two go together.
    """

    links: ClassVar[tuple[str, ...]] = ("reference",)
    extractor: Extractor | None = None
    choices: Sequence[Any] | None = None
    reference: str | None = None
    key: str | None = None
    reduce: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_extractor("Object", self.extractor)
        if (self.choices is None) == (self.reference is None):
            raise SpecError(
                "Object needs either choices= (options of its own) or reference= and key= "
                "(objects of another component's element)"
            )
        text = next((choice for choice in self.choices or () if isinstance(choice, str)), None)
        if text is not None and self.extractor is None:
            raise SpecError(
                f"Object(choices=…): {text!r} is no number; give extractor='onehot' (or 'bert', or "
                "a function that returns a vector)"
            )
        if self.attributes and self.reference is None:
            raise SpecError(
                f"Object(choices=…, attributes={list(self.attributes)}): options are the same for "
                "all; attributes belong to objects with reference="
            )
        if self.reference is not None and self.key is None:
            raise SpecError(
                f"Object(reference={self.reference!r}) needs key=: the attribute that lists "
                "the objects"
            )


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Part of the observation: node embeddings of a view, pooled.

    Attributes:
        poolings: each gives one vector; they are concatenated.
        graph: view; may be left out where there is just one.
        spec: conditions on the nodes that are pooled; all by default.
    """

    poolings: Sequence[AnyPooling]
    graph: str | None = None
    spec: Condition = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.poolings, Sequence) or not self.poolings:
            raise SpecError(f"Graph(poolings={self.poolings!r}): give a list of poolings")
        for pooling in self.poolings:
            _check_pooling("Graph", pooling)
            if pooling is Concat:
                raise SpecError("Graph(poolings=[Concat]): its width would depend on the graph")


@dataclass(frozen=True)
class Function:
    """Part of the observation: any function of a view.

    Attributes:
        function: from the :class:`~lagco.GraphView` to a number or a vector.
        graph: view; may be left out where there is just one.
        size: how many numbers it returns.
    """

    function: Callable[[Any], Any]
    graph: str | None = None
    size: int = 1

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SpecError(f"Function({self.function!r}): the first argument must be callable")


def _check_extractor(owner: str, extractor: Extractor | None) -> None:
    if isinstance(extractor, str) and extractor not in EXTRACTORS:
        raise SpecError(f"{owner}: {suggest('extractor', extractor, EXTRACTORS)}, or a callable")
    if extractor is not None and not isinstance(extractor, str) and not callable(extractor):
        raise SpecError(f"{owner}(extractor={extractor!r}): give a name or a callable")


def _check_pooling(owner: str, pooling: object) -> None:
    if not callable(pooling):
        raise SpecError(
            f"{owner}: pooling {pooling!r} is not callable; use Mean, Max, Min, Sum, Concat "
            "or a function of an array (k, d)"
        )
