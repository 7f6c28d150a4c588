"""A problem of one's own with a configuration in force: its files, its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest

import lagco
from examples.depots import Depots
from lagco import Attribute, Graph, GraphView, Mean, Node, Object, Problem
from lagco.core.events import Event, EventType, text, whole
from lagco.errors import InstanceError, UsageError
from lagco.instances import Instance, read_solution, write_solution
from lagco.instances.timelines import Timeline


class Rota(Problem):
    """Give every person one of three shifts; each wants one of them."""

    name = "rota"
    present = "shifts"
    maximise = True

    @classmethod
    def draw(cls, rng, size=None):
        wanted, shifts = rng.permuted(np.tile(np.arange(3), (2, size or 6)), axis=1)[:, : size or 6]
        return Instance("rota", "", len(wanted), {"wanted": wanted, "shifts": shifts})

    @classmethod
    def evaluate_solution(cls, instance, solution):
        return float((solution == instance.array("wanted")).sum())

    def _load(self, instance):
        n = instance.size
        self._shifts, self._content = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int8)
        ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
        options = np.tile(np.arange(3), (n, 1))
        self._people = GraphView(n, ring, nodes={"content": self._content, "options": options})
        self._node_attributes = {"content": Attribute(type="binary")}
        self._observation_type = {"people": Graph(poolings=[Mean])}
        self._action_type = {
            "person": Node(),
            "shift": Object(reference="person", key="options"),
        }
        self.action_space = gym.spaces.MultiDiscrete([n, 3])

    def get_graphs(self):
        return {"people": self._people}

    def _begin(self, start, rng):
        if isinstance(start, str):
            start = self.instance.array("shifts") if start == "current" else 0
        self._shifts[:] = start
        self._set()

    def _apply(self, action):
        self._shifts[int(action[0])] = action[1]
        self._set()

    def _set(self):
        self._content[:] = self._shifts == self.instance.array("wanted")
        self._people.touch_node("content")

    def objective(self):
        return float(self._content.sum())

    def solution(self):
        return self._shifts.copy()

    def is_valid_action(self, action):
        person, shift = int(action[0]), int(action[1])
        return person < len(self._shifts) and bool(self._shifts[person] != shift)

    def preview(self, actions):
        people, shifts = np.asarray(actions).T
        return (shifts == self.instance.array("wanted")[people]) * 1.0 - self._content[people]

    def set_by(self, actions):
        return actions[:, 0], actions[:, 1]


def wish(draft, person, shift):
    place = draft.named("person", person, list(draft.arrays["names"]))
    wanted = draft.arrays["wanted"].copy()
    wanted[place] = shift
    draft.arrays["wanted"] = wanted


class Eventful(Rota):
    """Wishes change, as the guide declares it."""

    events: ClassVar = {
        "wish": EventType(
            "A person wants another shift.",
            wish,
            {"person": text("name"), "shift": whole("the shift", low=0, high=2)},
        )
    }

    @classmethod
    def draw(cls, rng, size=None):
        drawn = super().draw(rng, size)
        return replace(drawn, arrays={**drawn.arrays, "names": np.array(list("abcdef"))})

    @classmethod
    def draw_events(cls, instance, rng):
        for time in range(0, 300, 60):
            yield time, Event("wish", person=str(rng.choice(instance.array("names"))), shift=1)


class Forgetful(Rota):
    """Begins from elsewhere than what is in force."""

    def _begin(self, start, rng):
        super()._begin("default" if isinstance(start, str) else start, rng)


@pytest.fixture
def rota():
    instance = Rota.generate(6)
    assert Rota.evaluate_solution(instance, instance.array("shifts")) < 5  # two may be mended
    return instance


def solved(instance, **limits):
    return lagco.solve(instance, problem=Rota, turns=1, progress=False, **limits)


def test_an_answer_with_few_changes_is_what_the_next_question_begins_from(tmp_path, rota):
    before, path = Rota.evaluate_solution(rota, rota.array("shifts")), tmp_path / "s.json"
    first = solved(rota, max_changes=1, fixed=["1"])
    assert len(first.changes) == 1
    first.write_solution(path)
    np.testing.assert_array_equal(read_solution(rota, path), first.solution)
    np.testing.assert_array_equal(read_solution(first.instance, path), first.solution)

    second = solved(rota, incumbent=str(path), max_changes=1)
    assert (second.before, len(second.changes)) == (first.objective, 1)
    second.write_solution(path)
    assert solved(rota, incumbent=str(path)).before == second.objective == before + 2


def test_other_data_of_the_same_name_are_told_apart(tmp_path, rota):
    larger = Rota.generate(7)
    assert larger.name == rota.name
    write_solution(larger, larger.array("shifts"), tmp_path / "s.json")
    with pytest.raises(InstanceError, match=f"the same name, but other data .*{rota.asked[:8]}"):
        read_solution(rota, tmp_path / "s.json")


@pytest.mark.parametrize(
    "option", [{"max_changes": 2}, {"fixed": ["1"]}, {"incumbent": [0]}, {"trade_off": True}]
)
def test_a_problem_without_anything_in_force_says_how_to_have_it(option):
    with pytest.raises(UsageError, match=r"leave it out, or name the array .* Depots\.present"):
        lagco.solve(Depots.generate(12), problem=Depots, turns=1, progress=False, **option)


def test_an_episode_has_to_begin_from_what_is_in_force():
    assert lagco.check(Rota, episodes=1) == []
    (finding,) = lagco.check(Forgetful, episodes=1)
    assert (finding.check, finding.declaration) == ("changes", "_begin()")
    assert "elements away from the incumbent" in finding.value
    assert "begin from the array 'shifts'" in finding.remedy


def test_events_happen_to_a_problem_of_ones_own():
    rota = Eventful.generate(6)
    day = Eventful.draw_timeline(rota, seed=1, until=200.0)
    answers = lagco.live(
        day,
        problem=Eventful,
        controllers=["hold", "greedy"],
        turns=2,
        max_changes=2,
        progress=False,
    )
    held, mended = (
        [record for record in answers.records if record.by == by] for by in ("hold", "greedy")
    )
    assert len(held) == len(mended) == 4  # after 0, 60, 120 and 180 seconds
    assert not any(record.changes for record in held)
    for record in mended:  # the two best single steps, whose previews are mere differences
        assert record.after - record.before == record.changes == min(2, 6 - record.before)


def test_a_problem_without_events_says_where_to_declare_them(rota):
    with pytest.raises(UsageError, match=r"without Rota\.events"):
        lagco.live(
            Timeline.of(rota, []), problem=Rota, controllers=["hold"], turns=1, progress=False
        )
