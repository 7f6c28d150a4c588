"""Demonstrations as files: what they hold, what is learnt from them, what is refused."""

import json

import numpy as np
import pytest

import lagco
from lagco.agents.teaching.demonstrations import KIND, RecordedTeacher, read_demonstrations
from lagco.agents.teaching.teachers import make_teacher
from lagco.agents.training.trainer import train
from lagco.errors import LagcoError, UsageError
from lagco.problems import problem_class
from lagco.problems.tsp.env import TSP
from tests.agents.runs import instances
from tests.agents.test_imitation import SHORT
from tests.latent.conftest import brief_encoder


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "tours"
    return lagco.demonstrate("tsp", instances(), folder, teacher="solver", episodes=3, seed=4)


def taught(folder, teacher, **changes):
    options = SHORT | {"teacher": str(teacher), "encoder": brief_encoder("tsp")}
    return train("tsp", instances(), folder, **(options | changes))


def test_following_demonstrations_reaches_what_the_teacher_reached(kept):
    _, known = read_demonstrations(kept, TSP)
    for instance in instances():
        episodes = known[instance.checksum]
        assert len(episodes) == 3
        for episode in episodes:
            env = TSP(instance)
            env.reset(seed=episode.seed)
            assert len(episode.right[0]) == 2  # both ways round
            for right in episode.right:
                *_, ended, _, info = env.step(int(right[0]))
            assert ended
            assert info["objective"] == pytest.approx(instance.references.solver.value)


@pytest.mark.parametrize("name", ["placement", "min-vertex"])
def test_actions_of_several_parts_and_of_several_choices_are_kept(name, tmp_path):
    cls = problem_class(name)
    folder = lagco.demonstrate(name, instances(name)[:1], tmp_path, teacher="search")
    _, known = read_demonstrations(folder, cls)
    (episode,) = known[instances(name)[0].checksum]
    env = cls(instances(name)[0])
    env.reset(seed=episode.seed)
    for right in episode.right:
        advice = {tuple(np.atleast_1d(action)) for action in env.advise()}
        assert {tuple(np.atleast_1d(action)) for action in right} == advice
        env.step(int(right[0]) if right.ndim == 1 else right[0])


def test_the_same_seed_writes_the_same_files(kept, tmp_path):
    again = lagco.demonstrate("tsp", instances(), tmp_path, teacher="solver", episodes=3, seed=4)
    other = lagco.demonstrate("tsp", instances(), tmp_path / "b", teacher="solver", seed=5)
    assert KIND.read(again).checksum == KIND.read(kept).checksum != KIND.read(other).checksum


def test_an_agent_learns_from_demonstrations(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(TSP, "solve", None)  # the files are enough
    few = taught(tmp_path / "few", kept, steps=256)
    more = taught(tmp_path / "more", kept, steps=4096, rollout=1024)
    again = taught(tmp_path / "again", kept, steps=4096, rollout=1024)
    for name, array in more.weights.items():
        np.testing.assert_array_equal(array, again.weights[name], err_msg=name)
    gaps = [lagco.evaluate(a, instances(), episodes=1).values("gap", "first") for a in (few, more)]
    assert np.mean(gaps[1]) < np.mean(gaps[0])


def test_what_does_not_belong_together_is_refused(kept, tmp_path):
    with pytest.raises(UsageError, match="demonstrations of 'tsp', not of 'max-cut'"):
        make_teacher(str(kept), problem_class("max-cut"))
    some = lagco.demonstrate("tsp", instances()[:1], tmp_path / "some", teacher="greedy")
    env = TSP(instances()[2])
    env.reset(seed=0)
    with pytest.raises(UsageError, match="no demonstrations of the instance"):
        RecordedTeacher(some, TSP).episode_seed(env, 0)
    with pytest.raises(UsageError, match="episodes=0"):
        lagco.demonstrate("tsp", instances(), tmp_path / "none", episodes=0)
    path = some / KIND.description
    described = json.loads(path.read_text())
    path.write_text(json.dumps(described | {"teacher": "solver"}))
    with pytest.raises(LagcoError, match="does not match its checksum"):
        make_teacher(str(some), TSP)


def test_an_action_that_is_not_valid_is_refused_before_it_is_learnt(kept, tmp_path):
    found = KIND.read(kept)
    tensors = {name: found.tensors[name].copy() for name in found.tensors}
    tensors["actions"][:] = 99
    KIND.write(tmp_path / "forged", found.content, tensors, {})
    with pytest.raises(LagcoError, match=r"forged: holds the action 99 where it is not valid"):
        taught(tmp_path / "agent", tmp_path / "forged", steps=256)


def test_a_run_goes_on_with_its_own_demonstrations_alone(tmp_path):
    folder = tmp_path / "shown"
    lagco.demonstrate("tsp", instances(), folder, teacher="greedy")
    taught(tmp_path / "agent", folder, steps=256)
    lagco.demonstrate("tsp", instances(), folder, teacher="greedy", seed=1)
    with pytest.raises(LagcoError, match="learnt from other demonstrations"):
        taught(tmp_path / "agent", folder, steps=512)


def test_the_command_line_keeps_demonstrations(tmp_path):
    from typer.testing import CliRunner

    from lagco.cli import app

    lagco.generate("tsp", 2, out=tmp_path / "data", sizes=8, references="none", progress=False)
    command = ["demonstrate", "tsp", "--data", str(tmp_path / "data"), "--teacher", "greedy"]
    found = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "shown"), "--json"])
    assert found.exit_code == 0, found.output
    described = json.loads(found.output)
    assert (described["episodes"], described["states"]) == (2, 14)
