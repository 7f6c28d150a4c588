"""Agents for use elsewhere: an ONNX file, and a folder that decides with numpy alone."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch

import lagco
from lagco.agents.inference.perceptron import perceptron
from lagco.agents.methods.projection import ProjectionActor
from lagco.agents.shipped import FOLDER
from lagco.commands.generate import generate_instance
from lagco.core.declaring.declaration import read_declaration
from lagco.core.declaring.descriptors import STRUCTURAL
from lagco.core.spec import Edge, Function, Object
from lagco.errors import MissingExtra, UsageError
from lagco.problems import problem_class
from lagco.rollout import Episode
from tests.agents.runs import instances, settings, trained
from tests.latent.conftest import brief_encoder

#: runs where neither lagco nor torch can be imported
SCRIPT = """
import json, sys
for name in ("lagco", "torch", "numba", "scipy"):
    sys.modules[name] = None
sys.path.insert(0, {folder!r})
import numpy as np
from decide import Policy

policy = Policy()
states = np.load({states!r})
found = []
for number, about in enumerate(json.load(open({about!r}))):
    views = {{}}
    for key in states.files:
        at, view, table, name = key.split("|")
        if int(at) == number:
            entry = views.setdefault(view, {{"nodes": {{}}, "edge_attributes": {{}}}})
            if table == "edges":
                entry["edges"] = states[key]
            else:
                entry[table][name] = states[key]
    allowed = set(map(tuple, about["valid"]))
    valid = lambda actions: [tuple(np.atleast_1d(a).tolist()) in allowed for a in actions]
    action = policy.decide(views, about["functions"], valid)
    observation = policy.observe(views, about["functions"]).tolist()
    found.append([list(np.atleast_1d(action).tolist()), observation])
