"""Partial observability: nothing that is hidden reaches an agent."""

import copy

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.instances.catalogue import load_catalogue
from lagco.problems.cyber_path import CyberPath
from lagco.problems.cyber_path.network import (
    DATA,
    GROUP_COLUMNS,
    GROUPS,
    SERVICES,
    VULNERABILITIES,
)
from tests.problems.cyber_path.networks import OWN, SCAN, begun, network


def everything_seen(env, observation):
    """All that an agent can look at."""
    view = env.graph_views()["attack_G"]
    valid = env.valid_actions()
    return {
        "nodes": view.num_nodes,
        "labels": view.labels,
        "edges": view.edges.copy(),
        "valid": valid,
        "mask": env.action_mask(),
        "can": env.are_valid_actions(env.all_actions()),
        "preview": env.preview(valid),
        "candidates": env.candidate_features(valid).each,
        "advice": env.advise(),
        "any": env.has_valid_action(),
        **{f"node {k}": np.copy(v) for k, v in view.nodes.items() if k != "vulns"},
        "vulns": [list(known) for known in view.nodes["vulns"]],
        **{f"edge {k}": np.copy(v) for k, v in view.edge_attributes.items()},
        **{f"observed {k}": np.copy(v) for k, v in observation.items()},
        **{
            f"function {k}": part.function(view)
            for k, part in env._observation_type.items()
            if hasattr(part, "function")
        },
    }


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, second[name], err_msg=name)
        else:
            assert value == second[name], name


class Poison:
    """Holds absurd values in `env` for every feature group of every host, until it is discovered."""

    def __init__(self, env):
        knowledge, net = env._knowledge, env._network
        columns = knowledge.hidden_columns
        self.fields = [[columns[name] for name in names] for names in GROUP_COLUMNS]
        self.fields[SERVICES] += [net.services]
        self.fields[VULNERABILITIES] += [net.vulns, net.codes, net.counts, knowledge.lists]
        self.fields[DATA] += [net.data]
        self.left = {}
        for host in range(net.size):
            for group in range(len(GROUPS)):
                truth = [copy.copy(field[host]) for field in self.fields[group]]
                self.left[host, group] = truth
                for field in self.fields[group]:
                    field[host] = self._absurd(field, net.width)

    @staticmethod
    def _absurd(field, width):
        if isinstance(field, list):
            return [-999]
        if field.ndim == 1 and field.dtype == np.int32:
            return width  # a count; more would read beyond the arrays
        return np.nan if field.dtype.kind == "f" else 77

    def discover(self, env):
        """Restore what `env`, which plays the same episode without poison, shows."""
        for row, host in enumerate(env.host_of.tolist()):
            for group in np.flatnonzero(env._knowledge.shown[row]).tolist():
                truth = self.left.pop((host, group), ())
                for field, value in zip(self.fields[group], truth, strict=False):
                    field[host] = value


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("seed", range(6))
def test_hidden_fields_are_poisoned_and_never_seen(features, seed):
    instance = CyberPath.generate(12, seed=seed)
    clean, poisoned = (CyberPath(instance, features=features) for _ in range(2))
    poison = Poison(poisoned)
    seen = clean.reset(seed=seed)[0]
    poison.discover(clean)
    also = poisoned.reset(seed=seed)[0]
    rng = np.random.default_rng(seed)
    hidden = 0
    while True:
        hidden += len(poison.left)
        assert_same(everything_seen(clean, seen), everything_seen(poisoned, also))
        action = clean.sample_valid_action(rng)
        if action is None:
            break
        seen, reward, terminated, truncated, info = clean.step(action)
        poison.discover(clean)
        also, *rest = poisoned.step(action)
        assert rest == [reward, terminated, truncated, info]
        if terminated or truncated:
            break
    assert hidden > 0


