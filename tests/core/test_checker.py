"""The checker passes a sound toy problem and finds what is wrong with broken ones."""

from __future__ import annotations

import random

import gymnasium as gym
import networkx as nx
import numpy as np
import pytest

import lagco
from lagco import Attribute, Edge, Function, Node, Object, Path
from lagco.errors import CheckError, UsageError
from tests.core.toy import IndependentSet, IndependentSetEnv, TrackedIndependentSet


@pytest.mark.parametrize("cls", [IndependentSet, TrackedIndependentSet])
def test_sound_toy_passes(cls):
    assert lagco.check_problem(cls()) == []
    assert lagco.check(cls) == []


def test_wrapped_environment_is_unwrapped():
    assert lagco.check_problem(gym.wrappers.TimeLimit(IndependentSet(), 5)) == []


def test_not_a_continuous_env():
    with pytest.raises(CheckError, match=r"\[interface\] IndependentSetEnv.*ContinuousEnv"):
        lagco.check_problem(IndependentSetEnv())


def node_value(name, change):
    """A toy whose node attribute is spoiled by change(env, graph) from the second step on."""

    class Broken(IndependentSet):
        def get_graphs(self):
            graphs = super().get_graphs()
            if self.picked.sum() >= 2:
                change(graphs["G"])
            return graphs

    Broken.__name__ = f"Broken_{name}"
    return Broken


def put(name, value, node=3):
    return lambda graph: graph.nodes[node].update({name: value})


def put_all(name, value):
    return lambda graph: nx.set_node_attributes(graph, value, name)


def declared(**changes):
    """A toy with other declarations: attribute of the environment = function of the old one."""

    class Broken(IndependentSet):
        def __init__(self):
            super().__init__()
            for name, change in changes.items():
                setattr(self, f"_{name}", change(getattr(self, f"_{name}")))

    return Broken


class SamplesInvalid(IndependentSet):
    def sample_valid_action(self):
        return 0


class SamplesOutside(IndependentSet):
    def sample_valid_action(self):
        return self.n + 3


class ValidityDisagrees(IndependentSet):
    def are_valid_actions(self, actions):
        return self.picked[actions] == 0  # forgets the neighbours


class MaskDisagrees(IndependentSet):
    def action_mask(self):
        return np.ones(self.n, dtype=bool)


class MaskOfWrongShape(IndependentSet):
    def action_mask(self):
        return np.ones(self.n + 1, dtype=bool)


class NothingValid(IndependentSet):
    def is_valid_action(self, action):
        return False

    def sample_valid_action(self):
        return None


class RulesOutTooMuch(IndependentSet):
    def possible_parts(self):
        return {"node": np.arange(self.n) % 2 == 0}


class RulesOutOfNothing(IndependentSet):
    def possible_parts(self):
        return {"nodes": np.ones(self.n, dtype=bool)}


class UnseededReset(IndependentSet):
    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed)
        self.resets = getattr(self, "resets", 0) + 1  # another node every time, whatever the seed
        self.picked[self.resets % self.n] = 1
        return self.observe(), info


class RandomReward(IndependentSet):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward + random.random() / 100, terminated, truncated, info


class RewardIsNaN(IndependentSet):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, float("nan"), *rest


class RewardIsNothing(IndependentSet):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, None, *rest


class PreviewIsNaN(IndependentSet):
    def preview(self, actions):
        return np.full(len(actions), np.nan)


class RewardsDoNotAddUp(IndependentSet):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, 2 * reward, terminated, truncated, info


class UndeclaredTerm(IndependentSet):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        info["reward_terms"] = {"toll": -0.25}
        return observation, reward, terminated, truncated, info


class PreviewChangesState(IndependentSet):
    def preview(self, actions):
        self.picked[actions[0]] = 1
        return self.weights[actions]


class PreviewRanksWrongly(IndependentSet):
    def preview(self, actions):
        return -self.weights[actions]


class PreviewOfWrongShape(IndependentSet):
    def preview(self, actions):
        return self.weights[actions][:, None]


class TrackingMisses(TrackedIndependentSet):
    def step(self, action):
        return IndependentSet.step(self, action)


class ChangesEdgesUnnoticed(TrackedIndependentSet):
    def step(self, action):
        result = super().step(action)
        self.view.edges = self.view.edges[:, ::-1].copy()
        return result


class ObservationOutsideSpace(IndependentSet):
    def observe(self):
        return {"picked": self.picked.astype(np.float64) + 0.5}


