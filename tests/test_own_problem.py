"""The worked example of docs/how-to/add-your-own-problem.md."""

import re
from pathlib import Path

import numpy as np
import pytest

import lagco
from examples.depots import Depots
from lagco.embedding.config import PretrainConfig
from lagco.errors import InstanceError, SpecError
from lagco.instances import Instance
from lagco.study.tasks.data import data_task

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_shows_the_example_as_it_is():
    page = (ROOT / "docs" / "how-to" / "add-your-own-problem.md").read_text()
    code = (ROOT / "examples" / "depots.py").read_text()
    blocks = re.findall(r"<!-- from: \S+ -->\n```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 8
    for block in blocks:
        assert block.strip("\n") in code


def test_it_passes_every_check():
    assert lagco.check("examples.depots:Depots", episodes=1) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda self, action: not self._open[action], r"raised IndexError \(.*\) for 20"),
        (lambda self, action: action >= 20 or not self._open[action], "is True for 20"),
    ],
)
def test_what_an_instance_does_not_have_is_no_valid_action(answer, found):
    class Careless(Depots):
        is_valid_action = answer

    findings = lagco.check(Careless, episodes=1, max_steps=1)
    assert [finding.declaration for finding in findings] == ["is_valid_action()"]
    assert re.match(rf"{found}, which is not in Discrete\(20\)", findings[0].value)
    assert "0 <= action < n" in findings[0].remedy


def _step(cls):
    env = cls(size=12)
    env.reset(seed=0)
    env.step(0)


def _without_space(self, instance):
    Depots._load(self, instance)
    del self.action_space


def _observing_text(self, instance):
    Depots._load(self, instance)
    self._observation_type = {"sites": "mean"}


@pytest.mark.parametrize(
    ("hook", "own", "message"),
    [
        ("_load", _without_space, r"_load\(\) sets no action_space; set it to a Discrete or Multi"),
        (
            "_load",
            _observing_text,
            r"_observation_type\['sites'\] is 'mean'; use Graph or Function",
        ),
        ("get_graphs", lambda self: [self._sites], r"get_graphs\(\) returned \[.*graphs by name"),
        ("objective", lambda self: self._served, r"objective\(\) returned array\(\["),
        ("_apply", lambda self, action: 3.0, r"_apply\(\) returned 3.0; return nothing, or reward"),
    ],
)
def test_hooks_that_give_something_else_are_named(hook, own, message):
    cls = type("Mistaken", (Depots,), {hook: own})
    with pytest.raises(SpecError, match=message):
        _step(cls)


def test_the_size_of_an_instance_is_a_whole_number():
    with pytest.raises(InstanceError, match="instance 'a': size is '3'; give the whole number"):
        Instance("depots", "a", "3", {})


def test_its_objective_counts_all_ways():
    env = Depots(size=20)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    ended = False
    while not ended:
        *_, ended, _, info = env.step(env.sample_valid_action(rng))
    assert len(env.solution()) == 2
    assert info["objective"] == Depots.evaluate_solution(env.instance, env.solution())


def test_an_agent_for_it_is_trained_saved_and_decides_on_larger_maps(tmp_path):
    data = lagco.generate(
        Depots, 3, out=tmp_path / "data", references="sweeps", sweeps=5, sizes=15, progress=False
    )
    encoder = tmp_path / "encoder"
    brief = PretrainConfig(max_steps=5, states=30)
    lagco.pretrain(Depots, data, encoder, training=brief, progress=False)
    lagco.train(
        Depots,
        data,
        tmp_path / "agent",
        encoder=encoder,
        method="soft-projection",
        steps=256,
        rollout=128,
        batch_size=64,
    )
    agent = lagco.load(tmp_path / "agent", Depots)
    answer = agent.solve(Depots.generate(60), episodes=2)
    assert len(answer.solution) == 7
    assert answer.objective == Depots.evaluate_solution(Depots.generate(60), answer.solution)
    lagco.instances.write(data[0], tmp_path / "one.npz")
    by_name = "examples.depots:Depots"
    found = lagco.solve(
        tmp_path / "one.npz", problem=by_name, agent=tmp_path / "agent", seconds=0.3
    )
    assert found.valid
    assert lagco.solve(data[0], agent=agent, seconds=0.3).valid
    assert lagco.info(tmp_path / "agent")["problem"] == "depots"


def test_a_study_of_it_has_references_by_search():
    assert data_task("examples.depots:Depots", 3).spec["references"] == ["sweeps", "solver"]
    assert data_task("tsp", 3).spec["references"] == ["sweeps", "solver"]
