"""Encoders that are read instead of trained again."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.embedding import encoder_cache
from lagco.embedding.config import PretrainConfig
from lagco.embedding.encoder_cache import cached_encoder
from lagco.embedding.pretraining.pretrain import pretrain
from lagco.problems import problem_class

TSP = problem_class("tsp")


@pytest.fixture
def trained(monkeypatch, tmp_path):
    """Seeds of the encoders that were trained, briefly."""
    monkeypatch.setenv("LAGCO_CACHE", str(tmp_path))
    seeds = []

    def brief(*arguments, **options):
        seeds.append(options["seed"])
        return pretrain(*arguments, training=PretrainConfig(max_steps=2, states=8), **options)

    monkeypatch.setattr(encoder_cache, "pretrain", brief)
    return seeds


def instances(index=0):
    return [TSP.generate(6, index=index)]


def test_the_second_encoder_is_read_and_the_same(trained):
    first = cached_encoder(TSP, instances())
    second = cached_encoder(TSP, instances())
    assert trained == [42]
    assert first.content_hash == second.content_hash
    env = TSP(instances()[0])
    env.reset(seed=0)
    both = [encoder.embedder()(env.graph_views()) for encoder in (first, second)]
    for name, found in both[0].items():
        np.testing.assert_array_equal(found, both[1][name])


def test_other_data_seeds_and_features_make_other_encoders(trained):
    cached_encoder(TSP, instances())
    cached_encoder(TSP, instances(1))
    cached_encoder(TSP, instances(), seed=4)
    cached_encoder(TSP, instances(), features="paper")
    assert trained == [42, 42, 4, 42]


def test_a_broken_file_is_made_again(trained, tmp_path):
    cached_encoder(TSP, instances())
    (broken,) = tmp_path.glob("encoders/*/encoder.json")
    broken.write_text("{")
    cached_encoder(TSP, instances())
    cached_encoder(TSP, instances())
    assert trained == [42, 42]


def test_a_class_that_no_module_holds_is_not_kept(trained):
    other = type("Other", (TSP,), {"__module__": "__main__"})
    for _ in range(2):
        cached_encoder(other, instances())
    assert trained == [42, 42]