print(json.dumps(found))
"""


def dumped(agent, env, episode_states):
    """States as plain arrays, and what the library sees and decides there."""
    arrays, about, expected = {}, [], []
    env.reset(seed=3)
    actor = agent.actor(env)
    assert isinstance(actor, ProjectionActor)
    rng = np.random.default_rng(0)
    for number, _ in zip(
        range(episode_states), Episode(env, 3, explore=False).states(agent), strict=False
    ):
        views = env.graph_views()
        for view, graph in views.items():
            arrays[f"{number}|{view}|edges|"] = np.array(graph.edges)
            for name, column in graph.nodes.items():
                arrays[f"{number}|{view}|nodes|{name}"] = np.array(column)
            for name, column in graph.edge_attributes.items():
                arrays[f"{number}|{view}|edge_attributes|{name}"] = np.array(column)
        functions = {
            name: np.ravel(part.function(views[part.graph])).tolist()
            for name, part in read_declaration(env, views).observation.items()
            if isinstance(part, Function) and part.function not in STRUCTURAL
        }
        actor.view.refresh()
        actions = actor.view.actions()
        rows = actions.list()
        parts = actions.parts(rows)
        valid = np.asarray(env.are_valid_actions(actor.view.raw(rows)), dtype=bool)
        about.append({"functions": functions, "valid": parts[valid].tolist()})
        raw = actor.act(rng, False)
        taken = env.parts_from_actions(np.asarray([raw]))[0]
        expected.append([np.atleast_1d(taken).tolist(), actor.observe().tolist()])
    return arrays, about, expected


@pytest.mark.parametrize("method", ["projection", "soft-projection"])
@pytest.mark.parametrize(("name", "size"), [("tsp", 20), ("max-cut", 20), ("placement", 12)])
def test_a_folder_decides_as_the_library_does(name, size, method, tmp_path):
    agent = lagco.load(trained(method, name, steps=512))
    agent.export(tmp_path / "runtime")
    env = problem_class(name)(generate_instance(name, size=size, seed=8))
    arrays, about, expected = dumped(agent, env, 12)
    np.savez(tmp_path / "states.npz", **arrays)
    (tmp_path / "about.json").write_text(json.dumps(about))
    script = SCRIPT.format(
        folder=str(tmp_path / "runtime"),
        states=str(tmp_path / "states.npz"),
        about=str(tmp_path / "about.json"),
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 5
    for (action, observation), (wanted, seen) in zip(found, expected, strict=True):
        np.testing.assert_allclose(observation, seen, atol=2e-4)
        assert action == wanted


class EdgeCut(problem_class("max-cut")):
    """Maximum cut whose actions name an edge and which of its ends to move."""

    def _load(self, instance):
        super()._load(instance)
        attributes = {"attributes": ["weight"]} if self.features == "full" else {}
        self._action_type = {
            "edge": Edge(**attributes),
            "end": Object(choices=["first", "second"], extractor="onehot"),
        }
        self.action_space = gym.spaces.MultiDiscrete([self._view.num_edges, 2])

    def _apply(self, action):
        super()._apply(self._view.edges[int(action[1]), int(action[0])])

    def is_valid_action(self, action):
        return True

    def sample_valid_action(self, rng=None):
        return (rng or self.np_random).integers([self._view.num_edges, 2])


def test_edges_and_choices_can_be_exported(tmp_path):
    data = instances("max-cut")
    encoder = brief_encoder("max-cut")
    given = settings("projection", steps=256) | {"shaped_rewards": False}
    agent = lagco.train(EdgeCut, data, tmp_path / "agent", encoder=encoder, **given)
    agent.export(tmp_path)
    env = EdgeCut(generate_instance("max-cut", size=10, seed=8))
    arrays, about, expected = dumped(agent, env, 4)
    sys.path.insert(0, str(tmp_path))
    try:
        sys.modules.pop("decide", None)
        from decide import Policy
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("decide", None)
    policy = Policy(tmp_path)
    for number, (state, (wanted, seen)) in enumerate(zip(about, expected, strict=True)):
        views = {}
        for key, array in arrays.items():
            at, view, table, column = key.split("|")
            if int(at) == number:
                entry = views.setdefault(view, {"nodes": {}, "edge_attributes": {}})
                if table == "edges":
                    entry["edges"] = array
                else:
                    entry[table][column] = array
        allowed = set(map(tuple, state["valid"]))
        action = policy.decide(
            views,
            state["functions"],
            lambda found, allowed=allowed: [
                tuple(np.atleast_1d(a).tolist()) in allowed for a in found
            ],
        )
        np.testing.assert_allclose(policy.observe(views, state["functions"]), seen, atol=2e-4)
        assert np.atleast_1d(action).tolist() == wanted


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        (lambda: FOLDER / "traffic", "action 'communication_path': Path components"),
        (lambda: FOLDER / "ospf", "action 'delta': objects in the attributes of others"),
        (lambda: trained("iterative"), "iterative does not decide by the nearest action"),
        (lambda: trained("projection", steps=256, decoder="preview"), "the decoder 'preview'"),
        (lambda: trained("projection", steps=256, reduce=3), "reduced action vectors"),
    ],
)
def test_what_a_folder_cannot_hold_is_named(folder, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        lagco.load(folder()).export(tmp_path / "runtime")
    assert not (tmp_path / "runtime").exists()


@pytest.mark.parametrize(
    ("method", "activation"),
    [("projection", "leaky_relu"), ("projection", "tanh"), ("soft-projection", "elu"),
     ("g-discrete-m", "relu"), ("iterative", None)],
)  # fmt: skip
def test_an_onnx_file_gives_what_the_policy_gives(method, activation, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    changes = {} if activation is None else {"activation": activation}
    agent = lagco.load(trained(method, steps=256, **changes))
    agent.export(tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"))
    network = perceptron(agent.weights, "q" if method == "iterative" else "policy")
    inputs = np.random.default_rng(0).normal(size=(7, network.inputs)).astype(np.float32)
    (found,) = session.run(None, {"observation": inputs})
    np.testing.assert_allclose(found, network(inputs), atol=1e-5)


def test_exporting_to_onnx_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"policy.onnx needs 'onnx'.*lagco\[export\]"):
        lagco.load(trained("projection")).export(tmp_path / "policy.onnx")


# -- networks of the user's own


class Residual(torch.nn.Module):
    """A policy network of a user."""

    def __init__(self, inputs, outputs, hidden=16):
        super().__init__()
        self.first = torch.nn.Linear(inputs, hidden)
        self.norm = torch.nn.LayerNorm(hidden)
        self.last = torch.nn.Linear(hidden, outputs)

    def forward(self, observations):
        hidden = torch.relu(self.first(observations))
        return self.last(hidden + self.norm(hidden))


@pytest.mark.parametrize("method", ["projection", "soft-projection", "g-discrete-m"])
def test_a_network_of_ones_own_trains_saves_and_loads(method, tmp_path):
    given = settings(method, steps=512) | {"method": method, "policy": Residual}
    agent = lagco.train("tsp", instances(), tmp_path / "a", encoder=brief_encoder("tsp"), **given)
    other = lagco.load(tmp_path / "a", policy_class=Residual)
    assert (
        agent.solve(instances()[0], seed=1).episodes == other.solve(instances()[0], seed=1).episodes
    )
    assert lagco.evaluate(other, instances(), episodes=2).results[0].refused is None
    lagco.train(
        "tsp", instances(), tmp_path / "a", encoder=brief_encoder("tsp"), **given | {"steps": 1024}
    )
    lagco.train(
        "tsp", instances(), tmp_path / "b", encoder=brief_encoder("tsp"), **given | {"steps": 1024}
    )
    if method == "projection":  # the rate of the other falls
        assert (tmp_path / "a/agent.safetensors").read_bytes() == (
            tmp_path / "b/agent.safetensors"
        ).read_bytes()
    other.export(tmp_path / "own.onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    network = perceptron(other.weights, "policy")
    inputs = np.random.default_rng(0).normal(size=(3, network.inputs)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(tmp_path / "own.onnx"))
    np.testing.assert_allclose(
        session.run(None, {"observation": inputs})[0], network(inputs), atol=1e-5
    )
    with pytest.raises(
        lagco.errors.LagcoError, match="torch module of the user's own.*give policy_class="
    ):
        lagco.load(tmp_path / "a")
    with pytest.raises(lagco.errors.LagcoError, match="policy_class=.*makes another network"):
        lagco.load(tmp_path / "a", policy_class=lambda i, o: Residual(i, o, 8))


@pytest.mark.parametrize(
    ("method", "policy", "message"),
    [
        ("projection", lambda i, o: 3, "it must give a torch.nn.Module"),
        ("projection", lambda i, o: torch.nn.Linear(i, o + 1), r"they must be \(2, \d+\)"),
        ("projection", lambda i, o: torch.nn.Linear(i + 1, o), "fails on observations of shape"),
        ("iterative", Residual, "the policy network of iterative cannot be exchanged"),
    ],
)
def test_networks_that_do_not_fit_are_refused(method, policy, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        lagco.train(
            "tsp", instances(), tmp_path, encoder=brief_encoder("tsp"), method=method, policy=policy,
            **settings(method),
        )  # fmt: skip


def test_a_class_for_an_agent_that_needs_none_is_refused():
    with pytest.raises(lagco.errors.LagcoError, match="policy_class=.*lagco's own"):
        lagco.load(trained("projection"), policy_class=Residual)
