"""What a record says about an evaluation: figures over seen and unseen instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lagco.results.evaluation import Evaluation
from lagco.results.measures import MEASURES
from lagco.results.statistics import interquartile_mean
from lagco.study.ledger import significant

SELECTIONS = ("best", "first", "all")


def selected(values: Sequence[float | None], selection: str, measure: str) -> list[float]:
    """Values of one instance: of the ``first`` episode, the ``best`` one, or ``all`` of them."""
    if selection == "first":
        values = values[:1]
    known = [value for value in values if value is not None]
    if selection == "best" and known:
        return [min(known) if measure == "gap" else max(known)]
    return known


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """Interquartile means over unseen and seen instances, and the difference of the best."""
    found: dict[str, Any] = {"delta": {}}
    for part, seen in (("unseen", False), ("seen", True)):
        results = [result for result in evaluation.results if result.seen == seen]
        found[part] = {}
        for measure in MEASURES:
            values = [[getattr(e, measure) for e in result.episodes] for result in results]
            found[part][measure] = {
                selection: _middle([v for row in values for v in selected(row, selection, measure)])
                for selection in SELECTIONS
            }
    for measure in MEASURES:
        unseen, seen_value = (found[part][measure]["best"] for part in ("unseen", "seen"))
        known = unseen is not None and seen_value is not None
        found["delta"][measure] = significant(unseen - seen_value) if known else None
    return found


def _middle(values: Sequence[float]) -> float | None:
    return significant(interquartile_mean(values)) if values else None
