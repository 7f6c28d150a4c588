"""All studies end to end with the preset `tiny`, and what their records say."""

from __future__ import annotations

import numpy as np
import pytest

import lagco
from lagco.agents.config import train_config
from lagco.agents.registry import METHODS
from lagco.results.measures import MEASURES
from lagco.results.statistics import interquartile_mean
from lagco.study import Ledger, generalization_table, improvement_table, scaling, training_times
from lagco.study.settings import BASELINES, TIMED, known_methods, selects
from lagco.study.task import Task

RUNS = 2 * 8 * 2


def test_every_run_has_a_record(tiny):
    runs = tiny.records("run")
    assert len(runs) == RUNS
    places = {(r.spec["problem"], r.spec["config"]["method"], r.spec["strategy"]) for r in runs}
    assert len(places) == RUNS
    assert {method for _, method, _ in places} == set(known_methods())
    # of runs, looks, search, rates, and the second timed run: the first one's is that of a run
    assert len(tiny.records("encoder")) == 4 + 2 + 1 + 1 + 1
    assert not list(tiny.root.glob("failures/*/*.json"))


def test_a_run_says_everything(tiny):
    record = next(r for r in tiny.records("run") if r.spec["config"]["method"] == "projection")
    data = tiny.data(record)
    result, spec = record.result, record.spec
    assert spec["data_checksum"] == data.checksum
    assert [i["index"] for i in result["instances"]] == list(range(len(data)))
    assert [i["size"] for i in result["instances"]] == [entry.size for entry in data.entries]
    assert [i["index"] for i in result["instances"] if i["seen"]] == spec["train"]
    assert result["training"]["instances"] == [data.entries[i].checksum for i in spec["train"]]
    for instance in result["instances"]:
        assert all(len(instance[measure]) == spec["episodes"] for measure in MEASURES)
    curve = result["curve"]
    assert curve["steps"][-1] >= spec["config"]["steps"]
    assert len({len(column) for column in curve.values()}) == 1
    assert record.measured["train_s"] > 0 and record.measured["steps_per_s"] > 0
    agent = lagco.load(tiny.folder(record))
    assert agent.description["sha256"] == result["weights"]
    solution = lagco.evaluate(agent, [data[0]], episodes=1)
    assert solution.results[0].episodes[0].score == pytest.approx(
        result["instances"][0]["score"][0], rel=1e-5
    )


def test_methods_share_the_encoder_of_their_strategy(tiny):
    keys: dict = {}
    for record in tiny.records("run"):
        place = (record.spec["problem"], record.spec["strategy"])
        keys.setdefault(place, set()).add(record.spec["encoder"])
    assert all(len(found) == 2 and None in found for found in keys.values())
    assert len(set().union(*keys.values())) == 5


def test_padded_methods_take_every_instance(tiny):
    """The widths are those of the whole data set, so one small training instance is enough."""
    for record in tiny.records("run"):
        assert all(instance["refused"] is None for instance in record.result["instances"])


def test_table(tiny):
    rows = generalization_table(tiny, MEASURES, ("best", "first", "all"))
    assert len(rows) == RUNS + 2 * len(BASELINES)
    place = ("tsp", "projection", "varied")
    row = next(r for r in rows if (r["problem"], r["method"], r["strategy"]) == place)
    assert row["paper"] is None, "another protocol"
    (record,) = [
        r
        for r in tiny.records("run")
        if (r.spec["problem"], r.spec["config"]["method"], r.spec["strategy"]) == place
    ]
    unseen = [i for i in record.result["instances"] if not i["seen"]]
    seen = [i for i in record.result["instances"] if i["seen"]]
    best = [max(i["score"]) for i in unseen]
    assert row["score/best"]["iqm"] == pytest.approx(interquartile_mean(best))
    assert row["score/best"]["count"] == len(unseen) == 8
    assert row["score/all"]["mean"] == pytest.approx(np.mean([i["score"] for i in unseen]))
    assert row["score/first"]["mean"] == pytest.approx(np.mean([i["score"][0] for i in unseen]))
    assert row["gap/best"]["mean"] == pytest.approx(np.mean([min(i["gap"]) for i in unseen]))
    delta = interquartile_mean(best) - interquartile_mean([max(i["score"]) for i in seen])
    assert row["delta"]["score"] == pytest.approx(delta)
    assert record.result["summary"]["delta"]["score"] == pytest.approx(delta, abs=1e-5)
    solver = next(r for r in rows if (r["problem"], r["method"]) == ("tsp", "solver"))
    assert solver["gap/best"]["mean"] == 0.0 and solver["paper"] is None


