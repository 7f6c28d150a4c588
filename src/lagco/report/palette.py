"""Looks of methods, the same in every figure and safe for colour-blind readers; and orders."""

from __future__ import annotations

from collections.abc import Iterable

from lagco.agents.config import STRATEGIES
from lagco.agents.method import PlotStyle
from lagco.agents.registry import METHODS, method_of
from lagco.problem_table import ENTRIES
from lagco.study.settings import ANNEALING, BASELINES, FAISS, TIMED_SOLVER, known_methods

LETTERS = {"small": "S", "medium": "M", "large": "L", "varied": "V"}


#: looks of what methods are compared with
_OTHERS = {
    "random": PlotStyle("#9a9a9a", "x-thin-open", "dot"),
    "greedy": PlotStyle("#6f6f6f", "cross-thin-open", "dash"),
    "solver": PlotStyle("#9a9a9a", "line-ew-open", "dash"),
    TIMED_SOLVER: PlotStyle("#4d4d4d", "line-ew-open", "longdash"),
    ANNEALING: PlotStyle("#8c6d4f", "x-thin-open", "dashdot"),
    FAISS: PlotStyle("#56b4e9", "hexagon-open", "dot"),
}
_UNKNOWN = PlotStyle("#7f7f7f", "pentagon")


def style_of(method: str) -> PlotStyle:
    """PlotStyle of a method or baseline."""
    return method_of(method).style if method in METHODS else _OTHERS.get(method, _UNKNOWN)


def label_of(method: str) -> str:
    """Label of a method; the name of anything else."""
    return method_of(method).label if method in METHODS else method


def methods_in_order(names: Iterable[str]) -> list[str]:
    """Known methods first, in the order of the paper, then baselines."""
    return _in_order(names, (*known_methods(), *BASELINES, FAISS))


def problems_in_order(names: Iterable[str]) -> list[str]:
    """The seven first, then others by name."""
    return _in_order(names, tuple(ENTRIES))


def strategies_in_order(names: Iterable[str]) -> list[str]:
    """From small to varied."""
    return _in_order(names, STRATEGIES)


def unit_of(problem: str, *, drawn: bool = False) -> str:
    """Unit of the sizes of a problem, such as cities; with `drawn`, of the sizes asked for."""
    entry = ENTRIES.get(problem)
    if entry is None:
        return "size"
    return (drawn and entry.drawn_unit) or entry.unit


def _in_order(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(known)), name))
