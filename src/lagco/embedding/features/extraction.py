"""From the values of an attribute to numbers, one fixed-width row per node or edge."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graphs.columns import Column
from lagco.core.spec import Attribute
from lagco.embedding.features.norms import apply_norm, is_per_row
from lagco.embedding.features.reduction import Reduction, fit_reduction
from lagco.embedding.text import extractor as text
from lagco.errors import SpecError
from lagco.results.numbers import of_things
from lagco.store import shown

_MEMO_LIMIT = 100_000
_LISTS = (list, tuple, set, frozenset)


class _OddValue(Exception):
    """A value that cannot be read: its row among those that are read, and why."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason


@dataclass
class AttributeReader:
    """Reads one attribute of one view.

    A list, tuple or set as a value is list-valued: its elements are extracted one by one and
    combined by the attribute's pooling; an empty one gives zeros. Anything else is one element.

    Attributes:
        owner: view and attribute, for messages.
        attribute: the declaration.
        width: numbers per row.
        reduction: of extracted vectors, where there is one.
    """

    owner: str
    attribute: Attribute
    width: int
    reduction: Reduction | None = None

    def __post_init__(self) -> None:
        attribute = self.attribute
        self._codes: dict[Hashable, int] | None = None
        self._onehot = attribute.type == "categorical" or attribute.extractor == "onehot"
        if self._onehot and attribute.categories is not None:
            values = attribute.categories
            listed = range(values) if isinstance(values, int) else values
            self._codes = {value: code for code, value in enumerate(listed)}
        self._memo: dict[Hashable, Array] = {}
        self._extracts = self._onehot or attribute.extractor is not None
        #: whether values are numbers that go into the matrix as they are
        self.plain = not self._extracts and attribute.norm is None
        self.per_row = is_per_row(attribute.norm, self.width)

    def block(self, column: Column) -> Array:
        """All rows, normed over the graph: float32 (k, width)."""
        return self._normed(column, None)

    def rows(self, column: Column, rows: Array) -> Array:
        """Some rows (len(rows), width) of an attribute that is `per_row`."""
        if isinstance(column, np.ndarray):
            return self._normed(column[rows], rows)
        return self._normed([column[row] for row in rows], rows)

    def _normed(self, column: Column, rows: Array | None) -> Array:
        """Values as they enter the matrix; `rows` says which ones they are, None: all."""
        try:
            return apply_norm(self.attribute.norm, self.raw(column))
        except _OddValue as odd:
            row = odd.row if rows is None else int(rows[odd.row])
            raise SpecError(f"{self.owner}: row {row} {odd.reason}") from None

    def raw(self, column: Column) -> Array:
        """All rows before the norm: (k, width)."""
        if not self._extracts:
            return self._numbers(column)
        if isinstance(column, np.ndarray) and self._onehot and _is_flat(column):
            return self._onehot_array(column)
        values = list(column)
        if self.attribute.extractor == "bert":  # one batch for all texts not seen before
            self._learn_texts(element for value in values for element in self._elements(value))
        block = np.zeros((len(values), self.width), dtype=np.float32)
        for row, value in enumerate(values):
            if isinstance(value, _LISTS):
                vectors = [self._vector(element) for element in self._elements(value)]
                if vectors:
                    block[row] = self._pooled(np.stack(vectors))
            else:
                block[row] = self._vector(value)
        return block

    # -- numbers

    def _numbers(self, column: Column) -> Array:
        size = self.attribute.size
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            block = column.reshape(len(column), -1 if column.size else size)
            if block.shape[1] != size:
                raise SpecError(
                    f"{self.owner}: rows hold {of_things(block.shape[1], 'numbers')}, the "
                    f"declaration says size={size}"
                )
            return block
        block = np.zeros((len(column), size))
        for row, value in enumerate(column):
            try:
                numbers = np.asarray(
                    list(value) if isinstance(value, set | frozenset) else value, dtype=np.float64
                )
            except (TypeError, ValueError):
                raise _OddValue(
                    row,
                    f"is {value!r}, which is no number; declare an extractor: 'onehot', 'bert' or "
                    "a callable",
                ) from None
            if numbers.shape == (size,) or numbers.ndim == 0:
                block[row] = numbers
            elif numbers.size % size:
                raise _OddValue(
                    row,
                    f"holds {numbers.size} numbers ({shown(value)}), the declaration says "
                    f"size={size}; give equally many everywhere",
                )
            elif numbers.size:
                block[row] = self._pooled(numbers.reshape(-1, size))
        return block

    # -- one-hot

    def _onehot_array(self, column: Array) -> Array:
        assert self._codes is not None
        block = np.zeros((len(column), self.width), dtype=np.float32)
        if isinstance(self.attribute.categories, int) and column.dtype.kind in "biu":
            codes = column.astype(np.int64)
            outside = np.flatnonzero((codes < 0) | (codes >= self.width))
            if outside.size:
                raise self._unknown(column[outside[0]].item())
        else:
            codes = np.fromiter((self._code(v) for v in column.tolist()), np.int64, len(column))
        block[np.arange(len(column)), codes] = 1.0
        return block

    def _code(self, value: Any) -> int:
        assert self._codes is not None
        code = self._codes.get(value)
        if code is None:
            raise self._unknown(value)
        return code

    def _unknown(self, value: Any) -> SpecError:
        return SpecError(
            f"{self.owner}: {value!r} is none of the declared categories "
            f"({_shortened(self._codes or ())})"
        )

    # -- elements

    def _elements(self, value: Any) -> Iterable[Any]:
        if isinstance(value, set | frozenset):  # the order of a set differs between processes
            return sorted(value, key=repr)
        return value if isinstance(value, _LISTS) else (value,)

    def _vector(self, element: Any) -> Array:
        try:
            known = self._memo.get(element)
        except TypeError:  # not hashable
            return self._extracted(element)
        if known is None:
            known = self._extracted(element)
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            self._memo[element] = known
        return known

    def _extracted(self, element: Any) -> Array:
        if self._onehot:
            flags = np.zeros(self.width, dtype=np.float32)
            flags[self._code(element)] = 1.0
            return flags
        vector: Array = full_vectors(self.owner, self.attribute, [element])
        if self.reduction is not None:
            if vector.shape[1] != len(self.reduction.mean):
                self._wrong_width(vector.shape[1], len(self.reduction.mean))
            vector = self.reduction(vector)
        if vector.shape[1] != self.width:
            self._wrong_width(vector.shape[1], self.width)
        return np.asarray(vector[0], dtype=np.float32)

    def _learn_texts(self, elements: Iterable[Any]) -> None:
        new = list(dict.fromkeys(e for e in elements if e not in self._memo))
        if not new:
            return
        vectors = full_vectors(self.owner, self.attribute, new)
        if self.reduction is not None:
            vectors = self.reduction(vectors)
        if vectors.shape[1] != self.width:
            self._wrong_width(vectors.shape[1], self.width)
        self._memo.update(zip(new, vectors.astype(np.float32), strict=True))

    def _pooled(self, vectors: Array) -> Array:
        pooled = np.asarray(self.attribute.pooling(vectors), dtype=np.float32).reshape(-1)
        if pooled.shape[0] != vectors.shape[1]:
            raise SpecError(
                f"{self.owner}: the pooling {self.attribute.pooling!r} gives {pooled.shape[0]} "
                f"numbers for vectors of {vectors.shape[1]}; use Mean, Max, Min or Sum"
            )
        return pooled

    def _wrong_width(self, seen: int, wanted: int) -> None:
        raise SpecError(
            f"{self.owner}: the extractor gives {of_things(seen, 'numbers')}, it gave {wanted} "
            "in training"
        )


