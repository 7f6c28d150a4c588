"""One colour and one mark per method, the same in every figure, safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterable

from lagco.agents.config import STRATEGIES
from lagco.agents.method import Look
from lagco.agents.registry import METHODS, method_names
from lagco.registration import ENTRIES

POLICIES = ("random", "greedy", "solver")
LETTERS = {"small": "S", "medium": "M", "large": "L", "varied": "V"}


#: what methods are compared with
_LOOKS = {
    "random": Look("#9a9a9a", "x-thin-open", "dot"),
    "greedy": Look("#6f6f6f", "cross-thin-open", "dash"),
    "solver": Look("#9a9a9a", "line-ew-open", "dash"),
    "faiss-flat": Look("#56b4e9", "hexagon-open", "dot"),
}
_OTHER = Look("#7f7f7f", "pentagon")


def look(method: str) -> Look:
    """The look of a method, or of what methods are compared with."""
    return METHODS[method].look if method in METHODS else _LOOKS.get(method, _OTHER)


def methods_in_order(names: Iterable[str]) -> list[str]:
    """Known methods first, in the order of the paper, then others by name."""
    return _in_order(names, (*method_names(), *POLICIES, "faiss-flat"))


def problems_in_order(names: Iterable[str]) -> list[str]:
    """The seven first, then others by name."""
    return _in_order(names, tuple(ENTRIES))


def strategies_in_order(names: Iterable[str]) -> list[str]:
    """From small to varied."""
    return _in_order(names, STRATEGIES)


def _in_order(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(known)), name))
