"""The feature set `budget`: what agents see of the changes that are left."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from lagco.core.changes import MAX_CHANGES
from lagco.core.changes.observing import BUDGET, COLUMNS
from lagco.core.declaring.declaration import read_declaration
from lagco.errors import UsageError
from lagco.latent.candidates import SHARED, SeenColumns
from lagco.problems.ospf import OSPF
from lagco.problems.traffic import Traffic


def budgeted(most):
    instance = OSPF.generate(6, seed=5)
    weights = np.ones(instance.array("edges").shape[1], dtype=np.int64)
    params = dict(instance.params) if most is None else {**instance.params, MAX_CHANGES: most}
    return replace(instance, arrays={**instance.arrays, "weights": weights}, params=params)


def begun(most, features="budget"):
    env = OSPF(budgeted(most), features=features)
    env.reset(seed=0)
    return env


def shown(env):
    part = read_declaration(env, env.graph_views()).observation[BUDGET]
    return tuple(part.function(env.graph_views()[part.graph]))


def test_changes_use_the_budget_up_and_give_it_back():
    env = begun(2)
    assert shown(env)[0] == 1.0
    env.step((0, 2))
    assert shown(env)[0] == 0.5
    env.step((0, 2))  # the same link once more
    assert shown(env)[0] == 0.5
    env.step((1, 2))
    assert shown(env) == (0.0, 0.0)
    env.step((1, 0))
    assert shown(env)[0] == 0.5


def test_without_a_budget_all_of_it_is_left():
    env = begun(None)
    env.step((0, 2))
    assert shown(env) == (1.0, 1.0)


def test_copies_look_at_their_own_state():
    env = begun(2)
    other = copy.deepcopy(env)
    other.step((0, 2))
    assert (shown(env)[0], shown(other)[0]) == (1.0, 0.5)


def test_candidates_say_what_they_cost():
    from lagco.core.changes.observing import budget_columns

    env = begun(3)
    env.step((0, 2))
    found = budget_columns(env, np.array([[0, 0], [0, 2], [1, 2], [1, 1]]))
    names = COLUMNS.names
    assert found[:, names.index("costs")].tolist() == [-1, 0, 1, 0]
    assert found[:, names.index("changed")].tolist() == [1, 1, 0, 0]
    assert np.allclose(found[:, names.index("changes_left")], 2 / 3)
    assert found[:, names.index("budgeted")].all()


@pytest.mark.parametrize("problem", [OSPF, Traffic])
def test_other_feature_sets_are_as_they_were(problem):
    env = problem(problem.generate(6, seed=5), features="full")
    with_budget = problem(env.instance, features="budget")
    declared, more = (read_declaration(e, e.graph_views()) for e in (env, with_budget))
    assert set(more.observation) - set(declared.observation) == {BUDGET}
    assert with_budget.features == "full"
    plain = SeenColumns.of(problem)
    assert plain.each == SHARED.names + problem.candidate_columns.names
    assert SeenColumns.of(problem, "budget").each == plain.each + COLUMNS.names


def test_feature_sets_are_named():
    with pytest.raises(UsageError, match="budget"):
        OSPF(budgeted(1), features="budgets")
