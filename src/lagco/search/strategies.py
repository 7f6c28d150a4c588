"""Strategies that choose one of the k nearest actions."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagco.results.numbers import of_things
from lagco.runtime.user_modules import import_user_module
from lagco.search.metrics import Ints, Neighbours

STRATEGIES = ("nearest", "sampled", "rule", "scored", "preview", "ranked")

Rule = Callable[[Ints, NDArray[np.float64], Any], int]
"""(candidates (k, m), scores (k,), context) -> position."""
Scorer = Callable[[Ints, Any], ArrayLike]
"""(candidates (k, m), context) -> (k,) values, the largest is taken."""
Logits = Callable[[Neighbours, Any], NDArray[Any]]
"""(neighbours, context) -> (k,) logits."""


class Strategy(Protocol):
    """Picks one of the candidates; `k` is how many it asks the search for."""

    k: int

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        """Position of the chosen candidate."""
        ...


class Nearest:
    """The nearest action itself."""

    k = 1

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        return 0


class Sampled:
    """One of the k nearest, with probability softmax(closeness / temperature).

    Closeness is minus the distance (the root of the l2 score) for l2, the score otherwise.
    """

    def __init__(self, k: int = 10, temperature: float = 1.0, metric: str = "cosine") -> None:
        if temperature <= 0:
            raise ValueError(f"temperature must be positive, not {temperature}")
        self.k = _at_least_one(k)
        self.temperature = temperature
        self.metric = metric

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k,) -> (k,)."""
        closeness = -np.sqrt(scores) if self.metric == "l2" else scores
        weights: NDArray[np.float64] = np.exp((closeness - closeness.max()) / self.temperature)
        weights /= weights.sum()
        return weights

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        chances = self.probabilities(neighbours.scores)
        return int(rng.choice(len(chances), p=chances))


class ByRule:
    """Strategy by a function (candidates, scores, context) -> position."""

    def __init__(self, rule: Rule, k: int = 10) -> None:
        self.k = _at_least_one(k)
        self.rule = rule

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        position = int(self.rule(neighbours.indices, neighbours.scores, context))
        if not 0 <= position < len(neighbours.scores):
            raise ValueError(
                f"the decoding rule returned position {position}; "
                f"there are {of_things(len(neighbours.scores), 'candidates')}"
            )
        return position


class Scored:
    """The candidate to which a learned scorer, such as Q(o, u), gives the largest value."""

    def __init__(self, scorer: Scorer, k: int = 10) -> None:
        self.k = _at_least_one(k)
        self.scorer = scorer

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        return _largest(self.scorer(neighbours.indices, context), neighbours, "scorer")


class Preview:
    """The candidate whose preview, one step ahead, has the largest value."""

    def __init__(self, preview: Scorer, k: int = 10) -> None:
        self.k = _at_least_one(k)
        self.preview = preview

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        return _largest(self.preview(neighbours.indices, context), neighbours, "preview")


class Ranked:
    """The candidate of the largest logit of a ranker that sees all of them at once."""

    def __init__(self, logits: Logits, k: int = 16, temperature: float = 1.0) -> None:
        self.k = _at_least_one(k)
        self.logits = logits
        self.temperature = temperature

    def choose(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        return int(self.logits(neighbours, context).argmax())

    def draw(self, neighbours: Neighbours, context: Any, rng: np.random.Generator) -> int:
        """A position drawn with probability softmax(logits / temperature)."""
        logits = self.logits(neighbours, context) / self.temperature
        return int((logits + rng.gumbel(size=len(logits))).argmax())


def make_strategy(
    spelling: str,
    k: int = 10,
    *,
    temperature: float = 1.0,
    metric: str = "cosine",
    scorer: Scorer | None = None,
    preview: Scorer | None = None,
    ranker: Logits | None = None,
) -> Strategy:
    """The strategy of its command-line spelling.

    spelling: nearest | sampled | rule:module:function | scored | preview | ranked; the last three
    need a callable: `scorer`, `preview`, `ranker`.
    """
    check_spelling(spelling)
    name, _, rest = spelling.partition(":")
    if name == "nearest":
        return Nearest()
    if name == "sampled":
        return Sampled(k, temperature, metric)
    if name == "rule":
        return ByRule(_function(rest, spelling), k)
    if name == "scored":
        if scorer is None:
            raise ValueError("decoding 'scored' needs a scorer: this agent has learned none")
        return Scored(scorer, k)
    if name == "preview":
        if preview is None:
            raise ValueError("decoding 'preview' needs a problem that offers a preview")
        return Preview(preview, k)
    if ranker is None:
        raise ValueError("decoding 'ranked' needs a ranker: this agent has learned none")
    return Ranked(ranker, k, temperature)


def check_spelling(spelling: str) -> None:
    """Refuse what is no strategy's command-line spelling, and rules that cannot be loaded."""
    name, _, rest = spelling.partition(":")
    if name == "rule":
        _function(rest, spelling)
        return
    if name in STRATEGIES and not rest:
        return
    close = difflib.get_close_matches(name, STRATEGIES, n=1)
    hint = f"; did you mean {close[0]!r}?" if close and close[0] != name else ""
    raise ValueError(
        f"unknown decoding {spelling!r}: nearest, sampled, rule:module:function, scored, "
        f"preview or ranked{hint}"
    )


def _function(path: str, spelling: str) -> Rule:
    module, _, name = path.partition(":")
    if not module or not name:
        raise ValueError(f"a rule is spelt rule:module:function, not {spelling!r}")
    try:
        loaded = import_user_module(module)
    except ModuleNotFoundError as missing:
        raise ValueError(f"{spelling!r}: there is no module {missing.name!r}") from missing
    rule = getattr(loaded, name, None)
    if not callable(rule):
        close = difflib.get_close_matches(name, dir(loaded), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{spelling!r}: {module} has no function {name!r}{hint}")
    return rule


def _largest(values: ArrayLike, neighbours: Neighbours, name: str) -> int:
    array = np.asarray(values, np.float64)
    if array.shape != neighbours.scores.shape:
        raise ValueError(
            f"the {name} must return {of_things(len(neighbours.scores), 'values')}, not shape "
            f"{array.shape}"
        )
    return int(array.argmax())


def _at_least_one(k: int) -> int:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return k
