"""Validity of actions: unrestricted, an array, or a predicate that is asked late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lagco.results.numbers import of_things
from lagco.search.metrics import Ints

Bools = NDArray[np.bool_]
Predicate: TypeAlias = Callable[[Ints], Bools]


@runtime_checkable
class RowPredicate(Protocol):
    """A predicate that can also answer for all choices of the last component at once.

    Asking for a row costs far less than asking for its actions one by one; the search uses it
    when walking in order of distance finds too little.
    """

    def __call__(self, indices: Ints) -> Bools:
        """(k, m) -> (k,)."""
        ...

    def rows(self, prefixes: Ints) -> Bools:
        """(r, m - 1) -> (r, n_m): validity of every choice of the last component."""
        ...


#: which actions are valid: flags, a predicate over positions or over rows; None where all are
Validity: TypeAlias = Bools | Predicate | RowPredicate | None


class ArrayValidity:
    """A boolean array over all actions, shape (n_1, ..., n_m), as a row predicate."""

    def __init__(self, mask: NDArray[Any], shape: tuple[int, ...]) -> None:
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != shape:
            raise ValueError(
                f"a validity array must be boolean with shape {shape}, "
                f"not {mask.dtype} with shape {mask.shape}"
            )
        self.mask = mask

    def __call__(self, indices: Ints) -> Bools:
        answer: Bools = self.mask[tuple(indices.T)]
        return answer

    def rows(self, prefixes: Ints) -> Bools:
        answer: Bools = self.mask[tuple(prefixes.T)]
        return answer


def as_predicate(valid: Validity, shape: tuple[int, ...]) -> Predicate | RowPredicate | None:
    """Arrays become predicates; predicates and None stay."""
    if valid is None or callable(valid):
        return valid
    return ArrayValidity(valid, shape)


def differing(
    pairs: Sequence[tuple[int, int]], ids: Sequence[Ints | None], then: Predicate | None
) -> Predicate:
    """The predicate "component a's element is not component b's", then another one."""

    def test(indices: Ints) -> Bools:
        ok = np.ones(len(indices), np.bool_)
        for a, b in pairs:
            left, right = indices[:, a], indices[:, b]
            id_a, id_b = ids[a], ids[b]
            ok &= (left if id_a is None else id_a[left]) != (right if id_b is None else id_b[right])
        if then is not None and ok.any():
            ok[ok] = then(indices[ok])
        return ok

    return test


def ask(predicate: Predicate, indices: Ints) -> Bools:
    """Call a predicate and refuse an answer of the wrong shape or type."""
    answer = np.asarray(predicate(indices))
    if answer.shape != (len(indices),) or answer.dtype != np.bool_:
        raise TypeError(
            f"a validity predicate must return {of_things(len(indices), 'booleans')}, "
            f"not {answer.dtype} with shape {answer.shape}"
        )
    return answer