@pytest.mark.parametrize("seed", range(6))
def test_other_hidden_hosts_make_no_difference_until_they_are_found(seed):
    """Two networks that differ in everything the agent does not see look and play the same."""
    instance = CyberPath.generate(14, seed=seed)
    env = CyberPath(instance)
    env.reset(seed=seed)
    unseen = np.setdiff1d(np.arange(14), env.host_of)
    assert len(unseen)
    ids = np.array([v.id for v in load_catalogue().vulnerabilities])
    services = np.array([v.service for v in load_catalogue().vulnerabilities])
    arrays = {name: array.copy() for name, array in instance.arrays.items()}
    arrays["vulns"] = arrays["vulns"].astype(ids.dtype)
    width = arrays["vulns"].shape[1]
    arrays["services"] = np.full((14, width), "", dtype="<U40")
    arrays["services"][:, : instance.arrays["services"].shape[1]] = instance.arrays["services"]
    rng = np.random.default_rng(seed)
    for host in unseen:
        chosen = rng.permutation(len(ids))[:width]
        arrays["vulns"][host] = ids[chosen]
        running = np.unique(services[chosen])
        arrays["services"][host] = ""
        arrays["services"][host, : len(running)] = running
        arrays["data"][host] = 1 - arrays["data"][host]
    other = CyberPath(type(instance)(**{**vars_of(instance), "arrays": arrays}))
    first, second = env.reset(seed=seed)[0], other.reset(seed=seed)[0]
    steps = 0
    while True:
        assert_same(everything_seen(env, first), everything_seen(other, second))
        action = env.sample_valid_action(np.random.default_rng(steps))
        if action is None:
            break
        first, reward, terminated, truncated, info = env.step(action)
        second, other_reward, *_, other_info = other.step(action)
        steps += 1
        assert reward == other_reward
        assert info == other_info
        if np.intersect1d(env.host_of, unseen).size or terminated or truncated:
            break


def vars_of(instance):
    names = ("problem", "name", "size", "params", "references", "origin")
    return {name: getattr(instance, name) for name in names}


def test_the_view_holds_visible_hosts_only():
    env = begun(network([[SCAN], [OWN], [OWN]], p_recon=0.0))
    view = env.graph_views()["attack_G"]
    assert view.num_nodes == 1
    assert view.labels is None
    observation = env._observe()
    assert observation["visible"].tolist() == [1, 0, 0]
    for name, column in observation.items():
        assert not column[1:].any(), name


def test_hosts_are_numbered_in_the_order_of_discovery():
    env = CyberPath(CyberPath.generate(20, seed=5))
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    known = env.host_of.tolist()
    for _ in range(30):
        *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
        assert env.host_of[: len(known)].tolist() == known
        known = env.host_of.tolist()
        assert len(set(known)) == len(known)
        if terminated or truncated:
            break


def test_feature_groups_show_as_often_as_the_instance_says():
    instance = network([[SCAN]] + [[OWN]] * 199, p_recon=0.5, p_feature_visible=0.3)
    env = begun(instance)
    shown = env._observe()["shown"]
    visible = int(env._observe()["visible"].sum())
    assert 70 <= visible - 1 <= 130
    np.testing.assert_allclose(shown[1:visible].mean(axis=0), 0.3, atol=0.15)
    assert shown[0].all()


def test_what_is_not_shown_is_zero():
    env = begun(network([[SCAN], [OWN]], data=[1, 1], p_feature_visible=0.0))
    view = env.graph_views()["attack_G"]
    assert view.num_nodes == 2
    for name, column in view.nodes.items():
        assert not np.any(column[1]), name


def test_preview_judges_hidden_hosts_by_what_is_visible():
    """Reconnaissance promises the same whether few or many hosts are hidden."""
    few = begun(network([[SCAN], [OWN]], p_recon=0.0001))
    many = begun(network([[SCAN]] + [[OWN]] * 30, p_recon=0.0001))
    assert few.details()["visible"] == many.details()["visible"] == 1
    action = np.array([[0, 0, 0]])
    assert few.preview(action) == many.preview(action)


def test_preview_uses_no_randomness():
    env = CyberPath(generate_instance(CyberPath, size=12))
    env.reset(seed=0)
    state = env.np_random.bit_generator.state
    env.preview(env.valid_actions())
    env.action_mask()
    assert env.np_random.bit_generator.state == state
