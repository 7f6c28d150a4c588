from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.learning.stored_actions import SharedArrays, flattened, unflattened


def offered(rng, valid, changed=True):
    """Pairs of 3 and 4 rows, some of them valid, as two states of an instance have them."""
    index = np.stack(np.divmod(np.arange(12), 4), axis=1)
    second = rng.normal(size=(4, 2)) if changed else np.ones((4, 2))
    tables = np.ones((3, 3), np.float32), second.astype(np.float32)
    return ActionTables(tables, (0, 3), index).only(valid)


def stored_sets(rng):
    shared = SharedArrays()
    first = shared.store(offered(rng, np.arange(12) % 3 > 0, changed=False), None)
    second = shared.store(offered(rng, np.arange(12) > 4, changed=False), first)
    alone = shared.store(ActionTables((rng.normal(size=(5, 3)),), (1,), None), second)
    third = shared.store(offered(rng, np.ones(12, bool)), alone)
    return [first, second, alone, third]


def test_only_the_valid_rows_are_actions(rng):
    valid = np.arange(12) % 3 > 0
    actions = offered(rng, valid)
    assert len(actions) == 8
    listed = np.stack(np.divmod(np.arange(12), 4), axis=1)[valid]
    expected = [np.concatenate([actions.tables[0][a], actions.tables[1][b]]) for a, b in listed]
    assert np.array_equal(actions.vectors(5), expected)
    assert np.array_equal(actions.rows, listed)
    assert [actions.place(i) for i in range(8)] == np.flatnonzero(valid).tolist()


def test_equal_arrays_are_kept_and_written_once(rng):
    first, second, _, third = stored_sets(rng)
    assert all(a is b for a, b in zip(second.tables, first.tables, strict=True))
    assert third.tables[1] is not first.tables[1]
    assert second.index is first.index and third.index is first.index
    arrays = flattened([first, second, third])
    assert len(arrays["indices.shape"]) == 1 and len(arrays["tables.1.rows"]) == 2


def test_sets_are_read_as_they_were_written(rng):
    sets = stored_sets(rng)
    found = unflattened(flattened(sets), 5)
    assert found[1].tables[1] is found[0].tables[1] and found[1].index is found[0].index
    for one, other in zip(sets, found, strict=True):
        assert one.starts == other.starts
        assert all(map(np.array_equal, one.tables, other.tables))
        assert np.array_equal(one.rows, other.rows)


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("indices", 1, 4),
        ("sets.tables", (0, 0), 7),
        ("sets.tables", (0, 0), -1),
        ("sets.index", 0, 3),
        ("sets.index", 0, -1),
        ("sets.index", 2, 0),
        ("sets.starts", (0, 1), 4),
        ("sets.starts", (0, 1), -1),
        ("sets.kept", 1, 255),
        ("tables.0.rows", 0, 9),
        ("tables.0.rows", 0, -3),
        ("indices.shape", (0, 1), 3),
        ("sets.partly", 2, True),
    ],
)
def test_rows_that_are_not_there_are_refused(rng, name, at, value):
    arrays = flattened(stored_sets(rng))
    arrays[name][at] = value
    with pytest.raises(ValueError, match="action|table|index"):
        unflattened(arrays, 5)


@pytest.mark.parametrize("name", ["sets.kept", "tables.0", "indices", "sets.index", "sets.partly"])
def test_arrays_that_are_cut_off_are_refused(rng, name):
    arrays = flattened(stored_sets(rng))
    arrays[name] = np.asarray(arrays[name])[:-1]
    with pytest.raises(ValueError, match="action|bits|part"):
        unflattened(arrays, 5)
