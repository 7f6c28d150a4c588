"""Live agents: exact previews, the search for few changes, training, files, and the defaults."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

import lagco
from lagco.core.changes import FIXED, MAX_CHANGES, judge
from lagco.errors import LagcoError, UsageError
from lagco.live.agents import (
    LiveTraining,
    days,
    default_live_agent,
    live_problems,
    load_live_agent,
    train_live_agent,
)
from lagco.live.agents.agent import AGENT
from lagco.live.agents.learning import LinearScorerNetwork, ScorerNetwork
from lagco.live.agents.search import GuidedSearch
from lagco.live.contract import Situation, Update, followed, live_instance
from lagco.live.controllers.agent import AgentController
from lagco.live.controllers.greedy import Greedy
from lagco.problems.max_cut import MaxCut
from lagco.problems.ospf import OSPF
from lagco.problems.ospf.searching.moves import COLUMNS
from lagco.problems.placement import Placement
from lagco.problems.placement.terms import TERMS
from lagco.problems.traffic import Traffic
from lagco.results.measures import improvement
from lagco.solving.portfolio import Limit

PROBLEMS = [OSPF, Traffic, Placement]
#: aims of clusters
ONLY = {"fragments": 1.0} | dict.fromkeys(TERMS, 0.0)
TINY = LiveTraining(rounds=2, budgets=(2,), width=1, steps=20, units=8, seed=3)


def drawn(problem, max_changes=2, size=8, **params):
    instance = problem.generate(size, seed=4)
    if problem is Placement:  # in use, with aims that differ
        instance = Placement.generate(3 * size, seed=4, load=0.9)
        instance = Placement.with_aims(instance, {"fragments": 5.0})
    instance = replace(instance, params={**instance.params, **params})
    return live_instance(problem, instance, max_changes)


def value_of(problem, instance, solution):
    """As moves say it: lower ones are better."""
    objective = problem.evaluate_solution(instance, solution)
    return -objective if problem.maximise else objective


def matrices(problem, instance, count):
    for moment in islice(problem.draw_timeline(instance, seed=1, until=1e9), count):
        yield moment.event


def test_clouds_with_traffic_and_hosts_to_be_emptied_are_previewed_exactly():
    cloud = Placement.generate(12, seed=3)
    drained = np.zeros(len(cloud.array("pm_capacities")), dtype=np.int8)
    cloud = live_instance(Placement, cloud, 4)
    hosts = cloud.array("allocation")
    drained[hosts[0]] = 1
    cloud = replace(cloud, arrays={**cloud.arrays, "drained": drained})
    moves = Placement.moves()
    moves.begin(cloud)
    stuck = int((hosts == hosts[0]).sum())
    assert moves.value == pytest.approx(stuck + value_of(Placement, cloud, hosts))
    values, levels = moves.preview(np.arange(len(moves.describe())))
    for move in range(len(values)):
        left = int((moves.after(move) == hosts[0]).sum())
        exact = left + value_of(Placement, cloud, moves.after(move))
        assert values[move] == pytest.approx(exact)
    assert (moves.after(int(np.argmin(levels))) == hosts[0]).sum() == stuck - 1
    best = GuidedSearch(moves).run(hosts, 4, Limit(turns=8))
    assert len(judge(Placement, cloud, best.solution).faults) < len(
        judge(Placement, cloud, hosts).faults
    )


def test_what_takes_the_room_of_a_change_that_is_taken_back_is_not_proposed():
    cluster = Placement.with_aims(Placement.generate(40, seed=8, load=0.95), ONLY)
    pair = np.array([[0], [1]])
    arrays = {**cluster.arrays, "apart": pair}
    for instance in (cluster, replace(cluster, arrays=arrays)):
        instance, moves = live_instance(Placement, instance, 6), Placement.moves()
        moves.begin(instance)
        before, held = moves.solution, judge(Placement, instance, moves.solution)
        for turns in (12, 30, 60):
            moves.begin(instance)
            best = GuidedSearch(moves).run(before, 6, Limit(turns=turns))
            found = judge(Placement, instance, best.solution)
            assert not found.faults or found.faults == held.faults
            assert -best.value == pytest.approx(found.objective)


@pytest.mark.parametrize("ecmp", [True, False])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_moves_are_previewed_exactly_wherever_they_lead(problem, ecmp):
    params = {"ecmp": ecmp} if problem is OSPF else {}
    instance, moves = drawn(problem, max_changes=3, **params), problem.moves()
    moves.begin(instance)
    for _ in range(3):
        assert moves.value == pytest.approx(value_of(problem, instance, moves.solution))
        columns = moves.describe()
        assert np.isfinite(columns).all()
        values, levels = moves.preview(np.arange(len(columns)))
        for move in range(0, len(columns), 5):
            exact = value_of(problem, instance, moves.after(move))
            assert values[move] == pytest.approx(exact)
        moves.go_to(moves.after(int(np.argmin(levels))))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_moves_that_follow_a_matrix_are_those_of_a_fresh_look(problem):
    instance, moves = drawn(problem), problem.moves()
    moves.begin(instance)
    moves.go_to(moves.after(int(np.argmin(moves.preview(np.arange(len(moves.describe())))[1]))))
    for event in matrices(problem, instance, 2):
        instance = followed(problem, instance, Update(0, None, (event,), 0))
        moves.begin(instance)
        fresh = problem.moves()
        fresh.begin(instance)
        assert moves.value == pytest.approx(fresh.value)
        np.testing.assert_allclose(moves.describe(), fresh.describe(), atol=1e-5)


def test_what_a_longer_link_loses_is_foretold_where_nothing_else_changes():
    ring = OSPF.generate(8, seed=4)
    names = COLUMNS.names
    moves = OSPF.moves()
    moves.begin(live_instance(OSPF, ring, 1))
    columns = moves.describe()
    after = columns[:, names.index("use_after")]
    ups = columns[:, names.index("up")] > 0
    assert after[ups].min() >= 0.0  # no more leaves a link than it carries
    assert (after[ups] <= columns[ups, names.index("use")] + 1e-6).all()
    assert (after[~ups] >= columns[~ups, names.index("use")] - 1e-6).all()


@pytest.mark.parametrize("high", [5, 60])
def test_wide_ranges_offer_the_weights_at_which_traffic_moves(high):
    instance = drawn(OSPF, min_weight=1, max_weight=high)
    weights = np.full(instance.size, (high + 1) // 2)
    instance = replace(instance, arrays={**instance.arrays, "weights": weights})
    moves = OSPF.moves()
    moves.begin(instance)
    values, _ = moves.preview(np.arange(len(moves.describe())))
    exact = [
        OSPF.evaluate_solution(instance, changed)
        for link in range(instance.size)
        for weight in range(1, high + 1)
        for changed in [np.where(np.arange(instance.size) == link, weight, weights)]
    ]
    assert values.min() <= min(exact) * 1.05


@pytest.mark.parametrize("problem", PROBLEMS)
def test_fixed_elements_and_budgets_are_kept(problem):
    instance = drawn(problem, max_changes=1)
    count = len(problem.elements(instance, instance.arrays[problem.present]))
    fixed = np.zeros(count, dtype=np.int8)
    fixed[: count // 2] = 1
    instance = replace(instance, arrays={**instance.arrays, FIXED: fixed})
    moves = problem.moves()
    moves.begin(instance)
    before = moves.solution
    for _ in range(2):
        for move in range(len(moves.describe())):
            assert not judge(problem, instance, moves.after(move)).faults
        if (moves.solution == before).all():
            moves.go_to(moves.after(0))
            assert (moves.solution != before).any()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_where_nothing_may_change_nothing_is_proposed(problem):
    instance = drawn(problem, max_changes=1)
    count = len(problem.elements(instance, instance.arrays[problem.present]))
    instance = replace(instance, arrays={**instance.arrays, FIXED: np.ones(count, dtype=np.int8)})
    moves = problem.moves()
    moves.begin(instance)
    assert moves.describe().shape == (0, len(moves.columns))
    assert GuidedSearch(moves).run(moves.solution, 1, Limit(turns=3)).changes == 0


@pytest.mark.parametrize("problem", PROBLEMS)
def test_previewing_all_moves_finds_the_best_single_change(problem):
    instance, moves = drawn(problem, max_changes=1), problem.moves()
    moves.begin(instance)
    before = moves.solution
    values, _ = moves.preview(np.arange(len(moves.describe())))
    best = GuidedSearch(moves).run(before, 1, Limit(turns=1))
    assert best.value == min(values.min(), best.value)
    assert best.changes <= 1


def test_more_turns_are_never_worse_and_budgets_are_kept():
    instance, agent = drawn(OSPF, max_changes=2), default_live_agent("ospf")
    found = []
    for turns in (1, 3, 12, 40):
        solution = agent.decide(Situation(OSPF, instance, Limit(turns=turns), 0, 0))
        verdict = judge(OSPF, instance, solution)
        assert verdict.changes <= 2
        assert not verdict.faults
        found.append(verdict.objective)
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_configuration_that_somebody_found_is_gone_on_from(problem):
    instance, agent = drawn(problem, max_changes=3), default_live_agent(problem)
    situation = Situation(problem, instance, Limit(turns=1), 0, 0)
    first, steps = Greedy().climb(situation, situation.limit)
    assert steps > 0
    found = judge(problem, instance, agent.decide(situation, first))
    assert not found.faults
    # of about as good ones the one that has room elsewhere is chosen
    best = judge(problem, instance, first).objective
    assert improvement(found.objective, best, maximise=problem.maximise) >= -0.01 * abs(best)


def test_greedy_actions_that_are_too_slow_are_left_out_and_tried_again_later(monkeypatch):
    instance, now, climbed = drawn(OSPF, max_changes=2), [0.0], []

    def climb(self, situation, limit, most=None):
        climbed.append(situation.number)
        now[0] += 0.2
        return None, 1

    monkeypatch.setattr(Greedy, "climb", climb)
    monkeypatch.setattr("lagco.live.controllers.agent.process_time", lambda: now[0])
    controller = AgentController()
    controller.decide(Situation(OSPF, instance, Limit(turns=8), 0, -1))  # to prepare
    for number in range(12):
        controller.decide(Situation(OSPF, instance, Limit(1.0, clock=lambda: now[0]), 0, number))
        now[0] += 10.0
    assert climbed == [-1, -1, 7]


def test_the_scorer_is_the_network_that_was_trained():
    network = ScorerNetwork(5, 8)
    columns = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    padded = torch.zeros(1, 9, 5)
    padded[0, :7] = torch.from_numpy(columns)
    mask = torch.zeros(1, 9, dtype=torch.bool)
    mask[0, :7] = True
    learnt = network(padded, mask)[0, :7].detach().numpy()
    np.testing.assert_allclose(network.scorer()(columns), learnt, atol=1e-5)
    with pytest.raises(UsageError, match="trained on 5 columns of moves, here are 4"):
        network.scorer()(columns[:, :4])


@pytest.mark.parametrize("problem", PROBLEMS)
def test_training_is_deterministic_and_kept_in_files(problem, tmp_path):
    timelines = days(problem, [problem.generate(6, seed=s) for s in (1, 2)], seed=5)
    first, second = (train_live_agent(problem, timelines, TINY) for _ in range(2))
    for name, array in first.scorer.arrays.items():
        np.testing.assert_array_equal(array, second.scorer.arrays[name])
    first.save(tmp_path)
    loaded = load_live_agent(tmp_path)
    decided = [
        agent.decide(Situation(problem, drawn(problem), Limit(turns=3), 0, 0))
        for agent in (first, loaded)
    ]
    np.testing.assert_array_equal(decided[0], decided[1])
    result = lagco.live(
        drawn(problem), problem=problem.name, synthetic=600.0, agent=str(tmp_path), turns=3,
        controllers="agent", rounds=2, progress=False,
    )  # fmt: skip
    assert len(result.of("agent")) == 2


def test_a_linear_agent_scores_as_it_learnt_and_is_kept_in_files(tmp_path):
    timelines = days(OSPF, [OSPF.generate(6, seed=1)], seed=5)
    agent = train_live_agent(OSPF, timelines, replace(TINY, units=0))
    network = LinearScorerNetwork(5)
    with torch.no_grad():
        network.last.weight.copy_(torch.arange(-2.0, 3.0))
    columns = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    learnt = network(torch.from_numpy(columns)[None], torch.ones(1, 7, dtype=torch.bool))[0]
    np.testing.assert_allclose(network.scorer()(columns), learnt.detach().numpy(), atol=1e-5)
    agent.save(tmp_path)
    for name, array in load_live_agent(tmp_path).scorer.arrays.items():
        np.testing.assert_array_equal(array, agent.scorer.arrays[name])


def test_files_that_do_not_fit_are_named(tmp_path):
    agent = default_live_agent("ospf")
    agent.save(tmp_path)
    with pytest.raises(LagcoError, match="for 'ospf', not for 'traffic'"):
        load_live_agent(tmp_path, Traffic)
    content = AGENT.read(tmp_path).content | {"columns": ["norm_gain"]}
    AGENT.write(tmp_path, content, agent.scorer.arrays)
    with pytest.raises(LagcoError, match="trained on other columns of moves"):
        load_live_agent(tmp_path)
    with pytest.raises(UsageError, match="did you mean 'ospf'"):
        default_live_agent("osfp")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgets": ()}, "name budgets of 1 change or more"),
        ({"own_share": 2.0}, "own_share=2.0: give a share"),
        ({"width": 0}, "width=0: give a positive number"),
        ({"units": -1}, "units=-1: give a positive number, or 0 for a linear one"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        train_live_agent("ospf", [], **options)


def test_problems_without_moves_are_named():
    with pytest.raises(UsageError, match="MaxCut does not list its moves"):
        train_live_agent(MaxCut, [])


def test_the_default_live_agent_of_clouds_beats_greedy_on_clusters_it_never_saw():
    kept = []
    for seed in (91, 92, 93):
        cluster = Placement.generate(60, seed=seed, load=0.9)
        result = lagco.live(
            Placement.with_aims(cluster, ONLY), synthetic=3000.0, seed=seed,
            controllers="hold,greedy,agent", max_changes=5, turns=20, rounds=8, progress=False,
        )  # fmt: skip
        kept.append({row.by: row.mean for row in result.table()})
    assert np.mean([m["agent"] - m["greedy"] for m in kept]) > 0.0
    assert all(m["agent"] > m["hold"] for m in kept)


@pytest.mark.parametrize("name", ["ospf", "traffic"])
def test_default_live_agents_beat_greedy_on_days_they_never_saw(name):
    assert name in live_problems()
    problem = {"ospf": OSPF, "traffic": Traffic}[name]
    means = []
    for seed in (91, 92, 93, 94):
        result = lagco.live(
            problem.generate(18, seed=seed), problem=name, synthetic=3 * 3600.0 - 1, seed=seed,
            controllers="hold,greedy,agent", max_changes=3, turns=20, rounds=10, progress=False,
        )  # fmt: skip
        means.append({row.by: row.mean for row in result.table()})
    assert np.mean([m["agent"] / m["greedy"] for m in means]) < 1.0
    assert all(m["agent"] < m["hold"] for m in means)
    assert MAX_CHANGES in drawn(problem).params
