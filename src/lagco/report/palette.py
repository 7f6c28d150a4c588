"""One colour and one mark per method, the same in every figure, safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lagco.agents.config import STRATEGIES
from lagco.registration import ENTRIES

#: the order of rows and legends: as in the paper, ours last, then what they are compared with
METHODS = (
    "p-discrete",
    "p-discrete-m",
    "g-discrete",
    "g-discrete-m",
    "iterative",
    "projection",
    "soft-projection",
)
POLICIES = ("random", "greedy", "solver")
LETTERS = {"small": "S", "medium": "M", "large": "L", "varied": "V"}


@dataclass(frozen=True)
class Look:
    """How a method is drawn: hue by family, an open mark and a dashed line without masking."""

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
    "random": Look("#9a9a9a", "x-thin-open", "dot"),
    "greedy": Look("#6f6f6f", "cross-thin-open", "dash"),
    "solver": Look("#9a9a9a", "line-ew-open", "dash"),
    "faiss-flat": Look("#56b4e9", "hexagon-open", "dot"),
}
_OTHER = Look("#7f7f7f", "pentagon")


def look(method: str) -> Look:
    """How a method is drawn."""
    return _LOOKS.get(method, _OTHER)


def methods_in_order(names: Iterable[str]) -> list[str]:
    """Known methods first, in the order of the paper, then others by name."""
    return _in_order(names, (*METHODS, *POLICIES, "faiss-flat"))


def problems_in_order(names: Iterable[str]) -> list[str]:
    """The seven first, then others by name."""
    return _in_order(names, tuple(ENTRIES))


def strategies_in_order(names: Iterable[str]) -> list[str]:
    """From small to varied."""
    return _in_order(names, STRATEGIES)


def _in_order(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(known)), name))
