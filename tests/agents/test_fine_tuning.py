"""Encoders that learn with the policy, and agents that learn from their own best episodes."""

import numpy as np
import pytest
import torch

import lagco
from lagco.agents.teaching.fine_tuning import EncoderTuner
from lagco.agents.teaching.teachers import EpisodeTeacher, make_teacher
from lagco.agents.training.callback import given_callbacks
from lagco.agents.training.trainer import Trainer, train
from lagco.commands.generate import generate_instance
from lagco.errors import UsageError
from lagco.problems import problem_class
from lagco.problems.max_cut.env import MaxCut
from tests.agents.runs import instances
from tests.agents.test_imitation import SHORT, taught
from tests.latent.conftest import brief_encoder, brief_space


def weights_of(agent):
    return {k: a for view in agent.space.encoder.views.values() for k, a in view.weights.items()}


def begun(name="max-cut"):
    env = problem_class(name)(generate_instance(name, size=12, references=["sweeps"], sweeps=5))
    env.reset(seed=0)
    view = brief_space(name, "full").view(env)
    view.refresh()
    return env, view


def test_changes_are_those_of_the_inner_products_with_other_embeddings():
    _, view = begun()
    tuner = EncoderTuner(view.space, [view])
    rng = np.random.default_rng(0)
    proto = rng.normal(size=view.space.scale.width).astype(np.float32)
    rows = view.nearest(proto, 12, "inner").indices
    seen, protos = tuner.see(0, rows), torch.from_numpy(proto)[None]
    assert tuner.changes([seen], protos, len(rows)).abs().max() < 1e-4  # nothing changed yet
    before = view.actions().vectors(rows) @ proto
    kept = {name: encoder.weights for name, encoder in view.space.encoder.views.items()}
    try:
        for network in tuner.networks.values():
            with torch.no_grad():
                for weight in network.parameters():
                    weight.add_(0.05 * torch.from_numpy(rng.normal(size=weight.shape)).float())
        found = tuner.changes([seen], protos, len(rows)).detach().numpy()[0]
        tuner.adopt()
        view.refresh()
        after = view.actions().vectors(rows) @ proto
    finally:  # the space is shared
        for name, encoder in view.space.encoder.views.items():
            encoder.weights = kept[name]
            for cache in ("network", "compiled_weights"):
                encoder.__dict__.pop(cache, None)
    assert np.abs(after - before).max() > 1e-2
    np.testing.assert_allclose(found, after - before, atol=1e-3)


def test_a_tuned_encoder_is_kept_with_its_agent_and_the_given_one_stays(tmp_path):
    given = {
        k: a.copy() for v in brief_encoder("max-cut").views.values() for k, a in v.weights.items()
    }
    frozen = taught(tmp_path / "frozen", "max-cut")
    tuned = taught(tmp_path / "tuned", "max-cut", encoder_training="fine-tuned")
    again = weights_of(lagco.load(tmp_path / "tuned"))
    for name, array in weights_of(tuned).items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)
        np.testing.assert_array_equal(weights_of(frozen)[name], given[name], err_msg=name)
    assert any((array != given[name]).any() for name, array in weights_of(tuned).items())
    instance = generate_instance("max-cut", size=20)
    assert (
        tuned.solve(instance).objective == lagco.load(tmp_path / "tuned").solve(instance).objective
    )


def test_a_run_that_tunes_goes_on_where_it_stopped(tmp_path):
    options = {"encoder_training": "fine-tuned", "steps": 512, "decoder": "nearest"}
    options = SHORT | options | {"encoder": brief_encoder("max-cut")}
    first = Trainer("max-cut", instances("max-cut"), tmp_path, **options)
    reached = weights_of(first.learn(256))
    second = Trainer("max-cut", instances("max-cut"), tmp_path, **options)
    seen = []
    second._callbacks = given_callbacks(lambda values, _: seen.append(values["self"]) or True)
    second.learn(256)
    restored = seen[0]._tuner.optimisers["graph"].state_dict()["state"]
    assert min(int(state["step"]) for state in restored.values()) > 0
    after = weights_of(second.agent())
    assert any((array != after[name]).any() for name, array in reached.items())


def test_what_cannot_be_tuned_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no part of an action of .* is a node"):
        taught(tmp_path / "ospf", "ospf", encoder_training="fine-tuned")
    with pytest.raises(UsageError, match="not the encoder it came with"):
        taught(
            tmp_path / "valid",
            "max-cut",
            encoder_training="fine-tuned",
            validation=[generate_instance("max-cut", size=8)],
            evaluate_every=256,
        )


def test_an_agent_teaches_by_the_best_of_its_episodes(tmp_path):
    agent = taught(tmp_path / "agent", "max-cut")
    instance = generate_instance("max-cut", size=16, index=3, references=["sweeps"], sweeps=5)
    teacher = make_teacher(str(tmp_path / "agent"), MaxCut)
    assert isinstance(teacher, EpisodeTeacher)
    env = MaxCut(instance)
    env.reset(seed=7)
    teacher.begin(env, 7)
    while len(right := teacher.actions(env)):
        env.step(int(right[0]))
    single = MaxCut(instance)
    single.reset(seed=7)
    ended = False
    while not ended:
        *_, terminated, truncated, _ = single.step(agent.act(single))
        ended = terminated or truncated
    assert env.best_objective >= single.best_objective


def test_a_taught_agent_is_where_another_run_begins(tmp_path):
    first = taught(tmp_path / "first", "max-cut")
    changes = {"encoder": None, "init": tmp_path / "first", "learning_rate": 1e-12}
    second = train("max-cut", instances("max-cut"), tmp_path / "second", **(SHORT | changes))
    names = [name for name in first.weights if name.startswith("policy")]
    assert len(names) > 2
    for name in names:
        np.testing.assert_allclose(first.weights[name], second.weights[name], atol=1e-6)
    np.testing.assert_array_equal(first.weights["ranker.mean"], second.weights["ranker.mean"])
    with pytest.raises(UsageError, match="give the ranker_width and ranker_layers of that agent"):
        train(
            "max-cut",
            instances("max-cut"),
            tmp_path / "third",
            **(SHORT | changes | {"ranker_width": 32}),
        )
