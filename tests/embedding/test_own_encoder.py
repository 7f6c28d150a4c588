"""Encoders that are torch modules of the user's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.nn import SAGEConv

import lagco
from lagco.embedding import EncoderConfig
from lagco.embedding.encoder import Encoder
from lagco.errors import LagcoError, UsageError
from tests.agents.runs import instances, settings
from tests.latent.conftest import BRIEF


class Mine(torch.nn.Module):
    """Mean of the neighbours, and of what the messages carry."""

    def __init__(self, node_width, message_width, width):
        super().__init__()
        self.first = SAGEConv(node_width, 8)
        self.second = torch.nn.Linear(8 + message_width, width)

    def forward(self, x, messages, features):
        carried = x.new_zeros(len(x), features.shape[1]).index_add(0, messages[1], features)
        return self.second(torch.cat([torch.relu(self.first(x, messages)), carried], dim=1))


class Narrow(torch.nn.Linear):
    """Gives too few numbers."""

    def __init__(self, node_width, message_width, width):
        super().__init__(node_width, width - 1)

    def forward(self, x, messages, features):
        return super().forward(x)


def pretrained(network=Mine, **options):
    return lagco.pretrain(
        "tsp", instances(), network=network, training=BRIEF, progress=False, **options
    )


def test_an_encoder_of_ones_own_is_stored_as_state_alone(tmp_path):
    encoder = pretrained(out=tmp_path, config=EncoderConfig(out_channels=6))
    env = lagco.problems.problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    back = Encoder.load(tmp_path, encoder_class=Mine)
    assert back.width == 6
    assert back.content_hash == encoder.content_hash
    found, again = (e.embed_batch([env.graph_views()])[0]["cities"] for e in (encoder, back))
    np.testing.assert_array_equal(found, again)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-5)
    with pytest.raises(
        LagcoError, match=r"encoder\.json.*module of the user's own.*encoder_class="
    ):
        Encoder.load(tmp_path)
    with pytest.raises(LagcoError, match=r"tensor '0\.encoder\.module\..*' (is missing|has shape)"):
        Encoder.load(tmp_path, encoder_class=Narrow)


def test_embeddings_do_not_depend_on_the_steps_before():
    encoder = pretrained()
    env = lagco.problems.problem_class("tsp")(instances()[1])
    env.reset(seed=0)
    embedder = encoder.embedder()
    for action in (1, 4, 2):
        embedder(env.graph_views())
        if env.is_valid_action(action):
            env.step(action)
    fresh = encoder.embedder()(env.graph_views())["cities"]
    np.testing.assert_allclose(embedder(env.graph_views())["cities"], fresh, atol=1e-6)


def test_a_run_with_an_encoder_of_ones_own_goes_on(tmp_path):
    encoder, given = pretrained(), settings("projection")
    lagco.train("tsp", instances(), tmp_path / "a", encoder=encoder, **given | {"steps": 256})
    encoder.save(tmp_path / "encoder")
    stored = {"encoder": tmp_path / "encoder", "encoder_class": Mine}
    lagco.train("tsp", instances(), tmp_path / "a", **stored, **given | {"steps": 512})
    lagco.train("tsp", instances(), tmp_path / "b", encoder=encoder, **given | {"steps": 512})
    first, second = ((tmp_path / name / "agent.safetensors").read_bytes() for name in ("a", "b"))
    assert first == second
    agent = lagco.load(tmp_path / "a", encoder_class=Mine)
    assert agent.solve(instances()[0], episodes=1).objective > 0
    with pytest.raises(UsageError, match="view 'cities': the layers own"):
        agent.export(tmp_path / "runtime")
    with pytest.raises(LagcoError, match="give encoder_class="):
        lagco.load(tmp_path / "a")


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (Narrow, r"Narrow gives embeddings of shape \(\d+, 15\), they must be \(\d+, 16\)"),
        (lambda *widths: 3, "gives a int, an encoder is a torch.nn.Module"),
    ],
)
def test_encoders_that_do_not_fit_are_refused(network, message):
    with pytest.raises(UsageError, match=message):
        pretrained(network)


def test_a_module_of_ones_own_is_the_whole_stack():
    with pytest.raises(UsageError, match="is the whole stack"):
        EncoderConfig(layers=("own", "sage"))
    with pytest.raises(UsageError, match="is the whole stack"):
        pretrained(config=EncoderConfig(variational=True))