def full_vectors(owner: str, attribute: Attribute, elements: Sequence[Any]) -> Array:
    """Extract elements (k) to vectors (k, full), before any reduction."""
    if attribute.extractor == "bert":
        for element in elements:
            if not isinstance(element, str):
                raise SpecError(f"{owner}: 'bert' reads texts or lists of texts, got {element!r}")
        return text.embed_texts(elements)
    extractor = attribute.extractor
    assert callable(extractor)
    rows = [np.asarray(extractor(e), dtype=np.float32).reshape(-1) for e in elements]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise SpecError(f"{owner}: the extractor gives vectors of the widths {sorted(widths)}")
    return np.stack(rows)


def fit_reader(
    owner: str, attribute: Attribute, columns: Sequence[Column], text_width: int | None
) -> AttributeReader:
    """A reader for `attribute`, its width and reduction settled by the training `columns`.

    Args:
        owner: view and attribute, for messages.
        attribute: the declaration.
        columns: the attribute in every training state.
        text_width: width of texts whose declaration does not say; None keeps all of it.
    """
    categorical = attribute.type == "categorical"
    if categorical or attribute.extractor == "onehot":
        if attribute.extractor not in (None, "onehot"):
            raise SpecError(f"{owner}: a categorical attribute is one-hot; leave the extractor out")
        if not attribute.num_categories:
            raise SpecError(f"{owner}: extractor='onehot' needs categories=")
        if attribute.size != 1:
            raise SpecError(f"{owner}: size={attribute.size}; a one-hot attribute has one value")
        return AttributeReader(owner, attribute, attribute.num_categories)
    if attribute.extractor is None:
        return AttributeReader(owner, attribute, attribute.size)
    elements = _distinct(columns)
    if not elements:
        if attribute.extractor != "bert" or (attribute.reduce or text_width) is not None:
            raise SpecError(
                f"{owner}: no training state has a value, so its extractor's width is unknown"
            )
        return AttributeReader(owner, attribute, text.embed_texts([""]).shape[1])
    vectors = full_vectors(owner, attribute, elements)
    full = vectors.shape[1]
    wanted = attribute.reduce
    if wanted is None and attribute.extractor == "bert":
        wanted = text_width
    if wanted is None or wanted >= full:
        return AttributeReader(owner, attribute, full)
    return AttributeReader(owner, attribute, wanted, fit_reduction(vectors, wanted))


def _is_flat(column: Array) -> bool:
    """Whether every row is one value; an array of objects may hold lists."""
    return column.ndim == 1 and column.dtype.kind != "O"


def _distinct(columns: Sequence[Column]) -> list[Any]:
    """Distinct elements over all columns; those that cannot be hashed count each time."""
    known: dict[Any, Any] = {}
    for column in columns:
        for value in column:
            listed = isinstance(value, _LISTS)
            for element in (
                sorted(value, key=repr)
                if isinstance(value, set | frozenset)
                else (value if listed else (value,))
            ):
                try:
                    known.setdefault(element, element)
                except TypeError:
                    known[id(element)] = element
    return list(known.values())


def _shortened(codes: Mapping[Hashable, int] | tuple[()]) -> str:
    shown = [repr(value) for value in list(codes)[:6]]
    return ", ".join(shown) + (", …" if len(codes) > 6 else "")
