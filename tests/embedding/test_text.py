"""Sentence embeddings: caching, other encoders, and MiniLM itself where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from lagco.embedding import supply_vectors, text_encoder, use_text_encoder
from lagco.embedding.text import extractor as text
from lagco.embedding.text import minilm
from lagco.embedding.text.cache import TextCache, cache_folder
from lagco.errors import LagcoError, MissingExtra, UsageError
from tests.embedding.listings import fake_sentence_encoder

installed = all(importlib.util.find_spec(name) for name in (minilm.PACKAGE, "tokenizers"))
needs_model = pytest.mark.skipif(not installed, reason="needs the extra 'text'")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAGCO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(text, "_known", {})
    return tmp_path / "cache"


def test_another_encoder_is_asked_once_per_text():
    asked = []

    def encoder(texts):
        asked.extend(texts)
        return fake_sentence_encoder(texts)

    with text_encoder(encoder, "counting"):
        assert text.model_name() == "counting"
        first = text.embed_texts(["a b", "c", "a b"])
        assert np.array_equal(first[0], first[2])
        assert np.array_equal(text.embed_texts(["c"])[0], first[1])
    assert sorted(asked) == ["a b", "c"] and text.model_name() == minilm.NAME


def test_wrong_answers_of_an_encoder_are_named():
    for answer, message in (
        (np.zeros(3), r"shape \(3,\) for 1 text"),
        (np.full((1, 4), np.nan), "not finite"),
    ):
        with text_encoder(lambda texts, a=answer: a), pytest.raises(UsageError, match=message):
            text.embed_texts(["x"])
    use_text_encoder(None)


def test_supplied_vectors_need_no_model(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "not_installed_anywhere")
    minilm._model.cache_clear()
    supply_vectors({"known": np.arange(4.0)})
    assert text.embed_texts(["known", "known"]).tolist() == [[0, 1, 2, 3]] * 2
    with pytest.raises(MissingExtra, match=r"pip install 'lagco\[text\]'"):
        text.embed_texts(["unknown"])


def test_the_disk_cache_keeps_and_recovers(monkeypatch, own_cache):
    calls = []

    def model(texts):
        calls.append(list(texts))
        return fake_sentence_encoder(texts)

    monkeypatch.setattr(minilm, "embed", model)
    wanted = text.embed_texts(["one", "two"])

    def again():
        text._known.clear()
        return text.embed_texts(["one", "two"])

    assert np.array_equal(again(), wanted) and len(calls) == 1
    path = TextCache(minilm.NAME).path("one")
    assert path.is_relative_to(own_cache)
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[-3] ^= 1
    for content in (b"", whole[:-4], b"rubbish" * 20, bytes(damaged)):
        path.write_bytes(content)
        assert np.array_equal(again(), wanted) and calls[-1] == ["one"]
    path.unlink()
    assert np.array_equal(again(), wanted) and calls[-1] == ["one"]


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAGCO_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(minilm, "embed", fake_sentence_encoder)
    assert text.embed_texts(["x"]).shape == (1, 48)


def test_the_cache_folder_follows_the_platform(monkeypatch):
    monkeypatch.delenv("LAGCO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert str(cache_folder()) == "/somewhere/lagco"


@needs_model
def test_similar_sentences_are_closer_than_unrelated_ones():
    minilm._model.cache_clear()
    vectors = text.embed_texts([
        "That is a happy person",
        "That is a very happy person",
        "That is a happy dog",
        "Today is a sunny day",
        "", "word " * 2000, "\ud800 lone surrogate",
    ])  # fmt: skip
    assert vectors.shape == (7, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    # close sentences, related ones, and another subject
    assert np.allclose(vectors[0] @ vectors[1:4].T, [0.943, 0.695, 0.257], atol=2e-3)
    alone = minilm.embed(["Today is a sunny day"])
    assert np.allclose(alone[0], vectors[3], atol=1e-5)


@needs_model
def test_model_files_are_pinned(monkeypatch):
    minilm._model.cache_clear()
    monkeypatch.setitem(minilm.FILES, "tokenizer.json", "0" * 64)
    with pytest.raises(LagcoError, match=r"tokenizer\.json: not the model file"):
        minilm.embed(["x"])
    minilm._model.cache_clear()
