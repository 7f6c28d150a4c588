"""All studies end to end with the preset `tiny`, and what their records say."""

from __future__ import annotations

import numpy as np
import pytest

import lagco
from lagco.agents.registry import METHODS, method_of
from lagco.results.measures import MEASURES
from lagco.results.statistics import interquartile_mean
from lagco.study import generalization_table, improvement_table, scaling, training_times
from lagco.study.settings import sees_latent

RUNS = 2 * 7 * 2


def test_every_run_has_a_record(tiny):
    runs = tiny.records("run")
    assert len(runs) == RUNS
    places = {(r.spec["problem"], r.spec["config"]["method"], r.spec["strategy"]) for r in runs}
    assert len(places) == RUNS
    assert {method for _, method, _ in places} == set(METHODS)
    assert len(tiny.records("encoder")) == 4 + 2 + 1  # of runs, of the looks, of the search
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
    assert len(rows) == RUNS + 2 * 3
    place = ("tsp", "projection", "varied")
    row = next(r for r in rows if (r["problem"], r["method"], r["strategy"]) == place)
    assert row["paper"]["iqm"] == 0.71
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
    assert row["paper"]["difference"] == pytest.approx(row["score/best"]["iqm"] - 0.71)
    solver = next(r for r in rows if (r["problem"], r["method"]) == ("tsp", "solver"))
    assert solver["gap/best"]["mean"] == 0.0 and solver["paper"] is None


def test_improvement(tiny):
    found = {
        (row["problem"], row["first"], row["second"]): row["probability"]
        for row in improvement_table(tiny)
    }
    assert len(found) == 2 * 7 * 6
    for (problem, first, second), probability in found.items():
        assert probability + found[problem, second, first] == pytest.approx(1.0)


def test_times(tiny):
    rows = training_times(tiny)
    assert len(rows) == RUNS and all(len(row["seconds"]) == 1 for row in rows)
    assert all(row["paper"] is None for row in rows)  # it reports traffic alone


def test_scaling(tiny):
    rows = scaling(tiny)
    whole = [row for row in rows if row["part"] == "decision"]
    assert len(whole) == 4
    assert all(row["points"] == 3 and row["largest"] == 14 for row in rows)
    chosen = {(r["problem"], r["method"]): r for r in rows if r["part"] == "selection"}
    assert chosen["placement", "iterative"]["paper_alpha"] == 1.81
    assert chosen["placement", "faiss-flat"]["paper_alpha"] is None
    record = tiny.records("latency")[0]
    quantiles = record.measured["decision_us"]["quantiles"]
    assert quantiles == sorted(quantiles) and len(quantiles) == 9
    assert record.measured["decisions"] == record.spec["decisions"] == 10


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


def test_methods_that_need_an_encoder():
    assert {m for m in METHODS if sees_latent(m)} == {m for m in METHODS if method_of(m).latent}