class StepRaises(IndependentSet):
    def step(self, action):
        if self.picked.sum() == 1:
            raise RuntimeError("no second step")
        return super().step(action)


class ReturnsNoGraph(IndependentSet):
    def get_graphs(self):
        return {"G": [1, 2, 3]}


BROKEN = {
    "binary takes 2": (
        node_value("binary", put("picked", 2)),
        r"_node_attributes\['picked'\].*binary.*2 at node 3 at step 2.*use 0 and 1",
    ),
    "not a number": (
        node_value("nan", put("weight", float("nan"))),
        r"_node_attributes\['weight'\].*nan at node 3 at step 2.*finite",
    ),
    "below low": (
        node_value("low", put("weight", -4.0)),
        r"_node_attributes\['weight'\].*-4.*below low=0",
    ),
    "above high": (
        declared(edge_attributes=lambda old: {"length": Attribute(high=0.25)}),
        r"_edge_attributes\['length'\].*0\.5.*above high=0\.25 at step 0",
    ),
    "wrong size": (
        declared(node_attributes=lambda old: old | {"weight": Attribute(size=2)}),
        r"_node_attributes\['weight'\].*shape \(8,\).*\(8, 2\)",
    ),
    "texts without extractor": (
        node_value("text", put_all("weight", "heavy")),
        r"_node_attributes\['weight'\].*'heavy' at node 0.*extractor=",
    ),
    "unknown category": (
        declared(
            node_attributes=lambda old: (
                old | {"picked": Attribute(type="categorical", categories=(0,))}
            )
        ),
        r"_node_attributes\['picked'\].*1 at node \d.*categories",
    ),
    "static changes": (
        node_value("static", put("weight", 99.0)),
        r"_node_attributes\['weight'\].*static.*row 3 changed.*99.*step 2",
    ),
    "attribute disappears": (
        node_value("gone", lambda graph: [d.pop("kind") for _, d in graph.nodes(data=True)]),
        r"_node_attributes\['kind'\].*missing in view 'G' at step 2",
    ),
    "attribute nobody has": (
        declared(node_attributes=lambda old: old | {"colour": Attribute()}),
        r"_node_attributes\['colour'\].*no view has",
    ),
    "samples invalid": (
        SamplesInvalid,
        r"sample_valid_action\(\).*is_valid_action\(0\) is False at step 2",
    ),
    "samples outside": (SamplesOutside, r"sample_valid_action\(\).*11.*not in Discrete"),
    "validity disagrees": (
        ValidityDisagrees,
        r"\[validity\] are_valid_actions\(\).*says True of action.*is_valid_action\(\) says False",
    ),
    "mask disagrees": (MaskDisagrees, r"\[validity\] action_mask\(\).*says True.*at step 1"),
    "mask of wrong shape": (MaskOfWrongShape, r"action_mask\(\).*shape \(9,\) for 8 actions"),
    "nothing valid": (NothingValid, r"is_valid_action\(\).*nothing is valid after reset\(\)"),
    "rules out too much": (
        RulesOutTooMuch,
        r"\[validity\] possible_parts\(\).*rules out 1 for 'node', but action 1 is valid",
    ),
    "rules out of nothing": (
        RulesOutOfNothing,
        r"\[validity\] possible_parts\(\).*'nodes', which is not a component.*node",
    ),
    "unseeded reset": (UnseededReset, r"\[determinism\] reset\(\).*two resets differ"),
    "random reward": (
        RandomReward,
        r"\[determinism\] step\(\).*the reward is .* and was .* at step 1.*np_random",
    ),
    "reward is nan": (RewardIsNaN, r"\[reward\] step\(\): returned nan at step 1; return a finite"),
    "reward is nothing": (RewardIsNothing, r"\[reward\] step\(\): returned None at step 1"),
    "preview is nan": (PreviewIsNaN, r"\[preview\] preview\(\): is nan for \d+"),
    "rewards do not add up": (
        RewardsDoNotAddUp,
        r"\[reward\] step\(\).*sum to.*score is.*terms are none",
    ),
    "undeclared term": (UndeclaredTerm, r"\[reward\].*toll -"),
    "preview changes state": (
        PreviewChangesState,
        r"preview changed the state: attribute 'picked' of view 'G'",
    ),
    "preview ranks wrongly": (
        PreviewRanksWrongly,
        r"\[preview\] preview\(\).*ranks action.*above.*objective.*still missing.*preview_key",
    ),
    "preview of wrong shape": (PreviewOfWrongShape, r"preview\(\).*shape \(\d, 1\) for \d actions"),
    "tracking misses": (
        TrackingMisses,
        r"\[tracking\].*node attribute 'picked'.*row \d changed from .*0.* to .*1.* unnoticed at step 1.*touch_node",
    ),
    "edges change unnoticed": (
        ChangesEdgesUnnoticed,
        r"\[tracking\] get_graphs\(\)\['G'\].*unnoticed.*replace",
    ),
    "observation outside space": (ObservationOutsideSpace, r"\[observation\].*'picked' is float64"),
    "step raises": (StepRaises, r"\[exception\] step\(\).*RuntimeError: no second step at step 2"),
    "no graph": (ReturnsNoGraph, r"get_graphs\(\)\['G'\] is a list.*networkx"),
    "unknown view": (
        declared(action_type=lambda old: {"node": Node(graph="H")}),
        r"_action_type\['node'\].*unknown view 'H'.*known are G",
    ),
    "unknown attribute in spec": (
        declared(action_type=lambda old: {"node": Node(spec={"pickd": False})}),
        r"_action_type\['node'\].*'pickd'.*did you mean 'picked'",
    ),
    "valid outside spec": (
        declared(action_type=lambda old: {"node": Node(spec={"kind": "end"})}),
        r"_action_type\['node'\].*does not meet the spec",
    ),
    "path without its edge": (
        declared(action_type=lambda old: {"way": Path(ends="demand")}),
        r"_action_type\['way'\].*ends='demand' must name a component declared before",
    ),
    "reference to the wrong kind": (
        declared(
            action_type=lambda old: {
                "first": Object(choices=[1]),
                "what": Object(reference="first", key="x"),
            }
        ),
        r"_action_type\['what'\].*reference='first' is a Object.*Node or Edge",
    ),
    "component attribute": (
        declared(action_type=lambda old: {"edge": Edge(attributes=["capacity"])}),
        r"_action_type\['edge'\].*'capacity'.*known are length",
    ),
    "function of wrong size": (
        declared(observation_type=lambda old: {"f": Function(lambda view: [1.0, 2.0], graph="G")}),
        r"_observation_type\['f'\].*returns 2 numbers, size=1",
    ),
    "function that raises": (
        declared(
            observation_type=lambda old: {"f": Function(lambda view: view.nothing, graph="G")}
        ),
        r"_observation_type\['f'\].*AttributeError",
    ),
    "nothing to decide": (declared(action_type=lambda old: {}), r"declares no _action_type"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_variant_fails_with_the_right_message(name):
    cls, message = BROKEN[name]
    with pytest.raises(CheckError, match=r"(?s)fails \d+ check") as caught:
        lagco.check_problem(cls())
    import re

    assert re.search(message, str(caught.value)), str(caught.value)


def test_findings_can_be_returned_instead_of_raised():
    findings = lagco.check_problem(PreviewRanksWrongly(), raises=False)
    assert [finding.check for finding in findings] == ["preview"]
    assert findings[0].step == 0


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(UsageError, match=r"give IndependentSet\(\)"):
        lagco.check_problem(IndependentSet)
    with pytest.raises(UsageError, match="max_steps=0: at least 1"):
        lagco.check_problem(IndependentSet(), max_steps=0)


class Ragged(IndependentSet):
    """Two node attributes and one of edges whose lists are not equally long, under labels."""

    def __init__(self):
        super().__init__()
        pair = Attribute(size=2)
        self._node_attributes = self._node_attributes | {"pair": pair, "nested": pair}
        self._edge_attributes = self._edge_attributes | {"cost": pair}

    def get_graphs(self):
        graph = super().get_graphs()["G"]
        for v, row in graph.nodes(data=True):
            row |= {"pair": [1.0] * (3 if v == 5 else 2), "nested": [1.0, [2.0] * (v == 6) or 2.0]}
        for u, _, row in graph.edges(data=True):
            row["cost"] = [1.0] * (1 if u == 2 else 2)
        return {"G": graph}


def test_all_ragged_lists_are_reported_at_once_with_attribute_and_place():
    found = [str(finding) for finding in lagco.check_problem(Ragged(), raises=False)]
    for expected in (
        "_node_attributes['pair']: is [1.0, 1.0, 1.0] at node 5, 3 numbers where size=2 declares 2",
        "_node_attributes['nested']: is [1.0, [2.0]] at node 6, which is not a number",
        "_edge_attributes['cost']: is [1.0] at edge 2-3, 1 number where size=2 declares 2",
    ):
        assert any(expected in text for text in found), found
