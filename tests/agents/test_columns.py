"""Columns of candidates: their names, what an agent records of them, and training without some."""

from dataclasses import replace

import numpy as np
import pytest

import lagco
from lagco.agents.bundle import load
from lagco.agents.training.trainer import train
from lagco.commands.generate import generate_instance
from lagco.core.candidates import CandidateFeatures, Columns
from lagco.errors import LagcoError, UsageError
from lagco.latent.candidates import SHARED, SeenColumns
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.problems.tsp.candidates import EACH, PAIRS
from tests.agents.runs import instances
from tests.agents.test_imitation import SHORT, taught
from tests.latent.conftest import brief_encoder

DROPPED = "score_rank, degree, pair.share"


@pytest.fixture(scope="module")
def fewer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents") / "fewer"
    taught(folder, drop_columns=DROPPED)
    return folder


def test_records_are_columns_in_order():
    columns = Columns(gain="of the move", ways={"near": "one step", "far": "two steps"})
    assert columns.names == ("gain", "near", "far")
    assert columns.meanings["far"] == "two steps"
    records = columns.records(3)
    records["gain"][1], records["ways"][2] = 0.5, (1.0, 2.0)
    expected = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 1.0, 2.0]]
    assert columns.matrix(records).tolist() == expected


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_column_of_every_problem_has_a_name_and_a_meaning(name):
    env = problem_class(name)(generate_instance(name, size=8, references=["sweeps"], sweeps=5))
    env.reset(seed=0)
    features = env.candidate_features(env.valid_actions()[:5])
    assert features.each.shape[1] == len(env.candidate_columns)
    assert features.each.dtype == np.float32
    assert (features.pairs is None) == (env.pair_columns is None)
    if env.pair_columns is not None:
        assert features.pairs.shape[2] == len(env.pair_columns)
    for columns in filter(None, (env.candidate_columns, env.pair_columns)):
        assert all(name.isidentifier() and meaning for name, meaning in columns.meanings.items())
    assert not set(SHARED.names) & set(env.candidate_columns.names)


def test_a_ranker_is_given_the_columns_that_it_was_trained_on():
    offered = SeenColumns(("a", "b", "c"), ("p", "q"))
    wanted = offered.without(["b", "pair.p"])
    each, pairs = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 2, 2)
    found = offered.picked(CandidateFeatures(each, pairs), wanted)
    assert found.each.tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert found.pairs[..., 0].tolist() == pairs[..., 1].tolist()
    assert offered.picked(CandidateFeatures(each, pairs), offered).each is each


def test_an_agent_records_its_columns_and_decides_without_those_dropped(fewer):
    agent = load(fewer)
    names = agent.description["facts"]["candidate_columns"]
    assert set(SHARED.names + EACH.names) - set(names) == {"score_rank", "degree"}
    assert agent.description["facts"]["pair_columns"] == [n for n in PAIRS.names if n != "share"]
    assert agent.weights["ranker.mean"].shape == (len(names),)
    instance = instances()[0]
    assert len(agent.solve(instance, episodes=1).solution) == instance.size
    sees = lagco.info(fewer)["sees"]
    assert list(sees["candidates"]) == names
    assert sees["candidates"]["distance"] == EACH.meanings["distance"]


def test_training_goes_on_without_those_dropped(tmp_path):
    for steps in (512, 768):
        agent = taught(tmp_path / "agent", "max-cut", drop_columns="chain, gain_rank", steps=steps)
        names = agent.description["facts"]["candidate_columns"]
        assert agent.weights["ranker.mean"].shape == (len(names),)
        assert not {"chain", "gain_rank"} & set(names)
    with pytest.raises(UsageError, match=r"init=: .* give its drop_columns"):
        train("max-cut", instances("max-cut"), tmp_path / "other", init=tmp_path / "agent", **SHORT)


def test_columns_that_a_problem_lost_are_named(fewer, tmp_path, monkeypatch):
    monkeypatch.setattr(problem_class("tsp"), "candidate_columns", Columns(distance="away"))
    with pytest.raises(LagcoError, match=r"trained on columns .* TSP does not have: log_distance"):
        load(fewer)
    assert load(fewer, decoder="nearest").description["facts"]


def test_agents_without_a_record_see_all_columns(tmp_path):
    agent = load("tsp")
    assert agent.description["facts"] == {}
    assert agent.weights["ranker.mean"].shape == (len(SHARED) + len(EACH),)
    assert list(agent.sees()["pairs of candidates"]) == list(PAIRS.names)


@pytest.mark.parametrize(
    ("dropped", "message"),
    [
        ("distanc", "distance"),
        ("share, pair.distanc", r"pair\.distance"),
        (", ".join(SHARED.names + EACH.names), "at least one"),
    ],
)
def test_wrong_names_are_refused_before_training(dropped, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        train(
            "tsp", instances(), tmp_path, encoder=brief_encoder("tsp"),
            **(SHORT | {"drop_columns": dropped}),
        )  # fmt: skip


@pytest.mark.slow
def test_agents_are_trained_to_see_their_budget(tmp_path):
    network = problem_class("ospf").generate(6, seed=5)
    weights = np.ones(network.array("edges").shape[1], dtype=np.int64)
    limited = replace(
        network,
        arrays={**network.arrays, "weights": weights},
        params={**network.params, "max_changes": 2},
    )
    settings = SHORT | {"features": "budget", "steps": 512}
    train("ospf", [limited], tmp_path / "agent", encoder=brief_encoder("ospf"), **settings)
    agent = load(tmp_path / "agent")
    assert agent.features == "budget"
    assert "costs" in agent.description["facts"]["candidate_columns"]
    answer = lagco.solve(limited, by="agent", agent=agent, turns=30, progress=False)
    assert answer.valid
    assert len(answer.changes) <= 2
