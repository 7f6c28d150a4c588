"""Looks of methods, the same in every figure and safe for colour-blind readers; and orders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lagco.agents.config import STRATEGIES
from lagco.registration import ENTRIES
from lagco.study.settings import BASELINES, FAISS, known_methods

LETTERS = {"small": "S", "medium": "M", "large": "L", "varied": "V"}


@dataclass(frozen=True)
class Look:
    """Look of a method: hue by family, an open mark and a dashed line without masking."""

    colour: str
    symbol: str
    dash: str = "solid"


# hues of Okabe and Ito
_LOOKS = {
    "p-discrete": Look("#e69f00", "square-open", "dot"),
    "p-discrete-m": Look("#e69f00", "square"),
    "g-discrete": Look("#cc79a7", "diamond-open", "dot"),
    "g-discrete-m": Look("#cc79a7", "diamond"),
    "iterative": Look("#009e73", "triangle-up"),
    "projection": Look("#0072b2", "circle"),
    "soft-projection": Look("#d55e00", "star"),
}
#: looks of what methods are compared with
_OTHERS = {
    "random": Look("#9a9a9a", "x-thin-open", "dot"),
    "greedy": Look("#6f6f6f", "cross-thin-open", "dash"),
    "solver": Look("#9a9a9a", "line-ew-open", "dash"),
    FAISS: Look("#56b4e9", "hexagon-open", "dot"),
}
_UNKNOWN = Look("#7f7f7f", "pentagon")


def look_of(method: str) -> Look:
    """Look of a method, or of what methods are compared with."""
    return _OTHERS.get(method) or _LOOKS.get(method, _UNKNOWN)


def label_of(method: str) -> str:
    """Name of a method for people."""
    return method


def methods_in_order(names: Iterable[str]) -> list[str]:
    """Known methods first, in the order of the paper, then what they are compared with."""
    return _in_order(names, (*known_methods(), *BASELINES, FAISS))


def problems_in_order(names: Iterable[str]) -> list[str]:
    """The seven first, then others by name."""
    return _in_order(names, tuple(ENTRIES))


def strategies_in_order(names: Iterable[str]) -> list[str]:
    """From small to varied."""
    return _in_order(names, STRATEGIES)


def _in_order(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(known)), name))