def test_searches_get_the_time_of_an_agent(tiny):
    found = {(r.spec["problem"], r.spec["policy"]): r for r in tiny.records("policy")}
    for problem in ("tsp", "ospf"):
        for policy in TIMED:
            record = found[problem, policy]
            run = tiny.find("run", record.spec["pace"])
            assert record.spec["paced_by"] == run.spec["config"]["method"] == "projection"
            assert run.spec["strategy"] == "varied"
            assert record.measured["pace_s"] == run.measured["instance_s"]
            for instance in record.result["instances"]:
                assert len(instance["objective_best"]) == 1
                assert instance["gap"][0] >= -1e-3 or problem == "ospf"


def test_networks_are_also_scored_from_their_default_start(tiny):
    for record in [*tiny.records("run"), *tiny.records("policy")]:
        networks = record.spec["problem"] == "ospf"
        for instance in record.result["instances"]:
            assert ("start_score" in instance["measures"]) == networks
            if networks:
                episodes = len(instance["objective_best"])
                assert len(instance["start_score"]) == episodes
                if record.spec.get("policy") == "solver":
                    assert instance["start_score"] == [1.0]


def test_improvement(tiny):
    found = {
        (row["problem"], row["first"], row["second"]): row["probability"]
        for row in improvement_table(tiny)
    }
    assert len(found) == 2 * 8 * 7, "one setting, also of methods without some of its fields"
    for (problem, first, second), probability in found.items():
        assert probability + found[problem, second, first] == pytest.approx(1.0)


def test_training_times(tiny):
    """Full runs on varied instances, as many as there are seeds, with those of the encoder."""
    rows = {row["method"]: row for row in training_times(tiny)}
    assert set(rows) == {"p-discrete-m", "projection"}
    for row in rows.values():
        assert (row["problem"], row["strategy"], row["steps"]) == ("tsp", "varied", 512)
        assert row["instances"] == 2 and len(row["seconds"]) == 2 and min(row["seconds"]) > 0
        assert len(row["cpu_s"]) == 2 and min(row["cpu_s"]) > 0
        assert row["paper"] is None  # the protocol is not the paper's
    assert len(rows["projection"]["encoder_s"]) == 2 and not rows["p-discrete-m"]["encoder_s"]
    for record in tiny.records("training"):
        assert record.result["training"]["steps"] >= record.spec["config"]["steps"]
        assert "instances" not in record.result, "no testing"
        assert record.measured["train_s"] <= record.measured["seconds"]
    assert len(training_times(tiny, "run")) == RUNS


def test_rates(tiny):
    records = tiny.records("throughput")
    assert {record.spec["method"] for record in records} == {"p-discrete-m", "projection"}
    for record in records:
        names = ("steps_per_s", "cartpole_steps_per_s", "decisions_per_s", "episode_steps")
        assert all(record.measured[name] > 0 for name in names)
        assert (record.spec["encoder"] is None) == (record.measured["space_s"] < 1e-3)


def test_the_papers_training_times_stand_beside_its_protocol_alone(tmp_path):
    ledger = Ledger(tmp_path)
    spec = {"problem": "traffic", "overrides": {}, "encoder": None, "code": {}}
    for steps, train in ((100_000, 20), (4096, 20), (100_000, 2)):
        for fold in (1, 0):
            config = train_config(method="iterative", steps=steps, seed=fold).as_dict()
            chosen = {"instances": 5 * train + 1, "train": list(range(train))}
            full = {**spec, **chosen, "fold": fold, "config": config}
            task = Task("training", f"{steps}-{train}-{fold}", full)
            ledger.write(task, {}, {"seconds": 1.0, "train_s": 10.0 + fold})
    compared = [row for row in training_times(ledger) if row["paper"] is not None]
    (row,) = compared
    assert row["steps"] == 100_000 and row["instances"] == 20
    assert row["seconds"] == [10.0, 11.0], "in the order of the runs"
    assert row["paper"] == [3776.0, 2717.0, 6718.0, 2570.0, 5095.0]


