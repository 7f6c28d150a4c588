"""Bundles: what is loaded decides as before; what is hostile is refused by name."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import lagco
from lagco import LagcoError
from lagco.agents.shipped import FOLDER, default_agent
from lagco.core.problem import Problem
from lagco.generation import generate_instance
from lagco.problems import problem_class
from tests.agents.runs import instances, trained

LATENT = ("projection", "soft-projection")


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(trained("projection"), tmp_path / "copy")


@pytest.mark.parametrize("method", LATENT)
def test_a_loaded_agent_decides_the_same_every_time(method):
    first, second = lagco.load(trained(method)), lagco.load(trained(method))
    instance = generate_instance(
        "tsp", size=15, seed=77, references=("sweeps", "solver"), sweeps=30
    )
    a, b = first.solve(instance, episodes=3, seed=1), second.solve(instance, episodes=3, seed=1)
    assert a.episodes == b.episodes
    assert a.objective == min(a.episodes)
    assert a.objective == pytest.approx(first.problem.evaluate_solution(instance, a.solution))
    assert a.gap >= 0


@pytest.mark.parametrize(("name", "size"), [("tsp", 1000), ("max-cut", 1000)])
@pytest.mark.parametrize("method", LATENT)
def test_an_agent_trained_small_acts_on_large_instances(method, name, size):
    agent = lagco.load(trained(method, name))
    env = problem_class(name)(generate_instance(name, size=size), rewards=False)
    env.reset(seed=0)
    for _ in range(3):
        action = agent.act(env)
        assert env.is_valid_action(action)
        env.step(action)


@pytest.mark.parametrize(
    "decoder", ["nearest", "sampled", "preview", "rule:tests.latent.test_space:last"]
)
@pytest.mark.parametrize("method", LATENT)
def test_decoders_can_be_exchanged(method, decoder):
    result = lagco.evaluate(trained(method), instances(), episodes=2, decoder=decoder, k=4)
    assert all(e.feasible for r in result.results for e in r.episodes)


def test_seen_and_unseen_instances_are_kept_apart():
    data = [*instances(), generate_instance("tsp", size=9, seed=3, references="sweeps", sweeps=20)]
    result = lagco.evaluate(trained("projection"), data, episodes=1)
    assert [r.seen for r in result.results] == [True, True, True, False]
    assert result.summary(seen=False)["score/first"].count == 1


def test_info_says_what_it_is():
    about = lagco.info(trained("projection"))
    assert about["kind"] == "agent"
    assert about["method"] == "projection"
    assert about["training"]["sizes"] == [8, 10, 12]


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def edit(folder, **changes):
    path = folder / "agent.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def reweigh(folder, change):
    """Change the arrays and make the checksum fit."""
    from lagco.store import sha256

    arrays = load_file(folder / "agent.safetensors")
    change(arrays)
    content = save(arrays)
    (folder / "agent.safetensors").write_bytes(content)
    edit(folder, sha256=sha256(content))


HOSTILE = {
    "truncated": (
        lambda f: (f / "agent.safetensors").write_bytes(
            (f / "agent.safetensors").read_bytes()[:99]
        ),
        r"agent\.safetensors.*checksum",
    ),
    "pickle": (
        lambda f: (f / "agent.safetensors").write_bytes(pickle.dumps(Bomb())),
        r"agent\.safetensors",
    ),
    "pickled description": (
        lambda f: (f / "agent.json").write_bytes(pickle.dumps(Bomb())),
        r"agent\.json.*not JSON",
    ),
    "other version": (lambda f: edit(f, version=7), r"agent\.json.*version 7"),
    "other format": (
        lambda f: edit(f, format="zip"),
        r"agent\.json.*not the description of an agent",
    ),
    "missing field": (lambda f: edit(f, config=None), r"agent\.json.*'config'"),
    "unknown method": (lambda f: edit(f, method="os:system"), "unknown method 'os:system'"),
    "code to import": (lambda f: edit(f, problem="os:system"), "not one of lagco's"),
    "not a number": (
        lambda f: reweigh(f, lambda a: a["policy.0.weight"].fill(np.nan)),
        r"'policy\.0\.weight' holds values that are no numbers",
    ),
    "no weights": (
        lambda f: (f / "agent.safetensors").unlink(),
        r"agent\.safetensors: cannot be read",
    ),
    "no description": (lambda f: (f / "agent.json").unlink(), "not a bundle"),
    "no space": (lambda f: shutil.rmtree(f / "space"), "space"),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_bundles_are_refused_by_name(folder, how):
    damage, message = HOSTILE[how]
    damage(folder)
    with pytest.raises(LagcoError, match=message) as caught:
        lagco.load(folder)
    assert str(folder) in str(caught.value) or how == "unknown method"


def test_swapped_tensors_are_noticed(folder):
    def swap(arrays):
        arrays["policy.0.weight"], arrays["policy.1.weight"] = (
            arrays["policy.1.weight"],
            arrays["policy.0.weight"],
        )

    reweigh(folder, swap)
    with pytest.raises(LagcoError, match=r"agent\.safetensors: layer policy\.\d"):
        lagco.load(folder)


def test_another_problems_bundle_is_refused(folder):
    with pytest.raises(LagcoError, match="for 'tsp', not for 'max-cut'"):
        lagco.load(folder, "max-cut")


def test_a_bundle_may_be_loaded_with_its_problem_named():
    """Also where actions contain objects, whose declarations are not in the files."""
    folder = FOLDER / "ospf"
    for problem in ("ospf", problem_class("ospf")):
        agent = lagco.load(folder, problem)
        assert agent.solve(generate_instance("ospf", size=10), episodes=1).objective > 0


def test_objects_of_a_problem_that_cannot_draw_are_read_off_an_instance():
    class Given(problem_class("ospf")):
        draw = Problem.draw

    instance = generate_instance("ospf", size=10)
    with pytest.raises(LagcoError, match="'delta'.*problem= and instance="):
        lagco.load(FOLDER / "ospf", Given)
    assert lagco.load(FOLDER / "ospf", Given, instance).solve(instance, episodes=1).objective > 0


def test_paths_may_be_longer_in_the_next_instance():
    """An agent keeps its view of an environment that is given another instance."""
    agent = default_agent("traffic")
    first = generate_instance("traffic", size=8, seed=1)
    for hops in (3, 6):
        other = replace(first, name="other", params=first.params | {"max_path_len": hops})
        (alone,) = lagco.evaluate(agent, [other], episodes=2).results
        _, after = lagco.evaluate(agent, [first, other], episodes=2).results
        assert alone.episodes == after.episodes
