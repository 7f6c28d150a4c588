"""The environment `placement`."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagco.errors import InstanceError, UsageError
from lagco.instances.instance import References
from lagco.problems.placement import Placement
from lagco.problems.placement.generator import draw_cloud
from lagco.problems.placement.latency import MATRIX_LIMIT
from lagco.problems.placement.terms import TERMS, normalised_terms
from tests.problems.ospf import episodes


@pytest.fixture(scope="module")
def instance():
    return episodes.with_sweeps(Placement, 12)


def terms_directly(instance, allocation):
    """The five terms word by word from the allocation."""
    data = instance.arrays
    used = np.zeros_like(data["pm_capacities"])
    for vm, pm in enumerate(allocation):
        used[pm] += data["vm_demands"][vm]
    active = sorted(set(allocation.tolist()))
    fraction = used / data["pm_capacities"]
    graph = nx.Graph()
    for (u, v), latency in zip(data["latency_links"].T.tolist(), data["latencies"], strict=True):
        graph.add_edge(u, v, weight=latency)
    latency = dict(nx.all_pairs_dijkstra_path_length(graph))
    tenants = data["tenants"]
    load = dict.fromkeys(tenants.tolist(), 0.0)
    for (u, v), traffic in zip(data["traffic_pairs"].T.tolist(), data["traffic"], strict=True):
        assert tenants[u] == tenants[v]
        load[int(tenants[u])] += traffic * latency[allocation[u]][allocation[v]]
    risk = 0.0
    for vm, pm in enumerate(allocation):
        others = sum(
            1 for w, host in enumerate(allocation) if host == pm and tenants[w] != tenants[vm]
        )
        risk += data["vm_vulnerability"][vm] * data["pm_escape"][pm] * others
    return {
        "utilisation": float(np.mean([fraction[p].mean() for p in active])),
        "energy": float(
            sum(
                data["pm_idle"][p] + (data["pm_peak"][p] - data["pm_idle"][p]) * fraction[p, 0]
                for p in active
            )
        ),
        "packing": float(len(active)),
        "network": float(np.mean(list(load.values()))),
        "security": risk,
    }


def mean_directly(instance, allocation):
    bounds = instance.references.sweeps.bounds
    parts = []
    for name, value in terms_directly(instance, allocation).items():
        low, high = bounds[name]
        if high == low:
            parts.append(1.0)
        else:
            parts.append((value - low if name == "utilisation" else high - value) / (high - low))
    return float(np.mean(parts))


def test_checker_passes(instance):
    episodes.check_everything(Placement, instance, Placement.generate(10, seed=3))


@pytest.mark.parametrize("seed", range(3))
def test_terms_equal_a_direct_recomputation_through_an_episode(seed):
    instance = episodes.with_sweeps(Placement, 12, seed, sweeps=20)
    env = Placement(instance)
    for _, _, info in episodes.play(env, seed):
        expected = terms_directly(instance, env.solution())
        assert env.terms() == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert info["objective"] == pytest.approx(mean_directly(instance, env.solution()))


@settings(max_examples=12, deadline=None)
@given(
    size=st.integers(10, 16),
    seed=st.integers(0, 2**16),
    features=st.sampled_from(["full", "paper"]),
)
def test_kept_objective_equals_recomputed_one(size, seed, features):
    instance = Placement.generate(size, seed=seed)
    episodes.check_kept_objective(Placement(instance, features=features), seed)


def test_references_score_0_and_1(instance):
    episodes.check_reference_scores(Placement, instance)


def test_preview_is_the_objective_after_the_action(instance):
    episodes.check_previews(Placement(instance))


def test_mask_follows_the_capacities_and_says_what_is_valid_one_by_one(instance):
    env = Placement(instance)
    data = instance.arrays
    for _ in episodes.play(env, steps=8):
        mask, actions, hosts = env.action_mask(), env.all_actions(), env.solution()
        np.testing.assert_array_equal(mask, [env.is_valid_action(a) for a in actions])
        np.testing.assert_array_equal(mask, env.are_valid_actions(actions))
        for (vm, pm), valid in zip(actions, mask, strict=True):
            used = data["vm_demands"][hosts == pm].sum(axis=0) + data["vm_demands"][vm]
            room = (used <= data["pm_capacities"][pm]).all()
            assert valid == (room and hosts[vm] != pm)


def test_parts_that_are_ruled_out_are_in_no_valid_action(instance):
    seen = set()
    for source in (instance, tight(instance)):
        env = Placement(source)
        for _ in episodes.play(env, steps=8):
            mask = env.action_mask().reshape(12, -1)
            possible = env.possible_parts()
            assert possible["vm"].shape == possible["pm"].shape == (env._view.num_nodes,)
            assert not mask[~possible["vm"][:12]].any()
            assert not mask[:, ~possible["pm"][12:]].any()
            assert not possible["vm"][12:].any()
            assert not possible["pm"][:12].any()
            seen |= {("vm", bool(x)) for x in possible["vm"][:12]}
            seen |= {("pm", bool(x)) for x in possible["pm"][12:]}
    assert len(seen) == 4  # both happen


def tight(instance):
    """The same with one VM that only one PM can hold, alone."""
    demands = instance.arrays["vm_demands"].copy()
    capacities = instance.arrays["pm_capacities"].copy()
    demands[3] = 0.99 * capacities.max(axis=0)
    capacities[0] = capacities.max(axis=0)
    arrays = instance.arrays | {"vm_demands": demands, "pm_capacities": capacities}
    return replace(instance, arrays=arrays, references=References())


def test_columns_after_an_episode_equal_those_of_a_fresh_start(instance):
    for features in ("full", "paper"):
        env = Placement(instance, features=features)
        for _ in episodes.play(env, seed=1):
            pass
        view = env.get_graphs()["graph"]
        fresh = Placement(instance, features=features, start=env.solution())
        fresh.reset(seed=0)
        again = fresh.get_graphs()["graph"]
        np.testing.assert_array_equal(view.edges, again.edges)
        np.testing.assert_array_equal(view.edges[1, : instance.size], 12 + env.solution())
        remembered = {"recent", "prospect", "planned"}  # what the episode did and meant to do
        for name in view.nodes.keys() - remembered:
            np.testing.assert_allclose(view.nodes[name], again.nodes[name], atol=1e-5)


def test_parts_of_actions_are_nodes_of_the_view(instance):
    env = Placement(instance)
    actions = env.all_actions()
    parts = env.parts_from_actions(actions)
    assert (parts[:, 1] == actions[:, 1] + 12).all()
    np.testing.assert_array_equal(env.actions_from_parts(parts), actions)


def test_sampling_is_uniform_over_valid_actions(instance):
    env = Placement(instance)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    drawn = np.array([env.sample_valid_action(rng) for _ in range(6000)])
    mask = env.action_mask()
    counts = np.bincount(drawn @ [12, 1], minlength=len(mask))
    expected = 6000 / mask.sum()
    assert (counts[~mask] == 0).all()
    assert (np.abs(counts[mask] - expected) < 6 * np.sqrt(expected)).all()


def test_rewards_sum_to_the_score_less_the_cost_of_moving(instance):
    env = Placement(instance)
    memory = instance.arrays["vm_demands"][:, 2]
    total, moved = 0.0, 0.0
    for action, reward, info in episodes.play(env):
        total += reward
        moved += memory[action[0]] / memory.sum()
        assert info["reward_terms"]["migration"] == pytest.approx(
            -0.01 * memory[action[0]] / memory.sum()
        )
    assert total == pytest.approx(info["score"] - 0.01 * moved)


def test_terms_that_never_vary_count_one():
    bounds = np.array([[0.5, 0.5], [0.0, 10.0], [1.0, 3.0], [2.0, 2.0], [0.0, 4.0]])
    terms = np.array([0.5, 10.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(normalised_terms(terms, bounds), [1.0, 0.0, 1.0, 1.0, 0.25])


def test_bounds_of_the_sweeps_hold_their_own_solutions(instance):
    sweeps = instance.references.sweeps
    assert set(sweeps.bounds) == set(TERMS)
    assert all(0.0 <= low <= high for low, high in sweeps.bounds.values())
    assert sweeps.worst < sweeps.best


def test_sweeps_and_solver_repeat_and_the_solver_is_no_worse(instance):
    again = Placement.sweep(instance, 40, 0).sweeps
    assert again.bounds == instance.references.sweeps.bounds
    np.testing.assert_array_equal(again.best_solution, instance.references.sweeps.best_solution)
    first, second = (Placement.solve(instance, 5).solver for _ in range(2))
    assert first.value == second.value
    assert first.value == pytest.approx(Placement.evaluate_solution(instance, first.solution))
    assert first.value >= instance.references.sweeps.best - 1e-12


def test_generation_repeats_and_is_over_the_papers_ranges():
    for seed in range(6):
        instance = Placement.generate(seed=seed)
        assert instance.checksum == Placement.generate(seed=seed).checksum
        pms = len(instance.arrays["pm_escape"])
        assert 10 <= instance.size <= 50
        assert 10 <= pms <= 50
        assert 2 <= len(np.unique(instance.arrays["tenants"])) <= 5
        assert instance.arrays["latency_links"].shape[1] == pms - 1 + round(0.1 * (pms - 1))
        demands = instance.arrays["vm_demands"]
        assert (demands == demands.round()).all()
        assert 16 <= instance.params["vm_demand_memory_max"] <= 24


def test_latencies_on_demand_for_many_machines():
    machines = MATRIX_LIMIT + 200
    instance = draw_cloud(np.random.default_rng(0), machines, machines, peers=4)
    degree = np.bincount(instance.arrays["traffic_pairs"].reshape(-1), minlength=machines)
    assert (degree == 4).all()
    env = Placement(instance)
    rng = np.random.default_rng(1)
    env.reset(seed=0)
    actions = np.array([env.sample_valid_action(rng) for _ in range(5)])
    values = env.preview(actions)
    *_, info = env.step(actions[0])
    assert values[0] == pytest.approx(info["objective"], rel=1e-12)
    for _ in range(10):
        *_, info = env.step(env.sample_valid_action(rng))
    assert info["objective"] == pytest.approx(env.recompute_objective(), rel=1e-9)
    with pytest.raises(InstanceError, match="sweeps need all latencies"):
        Placement.sweep(instance, 1, 0)
    big = draw_cloud(np.random.default_rng(0), 1500, 1500, peers=2)
    with pytest.raises(UsageError, match="more actions than are ever listed"):
        Placement(big).action_mask()


def test_starts(instance):
    env = Placement(instance, start="default")
    env.reset(seed=0)
    hosts = env.solution()
    env.reset(seed=0, options={"start": hosts})
    np.testing.assert_array_equal(env.solution(), hosts)
    with pytest.raises(UsageError, match="names PM 99"):
        env.reset(seed=0, options={"start": np.full(12, 99)})
    with pytest.raises(UsageError, match="more on PM 0 than it holds"):
        env.reset(seed=0, options={"start": np.zeros(12, dtype=int)})


def test_picture(instance):
    episodes.check_picture(Placement, instance)


def test_stakes_are_what_a_vm_adds(instance):
    env = Placement(instance)
    for _ in episodes.play(env, steps=8):
        pass
    allocation = env.solution()
    stakes = env.get_graphs()["graph"].nodes["stakes"]
    worth = 1.0 / (5.0 * np.diff(env._bounds, axis=1)[:, 0])
    data, vms = instance.arrays, len(allocation)
    with_all = terms_directly(instance, allocation)
    for vm in range(vms):
        without = dict(data)
        without["vm_demands"] = data["vm_demands"].copy()
        without["vm_demands"][vm] = 0.0
        alone = np.sum(allocation == allocation[vm]) == 1
        energy = (
            with_all["energy"]
            - terms_directly(replace(instance, arrays=without), allocation)["energy"]
        )
        energy += alone * data["pm_idle"][allocation[vm]]
        assert stakes[vm, 1] == pytest.approx(vms * energy * worth[1], rel=1e-4, abs=1e-6)
        assert stakes[vm, 2] == pytest.approx(vms * alone * worth[2], rel=1e-4)
    ends = stakes[:vms, 3].sum() / vms  # every pair counts at both of its ends
    assert ends == pytest.approx(2.0 * with_all["network"] * worth[3], rel=1e-4)
    # the risk between two VMs counts for both of them
    near = stakes[:vms, 4].sum() / vms
    assert near == pytest.approx(2.0 * with_all["security"] * worth[4], rel=1e-4)