def test_scaling(tiny):
    rows = scaling(tiny)
    whole = [row for row in rows if row["part"] == "decision"]
    timed = {row["method"] for row in whole}
    assert timed == {"iterative", "projection", "soft-projection", "faiss-flat"}, "none is taught"
    assert all(row["points"] == 3 and row["largest"] == 14 for row in rows)
    chosen = {(r["problem"], r["method"]): r for r in rows if r["part"] == "selection"}
    assert chosen["placement", "iterative"]["paper_alpha"] == 1.81
    assert chosen["placement", "faiss-flat"]["paper_alpha"] is None
    for record in tiny.records("latency"):
        parts = record.measured["parts_us"]
        assert parts.keys() >= {"encode", "actions", "observe"}, "actions are read apart"
        assert parts["actions"]["median"] > 0
    record = tiny.records("latency")[0]
    quantiles = record.measured["decision_us"]["quantiles"]
    assert quantiles == sorted(quantiles) and len(quantiles) == 9
    assert record.measured["decisions"] == record.spec["decisions"] == 10


def test_selection_counts_the_same_parts_for_every_method(tmp_path):
    """Everything but encoding and observing, so also reading the actions of the state."""
    ledger = Ledger(tmp_path)
    parts = {
        "projection": {"encode": 1e6, "actions": 8.0, "observe": 1e6, "policy": 2.0, "search": 6.0},
        "iterative": {"encode": 1e6, "actions": 8.0, "observe": 1e6, "list": 1.0, "values": 7.0},
        "their-own": {"encode": 1e6, "actions": 8.0, "observe": 1e6, "think": 8.0},
    }
    for method, costs in parts.items():
        for size in (1, 2, 4):
            spec = {"problem": "tsp", "method": method, "features": "full", "size": size}
            measured = {
                "decision_us": {"median": sum(costs.values())},
                "parts_us": {part: {"median": size * us} for part, us in costs.items()},
            }
            task = Task("latency", f"{method}-{size}", spec | {"code": {}})
            ledger.write(task, {"refused": None}, measured)
    rows = [row for row in scaling(ledger) if row["part"] == "selection"]
    assert len(rows) == 3
    for row in rows:
        assert row["factor"] == pytest.approx(16.0) and row["alpha"] == pytest.approx(1.0)


def test_embeddings(tiny):
    records = tiny.records("embedding")
    assert [record.spec["problem"] for record in records] == ["max-cut", "tsp"]
    for record in records:
        (picture,) = record.result["pictures"]
        for part in ("actions", "random"):
            assert len(picture[part]["x"]) == len(picture[part]["y"]) == len(picture[part]["shade"])
        assert len(picture["states"]["x"]) == len(picture["states"]["progress"]) == 5
        assert all(head["random"] is not None for head in record.result["heads"])
    cut = records[0].result
    assert cut["actions"] == 5 and cut["cmp"]["3"] != cut["cmp_random"]["3"]
    assert cut["cmp"]["5"] is None  # there are no five others


@pytest.mark.slow
def test_pictures_of_many_actions(tmp_path):
    """UMAP, which takes long to compile."""
    settings = {"problems": ("ospf",), "size": 8, "drawn_states": 30, "workers": 1}
    (record,) = lagco.study.embeddings(tmp_path, preset="tiny", **settings).records("embedding")
    (picture,) = record.result["pictures"]
    assert len(picture["actions"]["x"]) > 15 and len(picture["states"]["x"]) == 30
    assert np.isfinite(picture["actions"]["x"] + picture["actions"]["y"]).all()


def test_tune(tiny):
    (record,) = tiny.records("tune")
    trials = record.result["trials"]
    assert [trial["number"] for trial in trials] == [0, 1, 2]
    best = record.result["best"]
    assert best["value"] == max(trial["value"] for trial in trials)
    assert best["test"]["unseen"]["score"]["best"] is not None
    trial = tiny.find("trial", best["key"])
    assert trial.spec["config"]["learning_rate"] == best["params"]["agent.learning_rate"]
    parts = [set(trial.spec["train"]), set(trial.spec["validation"]), set(record.spec["test"])]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 10


def test_methods_that_look_for_an_action_among_all():
    assert known_methods() == tuple(METHODS)
    assert set(filter(selects, known_methods())) == {
        "iterative",
        "projection",
        "soft-projection",
    }
