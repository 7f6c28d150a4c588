"""Beam search over the likelihoods of a policy."""

import itertools

import numpy as np
import pytest

import lagco
from lagco.agents.shipped import default_agent
from lagco.errors import UsageError
from lagco.problems import problem_class
from lagco.rollout import Planned
from lagco.solving.beam import Beam, _perturbed

TSP = problem_class("tsp")
CITIES = 5


class Likelihoods:
    """Any city that is left, with probabilities that depend on the city before."""

    def __init__(self, envs):
        self._envs = envs
        self._logits = np.random.default_rng(3).normal(size=(CITIES, CITIES))

    def rate(self, members):
        return [self.rated(self._envs[member].solution().tolist()) for member in members]

    def rated(self, tour):
        left = np.array([city for city in range(CITIES) if city not in tour])
        logits = self._logits[tour[-1]][left]
        return left, logits - np.log(np.exp(logits).sum())

    def likelihood(self, tour):
        total = 0.0
        for step in range(1, CITIES):
            actions, logarithms = self.rated(list(tour[:step]))
            total += logarithms[actions.tolist().index(tour[step])]
        return total


def searched(width, explore=False, seed=0):
    envs = [TSP(TSP.generate(CITIES), rewards=False) for _ in range(width)]
    for env in envs:
        env.reset(seed=0)
    team = Likelihoods(envs)
    planned = Planned(7, 0, explore=explore)
    beam = Beam(envs, team, planned, np.random.default_rng(seed))
    tours = []
    while beam.begin():
        tours += [tuple(episode.env.solution().tolist()) for episode in beam.step()]
    return team, tours


def test_a_beam_as_wide_as_all_tours_finds_them_all_the_likeliest_first():
    team, tours = searched(24)
    every = [(0, *rest) for rest in itertools.permutations(range(1, CITIES))]
    assert sorted(tours) == sorted(every)
    assert tours == sorted(tours, key=team.likelihood, reverse=True)


def test_a_narrow_beam_takes_the_mode_and_a_wider_one_nothing_less_likely():
    team, (mode,) = searched(1)
    greedy = [0]
    while len(greedy) < CITIES:
        actions, logarithms = team.rated(greedy)
        greedy.append(int(actions[logarithms.argmax()]))
    assert mode == tuple(greedy)
    _, wider = searched(6)
    assert len(wider) == 6
    assert team.likelihood(wider[0]) >= team.likelihood(mode)


def test_a_beam_that_explores_is_a_sample_without_replacement():
    counts = {}
    for seed in range(300):
        team, tours = searched(4, explore=True, seed=seed)
        assert len(set(tours)) == 4
        counts[tours[0]] = counts.get(tours[0], 0) + 1
    likeliest = max(counts, key=team.likelihood)
    expected = 300 * np.exp(team.likelihood(likeliest))
    assert abs(counts[likeliest] - expected) < 4 * np.sqrt(expected)


def test_the_largest_perturbed_likelihood_is_that_of_the_beginning():
    rng = np.random.default_rng(0)
    found = _perturbed(np.log([0.5, 0.3, 0.2]), -1.5, rng)
    assert found.max() == -1.5
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["tsp", "min-vertex", "max-cut", "cyber-path"])
def test_an_agent_searches_by_beams(name):
    instance = problem_class(name).generate(8)
    first, again = (
        lagco.solve(instance, by="agent", agent=default_agent(name), search="beam", turns=60)
        for _ in range(2)
    )
    assert first.valid
    assert first.objective == again.objective
    assert first.solution.tolist() == again.solution.tolist()


def test_likelihoods_are_probabilities_over_valid_actions():
    for name in ("tsp", "max-cut", "ospf"):
        agent = default_agent(name)
        env = problem_class(name)(problem_class(name).generate(8), features=agent.features)
        env.reset(seed=0)
        for each in (agent, agent.with_decoder("nearest")):
            ((actions, logarithms),) = each.team([env]).rate([0])
            assert np.exp(logarithms).sum() == pytest.approx(1.0)
            assert all(env.is_valid_action(action) for action in actions)


def test_whoever_knows_no_likelihoods_is_named():
    with pytest.raises(UsageError, match="greedy does not say how likely"):
        lagco.solve(TSP.generate(8), by="greedy", search="beam", turns=10)
