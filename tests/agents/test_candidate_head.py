"""The candidates of a rollout, as they are kept."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.action_tables import ActionTables
from lagco.agents.candidate_head import CandidateStore


def kept_vectors(store, slot, width):
    """Vectors of the actions in a slot."""
    numbers, members, components, first, counts = store.arrays
    described = [part for part in components[slot] if part[1] > 0]
    found = np.zeros((counts[slot], width), np.float32)
    before = 0  # rows of the components so far: members number them through
    for c, (at, rows, columns, start) in enumerate(described):
        for j in range(counts[slot]):
            row = j if first[slot] < 0 else members[first[slot] + c * counts[slot] + j] - before
            begin = at + row * columns
            found[j, start : start + columns] += numbers[begin : begin + columns]
        before += rows
    return found


def candidates(rng, rows, count):
    tables = [rng.normal(size=(n, 3)).astype(np.float32) for n in rows]
    index = np.stack([rng.integers(n, size=count) for n in rows], axis=1)
    return ActionTables(tuple(tables), tuple(range(0, 3 * len(rows), 3)), index)


def test_what_is_kept_are_the_actions_and_nothing_else(rng):
    store = CandidateStore()
    for _ in range(2):  # what is cleared does not shine through
        given = [
            candidates(rng, (5, 70), 6),
            ActionTables((rng.normal(size=(4, 9)).astype(np.float32),), (0,), None),
            candidates(rng, (40, 3, 8), 25),
            candidates(rng, (2, 2), 300),
        ]
        store.clear(len(given))
        for slot, each in enumerate(given):
            store.put(slot, each)
        for slot, each in enumerate(given):
            np.testing.assert_array_equal(kept_vectors(store, slot, 9), each.vectors(9))
            trimmed = [table.shape for table in each.trimmed().tables]
            described = [(part[1], part[2]) for part in store.components[slot] if part[1] > 0]
            assert described == trimmed


def test_doubles_and_columns_of_others_are_kept_as_floats(rng):
    store = CandidateStore()
    store.clear(1)
    wide = rng.normal(size=(4, 6))
    index = np.array([[0, 1], [3, 2]])[:, ::-1]
    given = ActionTables((wide[:, ::2], wide[:, 1::2]), (0, 3), index)
    store.put(0, given)
    assert kept_vectors(store, 0, 6) == pytest.approx(given.vectors(6))
