"""What the ablation takes away is away: embeddings, groups of features, the order of weights."""

import numpy as np
import pytest

from benchmarks.ablation import policies
from benchmarks.ablation.encoders import encoder_of
from benchmarks.ablation.features import without
from benchmarks.ablation.pages import compared
from lagco.agents.shipped import default_agent
from lagco.commands.generate import generate_instance
from lagco.core.declaring.declaration import read_declaration
from lagco.embedding.pretraining.states import view_states
from lagco.problems import problem_class


@pytest.mark.parametrize("kind", ["raw", "zero", "random"])
def test_encoders_without_training_give_what_they_say(kind):
    cls = problem_class("max-cut")
    instances = [cls.generate(8, seed=seed) for seed in (1, 2, 3)]
    encoder = encoder_of(kind, cls, instances, 5, "full")
    env = cls(instances[0])
    env.reset(seed=0)
    views = env.graph_views()
    (found,) = encoder.embedder(read_declaration(env, views))(views).values()
    (view,) = encoder.views.values()
    (state,) = view_states(view, views.values())
    scaled = state.x * view.weights["node_scale"]
    if kind == "raw":
        np.testing.assert_allclose(found[:, : scaled.shape[1]], scaled, atol=1e-4)
        assert not found[:, scaled.shape[1] :].any()
    else:
        assert found.any() == (kind == "random")


@pytest.mark.parametrize("name", ["tsp", "min-vertex", "max-cut"])
def test_groups_of_features_are_taken_away(name):
    cls = problem_class(name)
    first, other = (
        generate_instance(name, size=size, references=["sweeps"], sweeps=5) for size in (8, 9)
    )

    def declared(group):
        env = without(cls, group)(first)
        env.reset(seed=0, options={"instance": other})
        found = read_declaration(env, env.graph_views())
        seen = [
            a for part in found.action.values() for a in getattr(part, "attributes", None) or ()
        ]
        return set(seen), set(found.observation)

    attributes, observed = declared("all")
    assert declared("no attributes") == (set(), observed)
    fewer, same = declared("no look ahead")
    assert fewer < attributes
    assert same == observed
    same, fewer = declared("no groups")
    assert fewer < observed
    assert same == attributes


def test_shuffled_agents_have_the_same_entries_in_another_order():
    agent = default_agent("max-cut")
    mixed, again = (policies.shuffled(agent, 1) for _ in range(2))
    for name, array in agent.weights.items():
        np.testing.assert_array_equal(mixed.weights[name], again.weights[name])
        np.testing.assert_array_equal(np.sort(mixed.weights[name], None), np.sort(array, None))
    weight = "ranker.first.weight"
    assert not np.array_equal(mixed.weights[weight], agent.weights[weight])
    np.testing.assert_array_equal(mixed.weights["ranker.mean"], agent.weights["ranker.mean"])


@pytest.mark.parametrize("name", ["max-cut", "ospf", "placement", "traffic"])
def test_rules_take_valid_actions(name):
    env = problem_class(name)(generate_instance(name, size=6, references=["sweeps"], sweeps=5))
    rng = np.random.default_rng(0)
    for policy in (policies.Rule(), policies.OneColumn(policies.COLUMNS[name][-1])):
        env.reset(seed=0)
        for _ in range(4):
            action = policy.act(env, rng, False)
            assert env.is_valid_action(action)
            env.step(action)


def test_a_difference_counts_only_where_its_interval_says_so():
    base = [1.0] * 20
    assert compared(base, base, larger=False).verdict == "level"
    assert compared([2.0] * 20, base, larger=False).verdict == "behind"
    assert compared([2.0] * 20, base, larger=True).verdict == "ahead"
    mixed = [0.0, 2.0] * 10
    assert compared(mixed, base, larger=False).verdict == "level"
