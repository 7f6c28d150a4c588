"""The environment `traffic`."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lagco
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.policies import plain_policy
from lagco.problems.networks.bound import flow_bound
from lagco.problems.networks.network import network_of
from lagco.problems.traffic import Traffic, solver
from lagco.problems.traffic import env as env_module
from lagco.problems.traffic.solver import lower_bound
from lagco.rollout import Episode
from tests.problems.ospf import episodes


@pytest.fixture(scope="module")
def instance():
    return episodes.with_sweeps(Traffic, 10)


def graph_of(instance):
    graph = nx.Graph()
    graph.add_nodes_from(range(instance.params["nodes"]))
    graph.add_edges_from(instance.arrays["edges"].T.tolist())
    return graph


def paths_by_networkx(instance):
    graph = graph_of(instance)
    found = set()
    for d, (source, target) in enumerate(instance.arrays["demands"].T.tolist()):
        hops = max(instance.params["max_path_len"], nx.shortest_path_length(graph, source, target))
        for path in nx.all_simple_paths(graph, source, target, cutoff=hops):
            found.add((d, *path))
    return found


def stripped(rows, n):
    return [(int(row[0]), *(int(v) for v in row[1:] if v < n)) for row in rows]


def is_valid_slowly(env, action):
    """The rule as the specification words it."""
    instance, n = env.instance, env.instance.params["nodes"]
    demand, *path = stripped([action], n)[0]
    padding = np.asarray(action)[1 + len(path) :]
    if (padding != n).any() or (demand, *path) not in paths_by_networkx(instance):
        return False
    present = [int(v) for v in env.solution()[demand] if v < n]
    if path == present:
        return False
    paths = env.solution()
    paths[demand] = np.asarray(action)[1:]
    volumes, column = instance.arrays["volumes"], {}
    for e, (u, v) in enumerate(instance.arrays["edges"].T.tolist()):
        column[u, v] = column[v, u] = e
    loads = {}
    for d, row in enumerate(paths):
        nodes = [int(v) for v in row if v < n]
        for arc in pairwise(nodes):
            loads[arc] = loads.get(arc, 0.0) + volumes[d]
    capacities = instance.arrays["capacities"]
    return all(
        loads[arc] / capacities[column[arc]] <= max(1.0, env.objective()) + 1e-9
        for arc in pairwise(path)
    )


def test_checker_passes(instance):
    episodes.check_everything(Traffic, instance, Traffic.generate(8, seed=3))


@settings(max_examples=12, deadline=None)
@given(
    size=st.integers(6, 14), seed=st.integers(0, 2**16), features=st.sampled_from(["full", "paper"])
)
def test_kept_objective_equals_recomputed_one(size, seed, features):
    instance = Traffic.generate(size, seed=seed)
    episodes.check_kept_objective(Traffic(instance, features=features), seed)


def test_references_score_0_and_1(instance):
    episodes.check_reference_scores(Traffic, instance)


def test_preview_is_the_objective_after_the_action(instance):
    episodes.check_previews(Traffic(instance))


@pytest.mark.parametrize("seed", range(8))
def test_listed_actions_are_all_simple_paths_within_the_length(seed):
    instance = Traffic.generate(9 + seed, seed=seed)
    env = Traffic(instance)
    n = instance.params["nodes"]
    rows = env.all_actions()
    listed = stripped(rows, n)
    assert len(listed) == len(set(listed)) == env.num_actions
    assert set(listed) == paths_by_networkx(instance)
    assert Traffic.extents(instance)["actions"] == len(listed)
    assert all(env.action_space.contains(row) for row in rows)


def test_mask_follows_the_rule_and_says_what_is_valid_one_by_one():
    env = Traffic(episodes.with_sweeps(Traffic, 8, seed=2, sweeps=5))
    actions = env.all_actions()
    for _ in episodes.play(env, steps=6):
        mask = env.action_mask()
        np.testing.assert_array_equal(mask, [env.is_valid_action(a) for a in actions])
        np.testing.assert_array_equal(mask, [is_valid_slowly(env, a) for a in actions])
        assert env.has_valid_action() == mask.any()
        np.testing.assert_array_equal(env.valid_actions(), actions[mask])


def test_invalid_actions_of_all_kinds_are_refused(instance):
    env = Traffic(instance)
    env.reset(seed=0)
    n, positions = instance.params["nodes"], env.solution().shape[1]
    good = env.sample_valid_action(np.random.default_rng(0))
    length = int((good[1:] < n).sum())
    for change in (
        {0: (good[0] + 1) % len(instance.arrays["volumes"])},
        {1: n},
        {length: n},
        {2: good[1]},
        {positions: 0} if length < positions else {length: good[1]},
    ):
        bad = good.copy()
        for column, value in change.items():
            bad[column] = value
        assert not env.is_valid_action(bad)
    assert not env.is_valid_action([good[0], *env.solution()[good[0]]])


@pytest.mark.parametrize("tries", [0, 1, 1000])
def test_sampled_actions_are_uniform_over_all_valid_ones(tries):
    """By walking all valid paths, by drawing walks, and by both."""
    env = Traffic(episodes.with_sweeps(Traffic, 8, seed=2, sweeps=5))
    env.reset(seed=0)
    env.__dict__["_walks"] = env._walks._replace(tries=tries)
    valid = stripped(env.valid_actions(), 8)
    # uniform over demands first would be another distribution
    per_demand = np.bincount([d for d, *_ in valid])
    assert per_demand.max() > 2 * per_demand[per_demand > 0].min()
    assert len(valid) < env.num_actions
    rng = np.random.default_rng(0)
    expected = 200
    drawn = Counter(
        stripped([env.sample_valid_action(rng) for _ in range(expected * len(valid))], 8)
    )
    assert set(drawn) == set(valid)
    distances = np.array([drawn[action] - expected for action in valid]) / np.sqrt(expected)
    freedom = len(valid) - 1
    # of the statistic's distribution under uniformity, six standard deviations each way
    assert abs((distances**2).sum() - freedom) < 6 * np.sqrt(2 * freedom)
    assert np.abs(distances).max() < 6


@pytest.mark.parametrize("size", [10, 16])
def test_walks_are_counted_right(size):
    env = Traffic(Traffic.generate(size))
    adjacency = nx.to_numpy_array(graph_of(env.instance))
    walks, totals, _ = env._walks
    weights = []
    network = env._network
    for source, target, limit in zip(network.sources, network.targets, env.hop_limits, strict=True):
        onward = adjacency.copy()
        onward[target] = 0.0  # a walk ends where it enters the target
        powers = [np.linalg.matrix_power(onward, hops) for hops in range(1, limit + 1)]
        weights.append(sum(power[source, target] for power in powers))
        assert walks[limit, target, source] == weights[-1]
    assert totals == pytest.approx(np.cumsum(weights))


def test_an_instance_says_how_long_its_episodes_are():
    usual, shorter = Traffic.generate(10), Traffic.generate(10, episode_coefficient=2)
    assert shorter.arrays.keys() == usual.arrays.keys() and shorter.size == usual.size
    assert Traffic(usual).episode_length == 3 * usual.size
    assert Traffic(shorter).episode_length == 2 * usual.size


def test_no_valid_action_where_there_is_one_path_only():
    arrays = {
        "edges": np.array([[0, 1], [1, 2]]),
        "capacities": np.ones(2),
        "demands": np.array([[0, 2], [2, 1]]),
        "volumes": np.ones(2),
    }
    env = Traffic(Instance("traffic", "line", 2, arrays, {"nodes": 3}))
    env.reset(seed=0)
    assert not env.has_valid_action()
    assert env.sample_valid_action() is None
    *_, terminated, _, info = env.step(np.zeros(env.action_space.shape, dtype=np.int64))
    assert terminated
    assert info["reason"] == "no valid action"


def test_episode_has_three_steps_per_demand_and_rewards_sum_to_the_score(instance):
    env = Traffic(instance)
    steps = list(episodes.play(env))
    assert len(steps) == 3 * len(instance.arrays["volumes"])
    assert sum(reward for _, reward, _ in steps) == pytest.approx(steps[-1][2]["score"])


def test_bounds_solver_and_sweeps_stand_in_order(instance):
    sweeps, solver = instance.references.sweeps, Traffic.solve(instance, 5).solver
    assert solver.value == Traffic.solve(instance, 5).solver.value
    assert solver.value == Traffic.evaluate_solution(instance, solver.solution)
    network = network_of(instance)
    over_paths, over_all = lower_bound(instance), flow_bound(network)
    slack = 1.0 - 1e-7
    assert over_all * slack <= over_paths
    assert over_paths * slack <= solver.value
    assert solver.value <= sweeps.best * (1 + 1e-12)


def test_utilisation_is_never_below_the_flow_bound():
    for seed in range(6):
        env = Traffic(Traffic.generate(9, seed=seed))
        bound = lower_bound(env.instance)
        for _, _, info in episodes.play(env, seed, 20):
            assert info["objective"] >= bound * (1.0 - 1e-7)


def test_generation_repeats_and_is_over_the_papers_ranges():
    for seed in range(6):
        instance = Traffic.generate(seed=seed)
        assert instance.checksum == Traffic.generate(seed=seed).checksum
        assert 10 <= instance.params["nodes"] <= 25
        assert 0.1 <= instance.params["non_zero_traffic_ratio"] <= 0.2
        assert instance.size == len(instance.arrays["volumes"])


def test_starts(instance):
    env = Traffic(instance, start="default")
    env.reset(seed=0)
    n, graph = instance.params["nodes"], graph_of(instance)
    for d, (source, target) in enumerate(instance.arrays["demands"].T.tolist()):
        hops = (env.solution()[d] < n).sum() - 1
        assert hops == nx.shortest_path_length(graph, source, target)
    paths = env.solution()
    wrong = paths.copy()
    wrong[2] = n
    with pytest.raises(UsageError, match="row 2"):
        env.reset(seed=0, options={"start": wrong})
    narrow = paths[:, : int((paths < n).sum(axis=1).max())]  # fewer columns will do
    env.reset(seed=0, options={"start": narrow})
    np.testing.assert_array_equal(env.solution(), paths)


def test_picture(instance):
    episodes.check_picture(Traffic, instance)


@pytest.mark.parametrize("seed", range(3))
def test_gain_is_the_saving_on_the_cheapest_path(seed):
    env = Traffic(Traffic.generate(8, seed=seed))
    for _ in episodes.play(env, seed, steps=6):
        pass
    use = env.loads.ravel() / np.repeat(env.instance.array("capacities"), 2)
    marginal = use**7 / np.repeat(env.instance.array("capacities"), 2)
    arcs = {}
    for e, (u, v) in enumerate(env.instance.array("edges").T.tolist()):
        arcs[u, v], arcs[v, u] = 2 * e, 2 * e + 1
    n = env.instance.params["nodes"]

    def cost(path):
        nodes = [v for v in path if v < n]
        return sum(marginal[arcs[pair]] for pair in pairwise(nodes))

    every = env.all_actions()
    gain = env.get_graphs()["traffic_G"].edge_attributes["gain"]
    for demand, path in enumerate(env.solution().tolist()):
        cheapest = min(cost(row[1:].tolist()) for row in every[every[:, 0] == demand])
        volume = env.instance.array("volumes")[demand]
        saved = volume * (cost(path) - cheapest) / (use**8).sum()
        assert gain[demand] == pytest.approx(np.tanh(saved), rel=1e-4, abs=1e-6)


def test_greedy_takes_the_same_actions_in_whatever_parts_it_looks_at_them(instance, monkeypatch):
    whole = Episode(Traffic(instance), seed=1).run(plain_policy("greedy"), 6)
    sizes = []
    preview = Traffic.preview
    monkeypatch.setattr(
        Traffic, "preview", lambda env, rows: (sizes.append(len(rows)), preview(env, rows))[1]
    )
    monkeypatch.setattr(Traffic, "all_actions", None)  # a copy of the whole list
    monkeypatch.setattr(env_module, "_CHUNK", 7)
    parts = Episode(Traffic(instance), seed=1).run(plain_policy("greedy"), 6)
    assert np.array_equal(whole.actions, parts.actions)
    assert max(sizes) <= 7


def test_a_wrong_path_is_named_with_its_row(instance):
    paths = Traffic(instance, start="default").instance.references.sweeps.best_solution
    for row, change in ((3, lambda path: path[::-1]), (5, lambda path: path * 0)):
        wrong = paths.copy()
        wrong[row] = change(wrong[row])
        with pytest.raises(UsageError, match=f"row {row} is"):
            Traffic.evaluate_solution(instance, wrong)
    too_long = np.hstack([paths, np.zeros((len(paths), 1), dtype=paths.dtype)])
    with pytest.raises(UsageError, match="row 0 is"):
        Traffic.evaluate_solution(instance, too_long)


def test_few_moves_are_not_spread_over_many_runs(monkeypatch):
    instance = Traffic.generate(30, seed=3)

    def reached():
        found = [Traffic.improve(instance, None, seed, 1 / 256) for seed in range(5)]
        return np.mean([Traffic.evaluate_solution(instance, paths) for paths in found])

    one = reached()
    monkeypatch.setattr(solver, "FEWEST", 1)
    assert one < reached()


@pytest.mark.parametrize("index", [39, 91])
def test_a_search_goes_on_where_rounding_leaves_nothing_of_an_energy(index):
    """Energies fall by many powers of ten, and differences of larger ones are not exact."""
    given = Traffic.generate(None, seed=42, index=index)
    answer = lagco.solve(given, by="solver", turns=14, progress=False)
    assert answer.valid
    assert answer.objective <= Traffic.evaluate_solution(
        given, Traffic.improve(given, None, 1, 0.01)
    )
