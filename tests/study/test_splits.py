"""Training instances of runs."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.errors import UsageError
from lagco.study.planning.splits import training_indices

SIZES = np.random.default_rng(0).integers(10, 100, size=101).tolist()


def test_fifths_do_not_overlap():
    fifths = [training_indices(SIZES, "varied", fold) for fold in range(5)]
    assert [len(fifth) for fifth in fifths] == [20] * 5
    assert len(set().union(*fifths)) == 100
    assert training_indices(SIZES, "varied", 5) == fifths[0]  # a sixth seed begins anew


@pytest.mark.parametrize("strategy", ["small", "medium", "large"])
def test_single_instances_are_distinct_and_of_their_size(strategy):
    chosen = [training_indices(SIZES, strategy, fold) for fold in range(5)]
    assert all(len(indices) == 1 for indices in chosen)
    places = [indices[0] for indices in chosen]
    assert len(set(places)) == 5
    ordered = sorted(SIZES)
    expected = {"small": ordered[:5], "medium": ordered[48:53], "large": ordered[-5:]}[strategy]
    assert sorted(SIZES[place] for place in places) == expected


def test_what_cannot_be_split():
    with pytest.raises(UsageError, match="divided into 5 shares"):
        training_indices([5, 6, 7], "varied", 0)
    with pytest.raises(UsageError, match="no instance left among 3"):
        training_indices([5, 6, 7], "small", 3)
    with pytest.raises(UsageError, match="did you mean 'varied'"):
        training_indices(SIZES, "vared", 0)
