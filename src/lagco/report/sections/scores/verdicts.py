"""Claims with their verdicts."""

from __future__ import annotations

from dataclasses import dataclass

YES, PARTLY, LEVEL, NO = "agrees", "agrees in part", "level", "disagrees"
OPEN = "not measured"
#: entries below which a verdict is preliminary: half of the paper's
_FEW = 14


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        words: what the paper says.
        verdict: whether this study agrees.
        ours: figures of this study.
        paper: figures of the paper.
    """

    words: str
    verdict: str
    ours: str
    paper: str


def so_far(verdict: str, entries: int) -> str:
    """A verdict that rests on few entries says so."""
    return verdict if entries >= _FEW else f"{verdict}, so far"
