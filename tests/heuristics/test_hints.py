"""Hints: what rankers of any problem see where it asks for them by name."""

from __future__ import annotations

import numpy as np
import pytest

from examples.colouring import Colouring
from examples.depots import Depots
from lagco.agents.teaching.teachers import make_teacher
from lagco.core.candidates import HINTS
from lagco.core.env import ContinuousEnv
from lagco.errors import SpecError, UsageError
from lagco.heuristics import EpisodePlan
from lagco.heuristics.hints import hint_columns, hint_features, suggested_actions
from lagco.policies import RandomPolicy
from lagco.problems.max_cut import MaxCut
from lagco.rollout import Episode


class Hinted(Depots):
    hints = ("preview", "age", "progress", "plan")


def begun(cls, size=14, seed=3):
    env = cls(cls.generate(size, seed=5))
    env.reset(seed=seed)
    return env


def column(env, actions, name):
    rows = hint_features(env, np.asarray(actions), env.hints)
    return rows[:, hint_columns(type(env)).index(name)]


def test_hints_that_there_are_not_are_refused_with_the_one_that_was_meant():
    with pytest.raises(SpecError, match=r"Mistaken.hints: .*'pln'.*plan"):

        class Mistaken(Depots):
            hints = ("pln",)

    with pytest.raises(SpecError, match="give a tuple of names"):

        class Text(ContinuousEnv):
            hints = "plan"


def test_previews_that_there_are_not_are_named():
    class Blind(ContinuousEnv):
        hints = ("preview",)

    with pytest.raises(SpecError, match="needs preview"):
        hint_features(Blind(), np.arange(2), Blind.hints)


def test_the_best_preview_is_first_in_rank_and_suggested():
    env = begun(Hinted)
    valid = env.valid_actions()
    best = int(valid[env.preview(valid).argmax()])
    assert column(env, valid, "preview_rank")[best] == 0.0
    assert column(env, valid, "preview_behind").min() == column(env, [best], "preview_behind")[0]
    assert best in suggested_actions(env)


def test_ages_count_steps_since_an_element_was_changed():
    env = begun(MaxCut, 10)
    for node in (4, 2):
        env.step(node)
    ages, last = (hint_features(env, np.arange(10), ("age",))[:, i] for i in range(2))
    assert ages[[4, 2, 0]] == pytest.approx([0.2, 0.1, 1.0])
    assert last.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


def test_progress_is_behind_the_best_of_the_episode():
    env = begun(MaxCut, 10)
    gains = env.preview(np.arange(10))
    env.step(int(gains.argmax()))
    env.step(int(gains.argmax()))
    behind, left = hint_features(env, np.arange(1), ("progress",))[0]
    assert behind == pytest.approx(np.arcsinh(gains.max() / env.usual_change), rel=1e-6)
    assert left == pytest.approx(1 - 2 / env.episode_length)


@pytest.mark.parametrize("cls", [Colouring, Hinted])
def test_the_next_actions_of_a_plan_lead_to_what_it_promises(cls):
    env = begun(cls)
    plan = EpisodePlan.of(env)
    ended = False
    while not ended:
        action = plan.next_actions(env)[0]
        assert column(env, [action], "planned")[0] == 1.0
        *_, ended, _, info = env.step(int(action))
    assert info["objective"] == pytest.approx(plan.promised)


def test_what_comes_later_in_a_plan_counts_half_and_what_is_not_in_it_nothing():
    env = begun(Hinted, 24)
    first, second, *_ = EpisodePlan.of(env).offered(env)
    other = next(a for a in env.valid_actions() if a not in EpisodePlan.of(env).offered(env))
    assert column(env, [first, second, other], "planned").tolist() == [1.0, 0.5, 0.0]
    assert column(env, [first, second, other], "against_plan").tolist() == [0.0, 0.0, 1.0]


def test_a_step_beside_the_plan_leads_to_another_plan_from_there():
    env = begun(Hinted, 24)
    before = EpisodePlan.of(env).offered(env)
    env.step(int(next(a for a in env.valid_actions() if a not in before)))
    after = EpisodePlan.of(env).offered(env)
    assert len(after) == len(before) - 1
    while not env.is_complete():
        env.step(int(EpisodePlan.of(env).next_actions(env)[0]))
    assert env.objective() == pytest.approx(EpisodePlan.of(env).promised)


def test_plans_follow_from_the_seed_and_leave_the_random_numbers_alone():
    plans = []
    for asks in (True, True, False):
        env = begun(Hinted)
        if asks:
            plans.append(EpisodePlan.of(env).offered(env).tolist())
        plans.append(env.np_random.integers(1000))
    assert plans[0] == plans[2]
    assert plans[1] == plans[3] == plans[4]


def test_the_teacher_search_follows_the_plan_that_agents_are_shown():
    env, teacher = begun(Hinted), make_teacher("search", Hinted)
    teacher.begin(env, 0)
    while not env.is_complete():
        env.step(int(teacher.actions(env)[0]))
    assert env.objective() == pytest.approx(EpisodePlan.of(env).promised)


def test_a_plan_belongs_to_one_episode():
    env = begun(Hinted)
    plan = EpisodePlan.of(env)
    kept = env.snapshot()
    Episode(env, 9).run(RandomPolicy())
    assert EpisodePlan.of(env) is not plan
    env.restore(kept)
    assert EpisodePlan.of(env).offered(env).tolist() == plan.offered(env).tolist()


def test_plain_environments_have_no_episodes_of_their_own():
    class Plain(ContinuousEnv):
        hints = ("plan",)

    with pytest.raises(UsageError, match="hints of Plain"):
        hint_features(Plain(), np.arange(1), Plain.hints)


def test_every_hint_says_what_its_columns_mean():
    names = [name for columns in HINTS.values() for name in columns.names]
    assert len(set(names)) == len(names)
    assert all(meaning for columns in HINTS.values() for meaning in columns.meanings.values())
