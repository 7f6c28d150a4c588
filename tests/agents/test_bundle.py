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
from lagco.agents.bundle import AGENT
from lagco.agents.shipped import FOLDER, default_agent
from lagco.commands.generate import generate_instance
from lagco.core.problem import Problem
from lagco.errors import LagcoError
from lagco.latent.files import SPACE
from lagco.problems import problem_class
from tests.agents.runs import instances, trained
from tests.store.forging import forge, put

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


def forged(change=None, tensors=None):
    return lambda folder: forge(AGENT, folder, change, tensors)


def linked(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


HOSTILE = {
    "truncated": (
        lambda f: (f / "agent.safetensors").write_bytes(
            (f / "agent.safetensors").read_bytes()[:99]
        ),
        r"agent\.safetensors.*not a safetensors file.*; copy it again",
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
    "old version": (
        lambda f: edit(f, version=1),
        r"agent\.json.*version 1 .*train the agent again",
    ),
    "altered method": (
        lambda f: edit(f, method="soft-projection"),
        r"agent\.json.*does not match its checksum",
    ),
    "missing field": (forged(lambda c: c.pop("config")), r"agent\.json.*has no 'config'"),
    "unknown field": (forged(put("extra", value=1)), "unknown field 'extra'"),
    "unknown method": (forged(put("method", value="os:system")), "unknown method 'os:system'"),
    "method of another configuration": (
        forged(put("method", value="soft-projection")),
        "configuration is that of 'projection', not of 'soft-projection'",
    ),
    "method of other tensors": (
        forged(
            lambda c: (
                put("method", value="iterative")(c),
                put("config", "method", value="iterative")(c),
            )
        ),
        r"agent\.json",
    ),
    "configuration of a wrong type": (
        forged(put("config", "steps", value="many")),
        r"agent\.json.*steps='many'",
    ),
    "unknown setting": (forged(put("config", "magic", value=1)), "unknown setting of projection"),
    "a file as a setting": (
        forged(put("config", "file", value="/etc/passwd")),
        r"agent\.json.*file",
    ),
    "facts of a wrong type": (forged(put("facts", value=[])), r"agent\.json.*facts: is \[\]"),
    "facts that are none": (
        forged(put("facts", "actions", value=10**12)),
        "unknown field 'actions'",
    ),
    "an infinite number": (
        lambda f: (f / "agent.json").write_text(
            (f / "agent.json").read_text().replace("0.9,", "1e999,", 1)
        ),
        "1e999.* is too large for a number",
    ),
    "a rule to import": (
        forged(put("config", "decoder", value="rule:os:system")),
        "must not say what to import",
    ),
    "code to import": (forged(put("problem", value="os:system")), "not one of lagco's"),
    "not a number": (
        lambda f: (f / "agent.safetensors").write_bytes(
            save(load_file(f / "agent.safetensors") | {"log_std": np.full(16, np.nan, "f4")})
        ),
        r"tensor 'log_std' holds numbers that are not finite",
    ),
    "bf16": (lambda f: retyped(f, "BF16"), "is of type BF16; read are BOOL"),
    "f8": (lambda f: retyped(f, "F8_E4M3"), "is of type F8_E4M3"),
    "float64": (
        forged(tensors=lambda a: a.update({"policy.0.weight": a["policy.0.weight"].astype("f8")})),
        "has the type float64",
    ),
    "points of another width": (
        forged(
            tensors=lambda a: a.update(
                {
                    "policy.2.weight": a["policy.2.weight"][:3],
                    "policy.2.bias": a["policy.2.bias"][:3],
                }
            )
        ),
        r"'policy\.2\.weight' has shape \(3, 64\)",
    ),
    "deviations of another width": (
        forged(tensors=put("log_std", value=np.zeros(3, "f4"))),
        r"'log_std' has shape \(3,\)",
    ),
    "deviations beyond measure": (
        forged(tensors=lambda a: a["log_std"].fill(1e3)),
        "'log_std' exceeds 50",
    ),
    "no deviations": (forged(tensors=lambda a: a.pop("log_std")), "'log_std' is missing"),
    "a tensor too many": (
        forged(tensors=put("more", value=np.zeros(3, "f4"))),
        "belong nowhere: more",
    ),
    "another space": (
        lambda f: forge(SPACE, f / "space", tensors=lambda a: a["low"].fill(-9)),
        "than it belongs to",
    ),
    "no weights": (
        lambda f: (f / "agent.safetensors").unlink(),
        r"agent\.safetensors: no such file",
    ),
    "weights beyond measure": (
        forged(tensors=lambda a: a["policy.0.weight"].fill(3e38)),
        r"agent\.safetensors: tensor 'policy\.0\.weight' holds numbers as large as 3e\+38, they reach",
    ),
    "a linked space": (lambda f: linked(f / "space"), r"space: is a link; copy the folder itself"),
    "a linked encoder": (lambda f: linked(f / "space" / "encoder"), r"encoder: is a link"),
    "linked weights": (
        lambda f: linked(f / "agent.safetensors"),
        r"agent\.safetensors: cannot be read \(it is a link",
    ),
    "no description": (lambda f: (f / "agent.json").unlink(), "training has not finished"),
    "no space": (lambda f: shutil.rmtree(f / "space"), "space"),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_bundles_are_refused_by_name(folder, how):
    damage, message = HOSTILE[how]
    damage(folder)
    with pytest.raises(LagcoError, match=message) as caught:
        lagco.load(folder)
    assert str(folder) in str(caught.value)


def retyped(folder, kind):
    """Say that the tensors are of another type of the same file."""
    path = folder / "agent.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, begin = {}, 0
    for name, entry in json.loads(content[8 : 8 + length]).items():
        size = int(np.prod(entry["shape"])) * (2 if kind == "BF16" else 1)
        header[name] = entry | {"dtype": kind, "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(begin))


@pytest.mark.parametrize("columns", [4, 4000])
@pytest.mark.parametrize("method", [*LATENT, "iterative", "g-discrete-m", "p-discrete"])
def test_a_network_for_another_observation_is_refused(method, columns, tmp_path):
    """Compiled code trusts the widths, so they are checked before anything is decided."""
    folder = shutil.copytree(trained(method), tmp_path / "copy")
    name = "q.0.weight" if method == "iterative" else "policy.0.weight"
    rows = load_file(folder / "agent.safetensors")[name].shape[0]
    if method == "iterative" and columns == 4:
        columns = 60  # beside the action there must be something
    forge(AGENT, folder, tensors=put(name, value=np.zeros((rows, columns), np.float32)))
    agent = lagco.load(folder)
    env = problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    with pytest.raises(LagcoError, match=f"takes {columns} numbers"):
        agent.act(env)


def test_weights_beyond_measure_are_named(tmp_path):
    """A proto-action that is not finite has no nearest action."""
    folder = shutil.copytree(trained("soft-projection"), tmp_path / "copy")
    forge(AGENT, folder, tensors=lambda a: [a[f"policy.{i}.weight"].fill(9e14) for i in range(3)])
    env = problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    with np.errstate(all="ignore"), pytest.raises(LagcoError, match="not finite; are weights too"):
        lagco.load(folder).act(env)


def test_a_scorer_for_another_observation_is_refused(folder):
    wide = {
        "scorer.0.weight": np.zeros((1, 4), np.float32),
        "scorer.0.bias": np.zeros(1, np.float32),
    }
    forge(AGENT, folder, tensors=lambda arrays: arrays.update(wide))
    env = problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    with pytest.raises(LagcoError, match="the network 'scorer' takes 4 numbers"):
        lagco.load(folder).with_decoder("scored").act(env)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("facts", "actions", value=10**12), r"actions: is 1000000000000, it must be 1 to"),
        (put("facts", "actions", value=13), r"'policy\.2\.weight' has shape \(12, 64\)"),
        (put("facts", "actions", value="12"), "actions: is '12', it must be an integer"),
        (put("facts", "views", value={"cities": [3]}), "views.cities: has 1 entry"),
        (lambda c: c["facts"].pop("views"), "has no 'views'"),
    ],
)
def test_facts_are_checked(change, message, tmp_path):
    folder = shutil.copytree(trained("p-discrete"), tmp_path / "copy")
    forge(AGENT, folder, change)
    with pytest.raises(LagcoError, match=message) as caught:
        lagco.load(folder)
    assert str(folder) in str(caught.value)


def test_reserving_too_much_is_refused_before_it_is_allocated(tmp_path):
    folder = shutil.copytree(trained("p-discrete"), tmp_path / "copy")
    forge(AGENT, folder, put("facts", "views", "cities", value=[2**31, 2**31]))
    env = problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    with pytest.raises(LagcoError, match="the policy takes"):
        lagco.load(folder).act(env)


def test_the_order_of_keys_cannot_change_under_a_checksum(folder):
    path = folder / "agent.json"
    content = json.loads(path.read_text())
    config = content["config"]
    content["config"] = dict(sorted(config.items(), reverse=True))
    assert list(content["config"]) != list(config)
    path.write_text(json.dumps(content))
    with pytest.raises(LagcoError, match="does not match its checksum"):
        lagco.load(folder)


def test_measurements_may_change(folder):
    before = lagco.load(folder).description
    edit(folder, measured={})
    after = lagco.load(folder).description
    assert after["sha256"] == before["sha256"] and before["measured"]["seconds"] > 0
    assert "seconds" not in before["training"]


def test_a_rule_is_imported_if_the_caller_names_it(folder):
    rule = "rule:tests.latent.test_space:last"
    forge(AGENT, folder, put("config", "decoder", value=rule))
    assert lagco.info(folder)["config"]["decoder"] == rule
    assert lagco.evaluate(folder, instances()[:1], episodes=1, decoder=rule, k=3).results
    agent = lagco.load(folder, decoder=rule)
    env = problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    assert env.is_valid_action(agent.act(env))


def test_swapped_tensors_are_noticed(folder):
    def swap(arrays):
        arrays["policy.0.weight"], arrays["policy.1.weight"] = (
            arrays["policy.1.weight"],
            arrays["policy.0.weight"],
        )

    forge(AGENT, folder, tensors=swap)
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
