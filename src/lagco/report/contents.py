"""The contents of the page: its sections, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lagco.report.blocks import Block
from lagco.report.reading import Study
from lagco.report.sections import configuration, curves, embeddings, episodes, overview, tuning
from lagco.report.sections.costs import scalability, times
from lagco.report.sections.scores import (
    claims,
    distributions,
    gaps,
    generalization,
    headline,
    significance,
)


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        name: anchor.
        title: heading.
        blocks: what it holds, or a sentence where the ledger has nothing for it.
        paper: whether it is left out of reports on other problems than the paper's.
    """

    name: str
    title: str
    blocks: Callable[[Study], Sequence[Block] | str]
    paper: bool = False


SECTIONS = (
    Section("headline", "Headline", headline.blocks),
    Section("claims", "The paper's claims", claims.blocks, paper=True),
    Section("overview", "What was run", overview.blocks),
    Section("generalization", "Generalisation", generalization.blocks),
    Section("gaps", "Train–test gaps", gaps.blocks),
    Section("distributions", "Distributions", distributions.blocks),
    Section("curves", "Learning curves", curves.blocks),
    Section("times", "Training times", times.blocks),
    Section("scalability", "Decision times", scalability.blocks),
    Section("embeddings", "Action spaces", embeddings.blocks),
    Section("tuning", "Hyper-parameter search", tuning.blocks),
    Section("episodes", "Episodes, step by step", episodes.blocks),
    Section("significance", "Significance and normality", significance.blocks),
    Section("configuration", "Configuration and versions", configuration.blocks),
)
