"""Choosing one of the k nearest."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.search import Neighbours, make_strategy
from lagco.search.strategies import Sampled

CANDIDATES = Neighbours(np.array([[4, 1], [0, 2], [3, 3]]), np.array([0.9, 0.8, -0.5]))
RNG = np.random.default_rng(0)


def last_rule(candidates, scores, context):
    return len(candidates) - 1


def test_nearest_takes_the_first_and_asks_for_one():
    strategy = make_strategy("nearest", k=10)
    assert strategy.k == 1
    assert strategy.choose(CANDIDATES, None, RNG) == 0


def test_sampled_prefers_the_near_and_is_deterministic_given_the_generator():
    strategy = make_strategy("sampled", k=3, temperature=0.1)
    drawn = [strategy.choose(CANDIDATES, None, np.random.default_rng(s)) for s in range(300)]
    assert drawn == [
        strategy.choose(CANDIDATES, None, np.random.default_rng(s)) for s in range(300)
    ]
    counts = np.bincount(drawn, minlength=3)
    assert counts[0] > counts[1] > counts[2]


def test_sampled_uses_the_distance_under_l2():
    chances = Sampled(2, 1.0, "l2").probabilities(np.array([1.0, 9.0]))
    np.testing.assert_allclose(chances[0] / chances[1], np.exp(2.0))


def test_rule_from_its_spelling():
    strategy = make_strategy(f"rule:{__name__}:last_rule", k=3)
    assert strategy.choose(CANDIDATES, None, RNG) == 2


def test_scored_and_preview_take_the_largest():
    by_first = {"scorer": lambda c, _: -c[:, 0], "preview": lambda c, ctx: ctx * c[:, 1]}
    assert make_strategy("scored", scorer=by_first["scorer"]).choose(CANDIDATES, None, RNG) == 1
    assert make_strategy("preview", preview=by_first["preview"]).choose(CANDIDATES, 1, RNG) == 2


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("neerest", "did you mean 'nearest'"),
        ("rule:nowhere_at_all:f", "no module 'nowhere_at_all'"),
        ("rule:math:sqr", "did you mean 'sqrt'"),
        ("rule:math", "rule:module:function"),
        ("scored", "needs a scorer"),
        ("preview", "needs a problem that offers a preview"),
    ],
)
def test_wrong_spellings_are_named(spelling, message):
    with pytest.raises(ValueError, match=message):
        make_strategy(spelling)


def test_a_rule_outside_the_candidates_is_refused():
    strategy = make_strategy(f"rule:{__name__}:last_rule")
    strategy.rule = lambda *_: 7
    with pytest.raises(ValueError, match="position 7; there are 3 candidates"):
        strategy.choose(CANDIDATES, None, RNG)
