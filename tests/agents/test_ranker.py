"""The ranker: the compiled pass equals torch's, order does not matter, files are checked."""

import numpy as np
import pytest
import torch

from lagco.agents.inference.ranker import (
    LinearRanker,
    Ranker,
    make_ranker,
    ranker_shapes,
    take_ranker,
)
from lagco.agents.teaching.ranker_network import LinearRankerNetwork, RankerNetwork
from lagco.errors import LagcoError, UsageError
from lagco.store import Tensors


def network(pairs, seed=0, features=6):
    torch.manual_seed(seed)
    made = RankerNetwork(features, pairs, width=16, layers=2)
    for parameter in made.parameters():  # away from what initialisation makes equal
        with torch.no_grad():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


def sample(pairs, states=5, k=7, features=6):
    rng = np.random.default_rng(1)
    candidates = rng.normal(size=(states, k, features)).astype(np.float32)
    given = rng.normal(size=(states, k, k, pairs)).astype(np.float32) if pairs else None
    return candidates, given


@pytest.mark.parametrize("pairs", [0, 3])
def test_the_compiled_pass_equals_torch(pairs):
    made = network(pairs)
    candidates, given = sample(pairs)
    tensors = torch.from_numpy(candidates), None if given is None else torch.from_numpy(given)
    mask = torch.ones(candidates.shape[:2], dtype=torch.bool)
    made.standardise_by(*tensors, mask)
    mask[:, 5:] = False
    with torch.no_grad():
        expected = made(*tensors, mask).numpy()
    compiled = Ranker(made.arrays())
    for state in range(len(candidates)):
        near = None if given is None else np.ascontiguousarray(given[state, :5, :5])
        found = compiled(candidates[state, :5], near)
        np.testing.assert_allclose(found, expected[state, :5], atol=1e-5)


def test_logits_follow_their_candidates():
    compiled = Ranker(network(3).arrays())
    (candidates,), (pairs,) = sample(3, states=1)
    order = np.random.default_rng(2).permutation(len(candidates))
    turned = np.ascontiguousarray(pairs[order][:, order])
    np.testing.assert_allclose(
        compiled(candidates[order], turned), compiled(candidates, pairs)[order], atol=1e-5
    )


def test_other_features_are_refused_before_compiled_code_sees_them():
    compiled = Ranker(network(3).arrays())
    (candidates,), (pairs,) = sample(3, states=1)
    with pytest.raises(UsageError, match="trained on 6 features of candidates and 3 of pairs"):
        compiled(candidates[:, :5], pairs)
    with pytest.raises(UsageError, match="here are 6 and 0"):
        compiled(candidates, None)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ranker.first.weight", lambda a: a[:, :3]),
        ("ranker.joined.1.bias", lambda a: np.zeros(3, np.float32)),
        ("ranker.pair_bias", lambda a: a.T.copy()),
        ("ranker.heads", lambda a: np.array([5], np.int64)),
        ("ranker.heads", lambda a: np.array([0], np.int64)),
        ("ranker.last.weight", None),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(name, change, tmp_path):
    arrays = {key: value.copy() for key, value in network(3).arrays().items()}
    take_ranker(Tensors(tmp_path / "agent.safetensors", arrays, LagcoError))
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    with pytest.raises(LagcoError, match="agent.safetensors"):
        take_ranker(Tensors(tmp_path / "agent.safetensors", arrays, LagcoError))


def test_a_linear_ranker_sums_columns_and_equals_torch(tmp_path):
    made = LinearRankerNetwork(6)
    candidates, _ = sample(0)
    mask = torch.ones(candidates.shape[:2], dtype=torch.bool)
    made.standardise_by(torch.from_numpy(candidates), None, mask)
    with torch.no_grad():
        made.last.weight.copy_(torch.arange(6.0))
        expected = made(torch.from_numpy(candidates), None, mask).numpy()
    arrays = made.arrays()
    take_ranker(Tensors(tmp_path / "agent.safetensors", dict(arrays), LagcoError))
    compiled = make_ranker(arrays)
    assert isinstance(compiled, LinearRanker)
    for state, rows in enumerate(candidates):
        pairs = np.zeros((len(rows), len(rows), 2), np.float32)  # it does not look at them
        np.testing.assert_allclose(compiled(rows, pairs), expected[state], atol=1e-5)
    with pytest.raises(UsageError, match="trained on 6 features of candidates, here are 5"):
        compiled(candidates[0, :, :5], None)
    arrays["ranker.last.weight"] = arrays["ranker.last.weight"][:, :4]
    with pytest.raises(LagcoError, match="agent.safetensors"):
        take_ranker(Tensors(tmp_path / "agent.safetensors", dict(arrays), LagcoError))


def test_the_shapes_in_a_file_are_those_of_the_network():
    network = RankerNetwork(features=7, pairs=3, width=8, layers=2, heads=4)
    shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    assert ranker_shapes(7, 3, 8, 2, 4) == shapes
